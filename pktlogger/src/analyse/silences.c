/* Implements silences.h. The connections are read three times: first for the times between arrivals in which a
 * connection lost parts, then to intersect these times with the silences of all other connections, then to count the
 * losses in what is left. */
#include "silences.h"

#include <stdlib.h>

#include "outages.h"
#include "thresholds.h"

enum { MOST = 1000 };

/* The connections between two hosts. */
struct group {
    struct pl_transfer *transfers, *first;
    uint32_t n;
    const struct pl_tables *tables;
    struct pl_time_spans spans;
};

/* True when both transfers have the same sending host and the same receiving host; with `back`, when `other` goes the
 * other way. */
static bool between(const struct pl_transfer *t, const struct pl_transfer *other, bool back)
{
    return other->ends == PL_BOTH_ENDS && pl_transfer_same_hosts(t, other, back);
}

/* Adds the times between arrivals of one connection in which it lost parts. */
static int find_losses(struct group *group, const struct pl_transfer *t)
{
    struct pl_segment part;
    int64_t before_ns = INT64_MIN;
    bool lost = false;
    for (struct pl_cursor at = {0}; pl_tables_passage(group->tables, t, &at, &part); at.row++) {
        if (pl_lost(t, &part)) {
            lost = true;
        } else if (part.t_received_ns >= 0 || part.unseen) {
            if (lost && pl_time_spans_add(&group->spans, before_ns, part.t_sent_ns) < 0)
                return -1;
            before_ns = part.t_sent_ns;
            lost = false;
        }
    }
    return lost ? pl_time_spans_add(&group->spans, before_ns, INT64_MAX) : 0;
}

/* Cuts a connection's arrivals out of spans: `left` is the rest. */
struct divided {
    const struct pl_time_spans *spans;
    struct pl_time_spans left;
    size_t at;         /* index of the first span that is not over */
    int64_t before_ns; /* the last arrival's sending */
};

/* Takes the next arrival. The connection was silent since the previous one. */
static int divide(struct divided *d, int64_t t_ns)
{
    int64_t before_ns = d->before_ns;
    if (t_ns <= before_ns)
        return 0;
    d->before_ns = t_ns;
    while (d->at < d->spans->list.n && d->spans->list.at[d->at].t1_ns <= before_ns)
        d->at++;
    for (size_t i = d->at; i < d->spans->list.n && d->spans->list.at[i].t0_ns < t_ns; i++) {
        const struct pl_time_span *span = &d->spans->list.at[i];
        if (pl_time_spans_add(&d->left, span->t0_ns > before_ns ? span->t0_ns : before_ns,
                              span->t1_ns < t_ns ? span->t1_ns : t_ns) < 0)
            return -1;
    }
    return 0;
}

/* Shortens the spans to the times in which `t` was silent, too. */
static int narrow(struct group *group, const struct pl_transfer *t, bool acks)
{
    struct divided d = {.spans = &group->spans, .before_ns = INT64_MIN};
    struct pl_segment part;
    struct pl_ack ack;
    int result = 0;
    for (struct pl_cursor at = {0}; result == 0 && !acks && pl_tables_passage(group->tables, t, &at, &part); at.row++)
        if (part.t_received_ns >= 0 || part.unseen)
            result = divide(&d, part.t_sent_ns);
    for (struct pl_cursor at = {0}; result == 0 && acks && pl_tables_ack(group->tables, t, &at, &ack); at.row++)
        if (ack.t_received_ns >= 0)
            result = divide(&d, ack.t_sent_ns);
    result = result < 0 ? -1 : divide(&d, INT64_MAX);
    pl_time_spans_free(&group->spans);
    group->spans = d.left;
    return result;
}

