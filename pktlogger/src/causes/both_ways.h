/* Finds losses in both directions that one outage explains.
 *
 * In a connection that is alone between its hosts, an outage looks like a burst of losses by a queue or by chance:
 * parts are lost in a row, and then one arrives. But a queue in one direction loses no acknowledgements of the other,
 * and chance acts on each direction independently. An outage at some point of the path loses everything that would pass
 * this point, in both directions. Let it lose the data sent from u to v. Data reach the point up to the longest one-way
 * delay D after they were sent, acknowledgements up to D'. So the lost acknowledgements were sent from u - s to v - s,
 * with a shift s from -D to D'. These are the times of sending around two runs of losses:
 *
 *                          last one before the run   first lost   last lost   first one after the run
 *     data                 p                         a            b           q
 *     acknowledgements     r                         c            d           e
 *
 *     p <= u <= a,  b <= v <= q,  r <= u - s <= c,  d <= v - s <= e
 *
 * Such u and v exist for s from lo = max(p - c, b - e) to hi = min(a - r, q - d). An outage explains both runs if lo <=
 * hi and the range from lo to hi overlaps -D to D'.
 * A run of acknowledgements that is independent of the data lies anywhere within the time T of the transfer. So it fits
 * a run of data by chance with the probability (hi - lo + D + D' + g) / T, where g is the time in which no data arrived
 * that could have been acknowledged. To judge a pair of runs, all pairs whose runs are at least as long are looked at.
 * The sum of their probabilities, with at most 1 for each run of data, is the expected number of fits by chance; the
 * number itself has a Poisson distribution. The pair is an outage if chance makes as many fits as there are, or more,
 * with a probability of at most PL_OUTAGE_BURSTS, as in outages.h. That limit is divided by the number of pairs tested,
 * so that it holds for all of them together (Bonferroni). */
#ifndef PL_BOTH_WAYS_H
#define PL_BOTH_WAYS_H

#include "loss_study.h"

/* Acknowledgements lost in a row. For the first and the last lost one, and for the neighbours that arrived before and
 * after them: when they were sent. INT64_MIN and INT64_MAX: no such neighbour. */
struct pl_ack_run {
    int64_t before_ns, first_ns, last_ns, next_ns;
    uint64_t n;
    bool both_ways; /* an outage lost them together with data */
};

/* The runs of at least PL_OUTAGE_ACKS, in order of sending. It starts as {0}. */
typedef PL_VECTOR(struct pl_ack_run) pl_ack_runs;

/* The longest one-way delays, of data and of acknowledgements, and how long the transfer took. */
struct pl_both_ways_time {
    int64_t longest_ns[2], lasts_ns;
};

/* Sets both_ways in the runs of data and of acknowledgements that one outage explains. */
void pl_both_ways_find(struct pl_loss_study *study, const pl_ack_runs *acks, const struct pl_both_ways_time *time);

#endif
