/* Implements others.h. The start and end times of all transfers divide time into spans. The octets of one transfer are
 * counted for each span. The octets that it carried during another transfer are the sum over that transfer's spans. */
#include "others.h"

#include <stdlib.h>
#include <string.h>

#include "send_samples.h"
#include "thresholds.h"

enum { MOST = 1000 };

struct spans {
    int64_t *edge_ns; /* n, in order */
    double *bytes;    /* [0 … n]: of one transfer, before edge i */
    size_t n;
};

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* The number of edges up to `t_ns`. */
static size_t span_of(const struct spans *spans, int64_t t_ns)
{
    size_t low = 0, high = spans->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans->edge_ns[middle] <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same; most parts arrive in the span of the part before, `*last`. */
static size_t next_span(const struct spans *spans, size_t *last, int64_t t_ns)
{
    if ((*last && spans->edge_ns[*last - 1] > t_ns) || (*last < spans->n && spans->edge_ns[*last] <= t_ns))
        *last = span_of(spans, t_ns);
    return *last;
}

/* Counts the octets of a transfer that had arrived before each edge, by the receiver's capture. With the sender's
 * capture alone it counts those that were acknowledged. */
static void count(struct spans *spans, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_segment part;
    size_t last = 0;
    memset(spans->bytes, 0, (spans->n + 1) * sizeof *spans->bytes);
    for (struct pl_cursor cursor = {0}; pl_tables_passage(tables, t, &cursor, &part); cursor.row++) {
        int64_t came_ns = t->ends == PL_SENDER_ALONE ? part.t_acked_ns : part.t_received_ns;
        if (came_ns >= 0)
            spans->bytes[next_span(spans, &last, came_ns)] += part.len;
    }
    for (size_t i = 1; i <= spans->n; i++)
        spans->bytes[i] += spans->bytes[i - 1];
}

/* True when both transfers have the same sending host or the same receiving host. */
static bool same_way(const struct pl_transfer *a, const struct pl_transfer *b)
{
    for (unsigned end = 0; end < 2; end++)
        if (memcmp(a->flow->side[a->dir ^ end].address, b->flow->side[b->dir ^ end].address, 16) == 0)
            return true;
    return false;
}

/* The number of the transfer to which this stream belongs, by the sender's samples; 0: not known. */
static uint32_t transfer_of(const struct pl_transfer *t)
{
    const struct pl_side *from = &t->flow->side[t->dir], *to = &t->flow->side[!t->dir];
    return t->samples ? pl_send_samples_of(t->samples, from->port, to->port).transfer : 0;
}

/* True when both are streams of one transfer, by the sender's samples. If these do not say it, streams count as one
 * transfer when they have the same two hosts and share a port at one of them. */
static bool same_transfer(const struct pl_transfer *a, const struct pl_transfer *b)
{
    bool port = false;
    for (unsigned end = 0; end < 2; end++) {
        const struct pl_side *left = &a->flow->side[a->dir ^ end], *right = &b->flow->side[b->dir ^ end];
        if (memcmp(left->address, right->address, sizeof left->address) != 0)
            return false;
        port = port || left->port == right->port;
    }
    uint32_t one = transfer_of(a), other = transfer_of(b);
    return one && other ? one == other : port;
}

/* Adds the octets that `other`, which was counted last, carried during `t`. Returns true if they are more than a few,
 * and `other` is not a stream of the same transfer. */
static bool add_other(struct pl_transfer *t, const struct pl_transfer *other, const struct spans *spans)
{
    double took_ns = (double)(t->last_ns - t->first_ns);
    double bytes = spans->bytes[span_of(spans, t->last_ns)] - spans->bytes[span_of(spans, t->first_ns - 1)];
    bool stream = same_transfer(t, other), much = bytes * PL_OTHERS_OF > (double)t->bytes;
    t->signs.others_bps += 8e9 * bytes / took_ns;
    t->signs.beside_bps += pl_transfer_same_hosts(t, other, false) ? 8e9 * bytes / took_ns : 0;
    t->signs.others += much;
    t->signs.streams_bps += stream ? 8e9 * bytes / took_ns : 0;
    t->signs.streams += stream && much;
    return much && !stream;
}

/* A transfer in order of start time. `until_ns`: the time of other transfers has been counted up to here. */
struct turn {
    int64_t first_ns, until_ns;
    uint32_t number;
};

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    return left->first_ns != right->first_ns ? (left->first_ns > right->first_ns) - (left->first_ns < right->first_ns)
                                             : (left->number > right->number) - (left->number < right->number);
}

/* Adds the part of the other transfer's time that no earlier one covers. */
static void add_time(struct pl_transfer *t, const struct pl_transfer *other, int64_t *until_ns)
{
    int64_t begin_ns = other->first_ns > *until_ns ? other->first_ns : *until_ns;
    int64_t end_ns = other->last_ns < t->last_ns ? other->last_ns : t->last_ns;
    if (end_ns <= begin_ns)
        return;
    t->signs.others_ns += end_ns - begin_ns;
    *until_ns = end_ns;
}

/* Adds the octets of transfer `k` to every transfer that was under way when they were carried. */
static void add_to_all(struct pl_transfer *transfers, uint32_t n, struct turn *turns, uint32_t k,
                       const struct spans *spans)
{
    for (uint32_t at = 0; at < n; at++) {
        uint32_t i = turns[at].number;
        bool meets = i != k && transfers[i].last_ns > transfers[i].first_ns;
        if (meets && same_way(&transfers[i], &transfers[k]) && add_other(&transfers[i], &transfers[k], spans))
            add_time(&transfers[i], &transfers[k], &turns[at].until_ns);
    }
}

/* Returns 0, or -1 without memory. */
static int note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables, struct spans *spans,
                struct turn *turns)
{
    if (!spans->edge_ns || !spans->bytes || !turns)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        struct pl_signs *signs = &transfers[i].signs;
        signs->others_bps = signs->beside_bps = signs->streams_bps = 0;
        signs->others = signs->streams = 0;
        signs->others_ns = 0;
        spans->edge_ns[2 * (size_t)i] = transfers[i].first_ns;
        spans->edge_ns[2 * (size_t)i + 1] = transfers[i].last_ns + 1;
        turns[i] = (struct turn){.first_ns = transfers[i].first_ns, .until_ns = transfers[i].first_ns, .number = i};
    }
    qsort(spans->edge_ns, spans->n, sizeof *spans->edge_ns, compare);
    qsort(turns, n, sizeof *turns, compare_turns);
    for (uint32_t at = 0; at < n; at++) {
        uint32_t k = turns[at].number;
        if (!transfers[k].segments)
            continue;
        count(spans, &transfers[k], tables);
        add_to_all(transfers, n, turns, k, spans);
    }
    return 0;
}

int pl_others_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables)
{
    if (n < 2 || n > MOST)
        return 0;
    struct spans spans = {.n = 2 * (size_t)n};
    spans.edge_ns = malloc(spans.n * sizeof *spans.edge_ns);
    spans.bytes = malloc((spans.n + 1) * sizeof *spans.bytes);
    struct turn *turns = malloc(n * sizeof *turns);
    int result = note(transfers, n, tables, &spans, turns);
    free(spans.edge_ns);
    free(spans.bytes);
    free(turns);
    return result;
}
