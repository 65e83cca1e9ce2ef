/* Sets the clock of an analysis: compares the packets that both captures show, and corrects the times that the first
 * reading found. The second and third reading convert the times of their rows. */
#include "clock_estimate.h"
#include "set_clock.h"

#include <stdlib.h>

/* Converts a capture's flows to the form that the clock samples need. NULL without memory. */
static struct pl_clock_flow *flows_of(const struct pl_analysis *analysis, int end)
{
    uint32_t n = analysis->surveys[end].index.flows.n;
    struct pl_clock_flow *flows = calloc((size_t)n + 1, sizeof *flows);
    for (uint32_t i = 0; flows && i < n; i++) {
        uint32_t number = analysis->numbers[end][i];
        const struct pl_transfer *t = number == UINT32_MAX ? NULL : &analysis->transfers[number];
        flows[i].number = number;
        flows[i].away = t ? (uint8_t)(end == PL_SENDER ? t->dir : t->receiver_dir) : 0;
        flows[i].ids = t && t->data_ids && t->ack_ids;
    }
    return flows;
}

static int64_t resolution_ns(const struct pl_survey *survey)
{
    return survey->samples.fine ? 1 : 1000;
}

static int by_time(const void *left, const void *right)
{
    const struct pl_clock_point *a = left, *b = right;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* True when the captures seem to be exchanged. A packet's delay plus the delay of the next packet in the other
 * direction is a round-trip time, whatever the offset between the clocks. If nearly all these sums are negative,
 * packets arrive before they are sent, so each capture is of the other end. A clock step makes only one sum
 * negative. */
static bool is_reversed(const pl_clock_points *points)
{
    enum { LEAST = 5, OF_ALL = 10 };
    size_t trips = 0, positive = 0;
    int64_t least_ns[2] = {PL_CLOCK_APART_NS, PL_CLOCK_APART_NS};
    for (size_t i = 0; i < points->n; i++)
        if (points->at[i].difference_ns < least_ns[points->at[i].back])
            least_ns[points->at[i].back] = points->at[i].difference_ns;
    if (points->n < 2 || least_ns[0] + least_ns[1] >= 0)
        return false;
    qsort(points->at, points->n, sizeof *points->at, by_time);
    for (size_t i = 1; i < points->n; i++) {
        const struct pl_clock_point *before = &points->at[i - 1], *point = &points->at[i];
        trips += before->back != point->back;
        positive += before->back != point->back && before->difference_ns + point->difference_ns >= 0;
    }
    return trips >= LEAST && positive <= trips / OF_ALL;
}

static int estimate(struct pl_analysis *analysis)
{
    struct pl_clock_samples samples[PL_END_N] = {analysis->surveys[0].samples, analysis->surveys[1].samples};
    struct pl_clock_flow *flows[PL_END_N] = {flows_of(analysis, PL_SENDER), flows_of(analysis, PL_RECEIVER)};
    const struct pl_clock_flow *const known[PL_END_N] = {flows[0], flows[1]};
    pl_clock_points points = {.n = 0};
    int64_t together_ns = resolution_ns(&analysis->surveys[0]) + resolution_ns(&analysis->surveys[1]);
    int result = flows[0] && flows[1] ? pl_clock_samples_pair(samples, known, &points) : -1;
    analysis->reversed = result == 0 && is_reversed(&points);
    if (result == 0)
        result = pl_clock_estimate(&points, together_ns, &analysis->clock);
    for (int end = 0; end < PL_END_N; end++) {
        pl_clock_samples_free(&samples[end]);
        analysis->surveys[end].samples = samples[end];
        free(flows[end]);
    }
    free(points.at);
    return result;
}

int pl_set_clock(struct pl_analysis *analysis)
{
    struct pl_clock *clock = &analysis->clock;
    if (analysis->ends != PL_BOTH_ENDS)
        return 0;
    if (clock->kind == PL_CLOCK_GIVEN)
        clock->at_ns = analysis->surveys[PL_SENDER].index.counts.first_ns;
    if (clock->kind == PL_CLOCK_UNKNOWN && estimate(analysis) < 0)
        return -1;
    for (uint32_t i = 0; i < analysis->n; i++) {
        struct pl_transfer *t = &analysis->transfers[i];
        t->sender_first_ns = pl_clock_map(clock, PL_SENDER, 0, t->sender_first_ns);
        t->receiver_first_ns = pl_clock_map(clock, PL_RECEIVER, 0, t->receiver_first_ns);
        t->sender_last_ns = pl_clock_map(clock, PL_SENDER, UINT64_MAX, t->sender_last_ns);
        t->receiver_last_ns = pl_clock_map(clock, PL_RECEIVER, UINT64_MAX, t->receiver_last_ns);
    }
    return 0;
}
