/* Implements silences.h. The silence of several connections is what their silences have in common. */
#include "silences.h"

#include <string.h>

#include "thresholds.h"

enum { MOST = 1000 };

/* The silence of one connection, from one arrival's sending to the next one's. */
struct gaps {
    struct pl_time_spans spans;
    int64_t last_ns;
};

static int add(struct gaps *gaps, int64_t t_ns)
{
    int64_t from_ns = gaps->last_ns;
    if (t_ns <= from_ns)
        return 0;
    gaps->last_ns = t_ns;
    bool brief = from_ns != INT64_MIN && t_ns != INT64_MAX && t_ns - from_ns < PL_OUTAGE_NS;
    return brief ? 0 : pl_time_spans_add(&gaps->spans, from_ns, t_ns);
}

static int find_gaps(struct gaps *gaps, const struct pl_transfer *t, const struct pl_tables *tables, bool acks)
{
    struct pl_segment part;
    struct pl_ack ack;
    int result = 0;
    *gaps = (struct gaps){.last_ns = INT64_MIN};
    for (struct pl_cursor at = {0}; result == 0 && !acks && pl_tables_passage(tables, t, &at, &part); at.row++)
        if (part.t_received_ns >= 0 || part.unseen)
            result = add(gaps, part.t_sent_ns);
    for (struct pl_cursor at = {0}; result == 0 && acks && pl_tables_ack(tables, t, &at, &ack); at.row++)
        if (ack.t_received_ns >= 0)
            result = add(gaps, ack.t_sent_ns);
    return result < 0 ? -1 : add(gaps, INT64_MAX);
}

/* Leaves in `spans` what both have. */
static int intersect(struct pl_time_spans *spans, const struct pl_time_spans *others)
{
    struct pl_time_spans both = {.list = {.n = 0}};
    int result = 0;
    for (size_t i = 0, j = 0; result == 0 && i < spans->list.n && j < others->list.n;) {
        const struct pl_time_span *a = &spans->list.at[i], *b = &others->list.at[j];
        int64_t from_ns = a->t0_ns > b->t0_ns ? a->t0_ns : b->t0_ns;
        int64_t until_ns = a->t1_ns < b->t1_ns ? a->t1_ns : b->t1_ns;
        if (from_ns < until_ns && (from_ns == INT64_MIN || until_ns - PL_OUTAGE_NS >= from_ns))
            result = pl_time_spans_add(&both, from_ns, until_ns);
        if (a->t1_ns < b->t1_ns)
            i++;
        else
            j++;
    }
    pl_time_spans_free(spans);
    *spans = both;
    return result;
}

/* True when `other` sends from a host of `t` to the other one the same way, or, `back`, the other way round. */
static bool between(const struct pl_transfer *t, const struct pl_transfer *other, bool back)
{
    for (unsigned end = 0; end < 2; end++)
        if (memcmp(t->flow->side[t->dir ^ end].address, other->flow->side[other->dir ^ end ^ back].address, 16) != 0)
            return false;
    return true;
}

/* Takes the silence of one more connection into account. */
static int narrow(struct pl_time_spans *spans, const struct pl_transfer *other, const struct pl_tables *tables,
                  bool acks)
{
    struct gaps gaps;
    int result = find_gaps(&gaps, other, tables, acks);
    if (result == 0)
        result = intersect(spans, &gaps.spans);
    pl_time_spans_free(&gaps.spans);
    return result;
}

int pl_silences_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables,
                     struct pl_time_spans *spans)
{
    if (n < 2 || n > MOST)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pl_transfer *t = &transfers[i];
        if (t->silent || !t->not_arrived || t->ends != PL_BOTH_ENDS)
            continue;
        int result = pl_time_spans_add(&spans[i], INT64_MIN, INT64_MAX);
        for (uint32_t j = 0; result == 0 && j < n; j++) {
            struct pl_transfer *other = &transfers[j];
            bool same = between(t, other, false), back = between(t, other, true);
            if (other->ends != PL_BOTH_ENDS || !(same || back))
                continue;
            other->silent = same ? &spans[i] : other->silent;
            result = narrow(&spans[i], other, tables, !same);
        }
        if (result < 0)
            return -1;
    }
    return 0;
}
