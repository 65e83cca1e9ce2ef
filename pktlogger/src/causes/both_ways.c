/* Implements both_ways.h. */
#include "both_ways.h"

#include <math.h>

#include "thresholds.h"

/* The shifts for which one outage explains both runs. If `lo` is above `hi`, there are none. */
struct shift {
    double lo, hi;
};

static struct shift shift_of(const struct pl_lost_run *data, const struct pl_ack_run *ack)
{
    double before_ns = (double)data->before_sent_ns, next_ns = (double)data->next_sent_ns;
    double first_ns = (double)data->first_sent_ns, last_ns = (double)data->last_sent_ns;
    return (struct shift){
        .lo = fmax(before_ns - (double)ack->first_ns, last_ns - (double)ack->next_ns),
        .hi = fmin(first_ns - (double)ack->before_ns, next_ns - (double)ack->last_ns),
    };
}

static bool meet(const struct pl_lost_run *data, const struct pl_ack_run *ack, const struct pl_both_ways_time *time)
{
    struct shift shift = shift_of(data, ack);
    return data->n >= PL_OUTAGE_PARTS && shift.lo <= shift.hi && shift.lo <= (double)time->longest_ns[1] &&
           shift.hi >= -(double)time->longest_ns[0];
}

/* The probability of `n` or more chance events where `expected` are expected. */
static double luck(unsigned n, double expected)
{
    double term = exp(-expected), below = 0;
    for (unsigned k = 0; k < n; k++) {
        below += term;
        term *= expected / (k + 1);
    }
    return 1 - below;
}

/* The number of runs of `n` or more acknowledgements expected to fit the run of data by chance, at most 1. Sets *met if
 * one of them does fit. No acknowledgements are sent while no data arrive, so this silence widens the range of times
 * that fit. */
static double expected_of(const struct pl_lost_run *data, const pl_ack_runs *acks, uint64_t n,
                          const struct pl_both_ways_time *time, bool *met)
{
    double expected = 0, silent_ns = (double)(data->last_sent_ns - data->first_sent_ns);
    *met = false;
    for (size_t j = 0; j < acks->n; j++) {
        struct shift shift = shift_of(data, &acks->at[j]);
        if (acks->at[j].n < n || shift.lo > shift.hi)
            continue;
        double room_ns = shift.hi - shift.lo + silent_ns + (double)(time->longest_ns[0] + time->longest_ns[1]);
        expected += room_ns / (double)time->lasts_ns;
        *met = *met || meet(data, &acks->at[j], time);
    }
    return fmin(expected, 1);
}

/* Whether chance is unlikely to make as many pairs as were found, of runs at least as long as these. `pairs`: the
 * number of pairs tested. */
static bool beyond_chance(const struct pl_loss_study *study, const pl_ack_runs *acks, const struct pl_lost_run *data,
                          const struct pl_ack_run *ack, const struct pl_both_ways_time *time, unsigned pairs)
{
    double expected = 0;
    unsigned found = 0;
    for (size_t i = 0; i < study->runs.n; i++) {
        bool met;
        if (study->runs.at[i].n < data->n)
            continue;
        expected += expected_of(&study->runs.at[i], acks, ack->n, time, &met);
        found += met;
    }
    return luck(found, expected) * pairs <= PL_OUTAGE_BURSTS;
}

void pl_both_ways_find(struct pl_loss_study *study, const pl_ack_runs *acks, const struct pl_both_ways_time *time)
{
    size_t n = 0;
    unsigned pairs = 0;
    for (size_t i = 0; i < study->runs.n; i++)
        n += study->runs.at[i].n >= PL_OUTAGE_PARTS;
    if (n > PL_BOTH_WAYS_MOST || acks->n > PL_BOTH_WAYS_MOST || time->lasts_ns <= 0)
        return;
    for (size_t i = 0; i < study->runs.n; i++)
        for (size_t j = 0; j < acks->n; j++)
            pairs += meet(&study->runs.at[i], &acks->at[j], time);
    for (size_t i = 0; i < study->runs.n; i++)
        for (size_t j = 0; j < acks->n; j++) {
            struct pl_lost_run *data = &study->runs.at[i];
            struct pl_ack_run *ack = &acks->at[j];
            if (meet(data, ack, time) && beyond_chance(study, acks, data, ack, time, pairs))
                data->both_ways = ack->both_ways = true;
        }
}
