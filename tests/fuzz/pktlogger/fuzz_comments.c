/* Any bytes as lines of comments. They come in pieces, whose length is the first byte. Checked: a comment is UTF-8
 * without control characters and not too long, and the division into pieces does not change the result. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
    size_t n;
    uint64_t hash;
};

static void check(bool good)
{
    if (!good)
        abort();
}

static void take(void *owner, const char *text)
{
    struct taken *taken = owner;
    json_t *valid = json_string(text);
    check(valid && *text && strlen(text) <= PL_COMMENT_MAX);
    json_decref(valid);
    for (const char *at = text; *at; at++) {
        check((unsigned char)*at >= 0x20 && *at != 0x7f);
        taken->hash = (taken->hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    taken->n++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_comments whole = {.fd = -1}, pieces = {.fd = -1};
    struct taken once = {.n = 0}, several = {.n = 0};
    if (!size)
        return 0;
    size_t each = 1 + data[0];
    const char *at = (const char *)data + 1;
    size--;
    pl_comments_feed(&whole, at, size, take, &once);
    for (size_t done = 0; done < size; done += each)
        pl_comments_feed(&pieces, at + done, size - done < each ? size - done : each, take, &several);
    check(once.n == several.n && once.hash == several.hash);
    return 0;
}
