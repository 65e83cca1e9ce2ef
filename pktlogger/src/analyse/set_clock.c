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

static int estimate(struct pl_analysis *analysis)
{
    struct pl_clock_samples samples[PL_END_N] = {analysis->surveys[0].samples, analysis->surveys[1].samples};
    struct pl_clock_flow *flows[PL_END_N] = {flows_of(analysis, PL_SENDER), flows_of(analysis, PL_RECEIVER)};
    const struct pl_clock_flow *const known[PL_END_N] = {flows[0], flows[1]};
    pl_clock_points points = {.n = 0};
    int64_t together_ns = resolution_ns(&analysis->surveys[0]) + resolution_ns(&analysis->surveys[1]);
    int result = flows[0] && flows[1] ? pl_clock_samples_pair(samples, known, &points) : -1;
    analysis->reversed = result == 0 && pl_clock_points_sign(&points) < 0;
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