static void count_losses(const struct group *group, const struct pl_transfer *t, struct pl_silences *silences)
{
    struct pl_segment part;
    size_t i = 0, counted = SIZE_MAX;
    for (struct pl_cursor at = {0}; pl_tables_passage(group->tables, t, &at, &part); at.row++) {
        if (!pl_lost(t, &part))
            continue;
        while (i < silences->list.n && silences->list.at[i].span.t1_ns < part.t_sent_ns)
            i++;
        struct pl_silence *silence = i < silences->list.n ? &silences->list.at[i] : NULL;
        if (!silence || silence->span.t0_ns > part.t_sent_ns)
            continue;
        if (!silence->lost || part.t_sent_ns < silence->first_lost_ns)
            silence->first_lost_ns = part.t_sent_ns;
        if (!silence->lost || part.t_sent_ns > silence->last_lost_ns)
            silence->last_lost_ns = part.t_sent_ns;
        silence->lost++;
        silence->losers += counted != i;
        counted = i;
    }
}

/* Drops the silences in which nothing was lost, and finds those that are outages. */
static void judge(struct pl_silences *silences)
{
    struct pl_bursts bursts = {.runs = 0};
    size_t kept = 0;
    for (size_t i = 0; i < silences->list.n; i++) {
        struct pl_silence silence = silences->list.at[i];
        if (!silence.lost)
            continue;
        pl_bursts_add(&bursts, silence.lost, silence.last_lost_ns - silence.first_lost_ns);
        silences->list.at[kept++] = silence;
    }
    silences->list.n = kept;
    for (size_t i = 0; i < kept; i++) {
        struct pl_silence *silence = &silences->list.at[i];
        int64_t lasted_ns = silence->last_lost_ns - silence->first_lost_ns;
        int64_t from_ns = silence->span.t0_ns == INT64_MIN ? silence->first_lost_ns : silence->span.t0_ns;
        bool ended = silence->span.t1_ns != INT64_MAX;
        silence->outage =
            silence->lost >= PL_OUTAGE_PARTS && lasted_ns > 0 && !pl_bursts_make(&bursts, silence->lost) &&
            (silence->losers > 1 || !ended || pl_outage_shows(silence->lost, lasted_ns, silence->span.t1_ns - from_ns));
    }
}

static int find_silences(struct group *group, struct pl_silences *silences)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < group->n; i++)
        if (group->transfers[i].not_arrived && between(group->first, &group->transfers[i], false))
            result = find_losses(group, &group->transfers[i]);
    result = result < 0 ? -1 : pl_time_spans_merge(&group->spans);
    for (uint32_t i = 0; result == 0 && i < group->n; i++) {
        bool same = between(group->first, &group->transfers[i], false);
        if (same || between(group->first, &group->transfers[i], true))
            result = narrow(group, &group->transfers[i], !same);
    }
    for (size_t i = 0; result == 0 && i < group->spans.list.n; i++) {
        struct pl_silence silence = {.span = group->spans.list.at[i]};
        result = PL_APPEND(&silences->list, silence);
    }
    for (uint32_t i = 0; result == 0 && i < group->n; i++)
        if (between(group->first, &group->transfers[i], false)) {
            group->transfers[i].silent = silences;
            if (group->transfers[i].not_arrived)
                count_losses(group, &group->transfers[i], silences);
        }
    judge(silences);
    return result;
}

static bool has_others(const struct pl_transfer *transfers, uint32_t n, const struct pl_transfer *t)
{
    for (uint32_t i = 0; i < n; i++)
        if (&transfers[i] != t && (between(t, &transfers[i], false) || between(t, &transfers[i], true)))
            return true;
    return false;
}

int pl_silences_note(struct pl_transfer *transfers, uint32_t n, const struct pl_tables *tables,
                     struct pl_silences *silences)
{
    if (n < 2 || n > MOST)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        struct pl_transfer *t = &transfers[i];
        struct group group = {.transfers = transfers, .first = t, .n = n, .tables = tables};
        if (t->silent || !t->not_arrived || t->ends != PL_BOTH_ENDS || !has_others(transfers, n, t))
            continue;
        int result = find_silences(&group, &silences[i]);
        pl_time_spans_free(&group.spans);
        if (result < 0)
            return -1;
    }
    return 0;
}
