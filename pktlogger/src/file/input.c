/* Implements input.h. */
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_set.h"
#include "mapping.h"
#include "unpack.h"

enum { WINDOW = 2 << 20 };

struct pl_input {
    const char *path;
    struct pl_file_set set; /* empty: one file, `path` */
    size_t next;            /* files opened so far */
    struct pl_mapping mapping;
    bool borrowed; /* the caller owns the memory; it is not mapped */
    struct pl_unpack *unpack;
    uint8_t *buffer; /* for a compressed file */
    size_t room;
};

struct pl_input *pl_input_open(const char *path, struct nc_error *error)
{
    struct pl_input *input = calloc(1, sizeof *input);
    if (!input) {
        nc_fail(error, NC_EXIT_FAILED, "out of memory");
        return NULL;
    }
    input->path = path;
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        if (pl_file_set_find(&input->set, path) == 0 && input->set.n)
            return input;
        nc_fail(error, NC_EXIT_USAGE, "'%.200s': cannot read it: No such file, and no set of files of that name", path);
        pl_input_close(input);
        return NULL;
    }
    return input;
}

struct pl_input *pl_input_memory(const uint8_t *data, size_t len, struct nc_error *error)
{
    struct pl_input *input = calloc(1, sizeof *input);
    if (!input) {
        nc_fail(error, NC_EXIT_FAILED, "out of memory");
        return NULL;
    }
    *input = (struct pl_input){.path = "memory", .mapping = {.data = data, .len = len}, .borrowed = true};
    return input;
}

static void close_file(struct pl_input *input)
{
    pl_unpack_close(input->unpack);
    input->unpack = NULL;
    if (input->borrowed)
        return;
    pl_unmap(&input->mapping);
    input->mapping = (struct pl_mapping){.data = NULL};
}

static int begin_unpack(struct pl_input *input, struct nc_error *error)
{
    input->unpack = pl_unpack_open(input->mapping.data, input->mapping.len);
    if (!input->buffer && input->unpack) {
        input->buffer = malloc(2 * (size_t)WINDOW);
        input->room = 2 * (size_t)WINDOW;
    }
    return input->unpack && input->buffer ? 1 : nc_fail(error, NC_EXIT_FAILED, "out of memory");
}

int pl_input_next_file(struct pl_input *input, struct nc_error *error)
{
    if (input->next >= pl_input_files(input))
        return 0;
    if (input->next)
        close_file(input);
    input->next++;
    struct stat status;
    bool empty = input->set.n && stat(pl_input_file(input), &status) == 0 && status.st_size == 0;
    if (!input->borrowed && !empty && pl_map(pl_input_file(input), &input->mapping, error) < 0)
        return -1; /* a single empty file is an error; in a set an empty file counts as cut */
    return pl_unpack_is(input->mapping.data, input->mapping.len) ? begin_unpack(input, error) : 1;
}

/* Moves the remaining bytes to the front of the buffer and decompresses more bytes after them. The buffer grows for a
 * long block. */
static bool more_unpacked(struct pl_input *input, const uint8_t **at, const uint8_t **end, size_t need)
{
    size_t rest = (size_t)(*end - *at);
    if (need > input->room) {
        size_t room = need + WINDOW;
        uint8_t *longer = need <= PL_INPUT_BLOCK_MAX ? malloc(room) : NULL;
        if (!longer)
            return false;
        if (rest)
            memcpy(longer, *at, rest);
        free(input->buffer);
        input->buffer = longer;
        input->room = room;
    } else if (rest)
        memmove(input->buffer, *at, rest);
    rest += pl_unpack_read(input->unpack, input->buffer + rest, input->room - rest);
    if (!input->borrowed)
        pl_mapping_forget(&input->mapping, input->mapping.data + pl_unpack_consumed(input->unpack));
    *at = input->buffer;
    *end = input->buffer + rest;
    return rest >= need;
}

bool pl_input_more(struct pl_input *input, const uint8_t **at, const uint8_t **end, size_t need)
{
    if (input->unpack)
        return more_unpacked(input, at, end, need);
    const uint8_t *last = input->mapping.data + input->mapping.len;
    if (!*at)
        *at = input->mapping.data;
    if (!input->borrowed)
        pl_mapping_forget(&input->mapping, *at);
    size_t left = (size_t)(last - *at), window = need < WINDOW ? WINDOW : need;
    *end = *at + (left < window ? left : window);
    if (!input->borrowed && *end > *at)
        pl_mapping_want(*at, (size_t)(*end - *at));
    return left >= need;
}

const char *pl_input_cut(const struct pl_input *input)
{
    return input->unpack ? pl_unpack_cut(input->unpack) : NULL;
}

const char *pl_input_file(const struct pl_input *input)
{
    return input->set.n ? input->set.paths[input->next ? input->next - 1 : 0] : input->path;
}

size_t pl_input_files(const struct pl_input *input)
{
    return input->set.n ? input->set.n : 1;
}

uint64_t pl_input_missing(const struct pl_input *input)
{
    uint64_t missing = 0;
    for (size_t i = 1; i < input->set.n; i++)
        if (input->set.numbers[i] > input->set.numbers[i - 1] + 1)
            missing += input->set.numbers[i] - input->set.numbers[i - 1] - 1;
    return missing;
}

void pl_input_close(struct pl_input *input)
{
    if (!input)
        return;
    close_file(input);
    pl_file_set_free(&input->set);
    free(input->buffer);
    free(input);
}
