/* The times of outages of the path: either known, or inferred from the lost packets, which gives a lower bound. Also
 * the test that distinguishes an outage, which ends at a point in time, from a burst of losses, which ends with its
 * last packet. */
#ifndef PL_OUTAGES_H
#define PL_OUTAGES_H

#include <stdbool.h>

#include "time_spans.h"
#include "transfer.h"

/* Adds when the path was down, by outages that took what was sent from `first_ns` to `last_ns`: that time at least. For
 * known outages it is their own time, which begins with the first lost packet if nothing was sent shortly before. A
 * packet lost behind a queue was sent before the outage began. `back_ns`: how much later the sender noticed the
 * beginning and the end. Returns 0, or -1 without memory. */
int pl_down_add(struct pl_time_spans *spans, const struct pl_outages *known, int64_t first_ns, int64_t last_ns,
                bool sent_before, const int64_t back_ns[2]);

/* Runs of losses that nothing explains, of PL_OUTAGE_PARTS and more. The brief ones are bursts. It starts as {0}. */
struct pl_bursts {
    double runs, brief_runs, brief_parts; /* number of parts from the PL_OUTAGE_PARTS-th on */
};

void pl_bursts_add(struct pl_bursts *bursts, uint64_t parts, int64_t lasted_ns);

/* True when bursts like the brief ones, whose lengths have the geometric distribution, make one of so many parts. */
bool pl_bursts_make(const struct pl_bursts *bursts, uint64_t parts);

/* True when the time in which nothing passed tells an outage from a burst of `parts` losses, sent for `lasted_ns`, which
 * is above 0: the arrivals before and behind them were sent `between_ns` apart. No usual length is known for either
 * kind, so each length counts by its logarithm. An outage that ends somewhere from lasted_ns to between_ns has the
 * likelihood ln(between_ns / lasted_ns), a burst that ends with this very part ln((parts + 1) / parts). A sender that
 * goes on at its pace makes both equal. One that runs out of its window and tries again much later does not. */
bool pl_outage_shows(uint64_t parts, int64_t lasted_ns, int64_t between_ns);

/* Whether a lost part was sent in an outage of all connections between its hosts. `*at` starts as 0, and t_ns never
 * decreases. NULL: the transfer is the only one, and its own losses must show the outage. */
bool pl_outage_of_all(const struct pl_silences *silences, size_t *at, int64_t t_ns);

#endif
