/* Any bytes as the text of a filter. If the text is refused, the error is one line. If it is accepted, it survives
 * formatting and parsing again, and no packet matches a term both plain and negated. Input: text, up to a zero byte;
 * the rest is a frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

static void match(const struct filter *filter, const uint8_t *frame, size_t len)
{
    struct nc_packet headers;
    nc_packet_decode(NC_LINK_ETHERNET, frame, len, len, &headers);
    const struct filter_packet packet = {&headers, (uint32_t)len, headers.payload_len, headers.tcp.flags};
    bool all = true;
    for (unsigned i = 0; i < filter->n; i++) {
        struct filter plain = {.n = 1, .terms = {filter->terms[i]}}, negated = plain;
        negated.terms[0].negated = !plain.terms[0].negated;
        bool matches = filter_matches(&plain, &packet);
        REQUIRE(!matches || !filter_matches(&negated, &packet));
        all = all && matches;
    }
    REQUIRE(filter_matches(filter, &packet) == all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nc_error error;
    struct filter filter, again;
    char *text = malloc(size + 1), once[FILTER_TEXT_MAX], twice[FILTER_TEXT_MAX];
    REQUIRE(text);
    memcpy(text, data, size);
    text[size] = '\0';
    size_t used = strlen(text);
    if (filter_parse(text, &filter, &error) == 0) {
        filter_format(&filter, once, sizeof once);
        REQUIRE(filter_parse(once, &again, &error) == 0);
        REQUIRE(strcmp(filter_format(&again, twice, sizeof twice), once) == 0);
        if (used < size)
            match(&again, data + used + 1, size - used - 1);
    } else {
        REQUIRE(error.text[0] && !strchr(error.text, '\n'));
    }
    free(text);
    return 0;
}
