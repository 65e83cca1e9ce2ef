/* Losses of both ways that one outage explains.
 *
 * What a lone connection loses in a row looks alike in an outage and in a burst that took packets because of the queue or
 * by chance: the next packet arrives. But a queue on the way there takes no acknowledgements on the way back, and nothing
 * that takes packets of one way by chance knows the other way. An outage takes what passes its place from u to v, both
 * ways. Data pass there up to a one-way delay D after they were sent, acknowledgements up to D'. So with a shift s from
 * -D to D', what was lost of the acknowledgements was sent from u - s to v - s of the data's times:
 *
 *     the data before and of the run    p <= u <= a      the last one of it and behind    b <= v <= q
 *     the acknowledgements likewise     r <= u - s <= c                                   d <= v - s <= e
 *
 * Such u and v exist for s from lo = max(p - c, b - e) to hi = min(a - r, q - d). An outage explains both runs where that
 * range is not empty and meets -D to D'. A run of acknowledgements that knows nothing of the data is anywhere within the
 * time T of the transfer, so it fits by chance with the probability (hi - lo + D + D' + g) / T, where g is the time for
 * which no data arrived that could have been acknowledged. The sum of this over all pairs of runs, each at least as long as
 * those of the pair in question and at most 1 for each run of data, is how many of these chance lets expect to fit, and
 * the number that it makes has Poisson's distribution. Both runs are an outage where it makes as many as there are, or more, in
 * a twentieth of all cases at most (PL_OUTAGE_BURSTS), as where an outage is told by its time (outages.h). Where that is
 * asked of several pairs, it is divided by their number, so that a twentieth is for all of them together (Bonferroni). */
#ifndef PL_BOTH_WAYS_H
#define PL_BOTH_WAYS_H

#include "loss_study.h"

/* Acknowledgements lost in a row: when the first and the last of them were sent, and those before and behind that
 * arrived; INT64_MIN and INT64_MAX: there is none. */
struct pl_ack_run {
    int64_t before_ns, first_ns, last_ns, next_ns;
    uint64_t n;
    bool both_ways; /* an outage took it, and data */
};

/* Those of PL_OUTAGE_ACKS and more, in order of sending. It starts as {0}. */
typedef PL_VECTOR(struct pl_ack_run) pl_ack_runs;

/* The longest one-way delays, of data and of acknowledgements, and how long the transfer took. */
struct pl_both_ways_time {
    int64_t longest_ns[2], lasts_ns;
};

/* Sets both_ways of what an outage explains, of lost data and of lost acknowledgements. */
void pl_both_ways_find(struct pl_loss_study *study, const pl_ack_runs *acks, const struct pl_both_ways_time *time);

#endif
