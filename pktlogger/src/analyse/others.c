/* Implements others.h. The edges of all transfers divide the time into spans. The octets of one transfer are counted by
 * span, and what it carried during another one is the sum of that one's spans. */
#include "others.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, ONE_PERCENT = 100 };

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

/* Counts the octets of a transfer that had arrived before each edge: those that the receiver's capture shows, or that
 * the sender had heard of, with its capture alone. */
static void count(struct spans *spans, const struct pl_transfer *t, const struct pl_tables *tables)
{
    struct pl_segment part;
    memset(spans->bytes, 0, (spans->n + 1) * sizeof *spans->bytes);
    for (struct pl_cursor cursor = {0}; pl_tables_passage(tables, t, &cursor, &part); cursor.row++) {
        int64_t came_ns = t->ends == PL_SENDER_ALONE ? part.t_acked_ns : part.t_received_ns;
        if (came_ns >= 0)
            spans->bytes[span_of(spans, came_ns)] += part.len;
    }
    for (size_t i = 1; i <= spans->n; i++)
        spans->bytes[i] += spans->bytes[i - 1];
}

/* True when both send from the same host or to the same one. */
static bool same_way(const struct pl_transfer *a, const struct pl_transfer *b)
{
    for (unsigned end = 0; end < 2; end++)
        if (memcmp(a->flow->side[a->dir ^ end].address, b->flow->side[b->dir ^ end].address, 16) == 0)
            return true;
    return false;
}

/* Adds to a transfer what the other one, which was counted last, carried meanwhile. */
static void add_other(struct pl_transfer *t, const struct spans *spans)
{
    double took_ns = (double)(t->last_ns - t->first_ns);
    double bytes = spans->bytes[span_of(spans, t->last_ns)] - spans->bytes[span_of(spans, t->first_ns - 1)];
    t->signs.others_bps += 8e9 * bytes / took_ns;
    t->signs.others += bytes * ONE_PERCENT > (double)t->bytes;
}

int pl_others_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables)
{
    if (n < 2 || n > MOST)
        return 0;
    for (uint32_t i = 0; i < n; i++)
        transfers[i].signs.others_bps = transfers[i].signs.others = 0;
    struct spans spans = {.n = 2 * (size_t)n};
    spans.edge_ns = malloc(spans.n * sizeof *spans.edge_ns);
    spans.bytes = malloc((spans.n + 1) * sizeof *spans.bytes);
    int result = spans.edge_ns && spans.bytes ? 0 : -1;
    for (uint32_t i = 0; result == 0 && i < n; i++) {
        spans.edge_ns[2 * (size_t)i] = transfers[i].first_ns;
        spans.edge_ns[2 * (size_t)i + 1] = transfers[i].last_ns + 1;
    }
    if (result == 0)
        qsort(spans.edge_ns, spans.n, sizeof *spans.edge_ns, compare);
    for (uint32_t k = 0; result == 0 && k < n; k++) {
        if (!transfers[k].segments)
            continue;
        count(&spans, &transfers[k], tables);
        for (uint32_t i = 0; i < n; i++)
            if (i != k && transfers[i].last_ns > transfers[i].first_ns && same_way(&transfers[i], &transfers[k]))
                add_other(&transfers[i], &spans);
    }
    free(spans.edge_ns);
    free(spans.bytes);
    return result;
}
