/* Implements send_samples.h. Linux wakes a writer that waits for room when a third of the send buffer is free
 * (sk_stream_write_space), so one that waits has more than two thirds of it in use. */
#include "send_samples.h"

#include <stdlib.h>
#include <string.h>

#include "mapping.h"

enum { COLUMNS = 6, NEEDED = 4 };
static const char header[] = "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes";
static const char short_header[] = "t_ns,local_port,remote_port,notsent_bytes";
static const uint64_t most[COLUMNS] = {INT64_MAX / 2, UINT16_MAX, UINT16_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* Reads digits up to `stop` or the end of the line. Returns what is behind them, or NULL. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, char stop, uint64_t limit, uint64_t *value)
{
    const uint8_t *first = at;
    *value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        *value = *value * 10 + (uint64_t)(*at - '0');
        if (*value > limit)
            return NULL;
    }
    if (at == first || (stop ? at == end || *at != (uint8_t)stop : at != end))
        return NULL;
    return stop ? at + 1 : at;
}

static bool read_line(const uint8_t *at, const uint8_t *end, int columns, struct pl_send_sample *sample)
{
    uint64_t values[COLUMNS] = {0};
    for (int i = 0; i < columns; i++)
        if (!(at = read_number(at, end, i + 1 < columns ? ',' : '\0', most[i], &values[i])))
            return false;
    *sample = (struct pl_send_sample){
        .t_ns = (int64_t)values[0],
        .local_port = (uint16_t)values[1],
        .remote_port = (uint16_t)values[2],
        .notsent_bytes = (uint32_t)values[3],
        .queued_bytes = (uint32_t)values[4],
        .sndbuf_bytes = (uint32_t)values[5],
    };
    return true;
}

static bool is(const uint8_t *at, const uint8_t *end, const char *text)
{
    return (size_t)(end - at) == strlen(text) && memcmp(at, text, strlen(text)) == 0;
}

static int in_order(const void *left, const void *right)
{
    const struct pl_send_sample *a = left, *b = right;
    if (a->local_port != b->local_port)
        return a->local_port < b->local_port ? -1 : 1;
    if (a->remote_port != b->remote_port)
        return a->remote_port < b->remote_port ? -1 : 1;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

int pl_send_samples_parse(struct pl_send_samples *samples, const char *name, const uint8_t *at, const uint8_t *end,
                          struct nc_error *error)
{
    int columns = 0;
    for (unsigned long long number = 1; at < end; number++) {
        const uint8_t *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop ? stop + 1 : end;
        struct pl_send_sample sample;
        stop = stop ? stop : end;
        if (number == 1) {
            columns = is(at, stop, header) ? COLUMNS : is(at, stop, short_header) ? NEEDED : 0;
            if (!columns)
                return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line 1: want '%s', or this without its last two", name,
                               header);
        } else if (!read_line(at, stop, columns, &sample))
            return nc_fail(error, NC_EXIT_USAGE, "'%.200s' line %llu: want %d numbers with commas between", name,
                           number, columns);
        else if (PL_APPEND(&samples->list, sample) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "out of memory");
        at = next;
    }
    if (samples->list.n)
        qsort(samples->list.at, samples->list.n, sizeof *samples->list.at, in_order);
    return 0;
}

int pl_send_samples_read(struct pl_send_samples *samples, const char *path, struct nc_error *error)
{
    struct pl_mapping mapping;
    if (pl_map(path, &mapping, error) < 0)
        return -1;
    int result = pl_send_samples_parse(samples, path, mapping.data, mapping.data + mapping.len, error);
    pl_unmap(&mapping);
    return result;
}

void pl_send_samples_free(struct pl_send_samples *samples)
{
    free(samples->list.at);
    *samples = (struct pl_send_samples){0};
}

/* The first sample that is not before `like`. */
static size_t first_from(const struct pl_send_samples *samples, const struct pl_send_sample *like)
{
    size_t low = 0, high = samples->list.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (in_order(&samples->list.at[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct pl_samples_of pl_send_samples_of(const struct pl_send_samples *samples, uint16_t local_port,
                                        uint16_t remote_port)
{
    struct pl_send_sample like = {.local_port = local_port, .remote_port = remote_port, .t_ns = INT64_MIN};
    size_t first = first_from(samples, &like);
    like.t_ns = INT64_MAX;
    size_t n = first_from(samples, &like) - first;
    return (struct pl_samples_of){.first = n ? samples->list.at + first : NULL, .n = n};
}

struct pl_samples_seen pl_samples_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss)
{
    struct pl_samples_seen seen = {.sized = true};
    while (samples->at < samples->n && samples->first[samples->at].t_ns < t0_ns)
        samples->at++;
    for (size_t i = samples->at; i < samples->n && samples->first[i].t_ns < t1_ns; i++) {
        const struct pl_send_sample *sample = &samples->first[i];
        seen.n++;
        seen.unsent += sample->notsent_bytes >= mss;
        seen.full += sample->sndbuf_bytes && sample->queued_bytes > sample->sndbuf_bytes / 3 * 2;
        seen.sized = seen.sized && sample->sndbuf_bytes;
    }
    return seen;
}
