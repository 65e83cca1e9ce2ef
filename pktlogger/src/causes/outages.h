/* The times of outages of the path: either known, or inferred from the lost packets, which gives a lower bound. Also
 * the test that distinguishes an outage, which ends at a point in time, from a burst of losses, which ends with its
 * last packet. */
#ifndef PL_OUTAGES_H
#define PL_OUTAGES_H

#include <stdbool.h>

#include "time_spans.h"
#include "transfer.h"

/* Adds the time of an outage that lost everything sent from `first_ns` to `last_ns`. If outages are not known, only
 * this time is certain: a lower bound. If they are known, their own time counts. A packet lost behind a queue may have
 * been sent before the outage, so the time begins with the first lost packet, unless a packet sent shortly before
 * arrived (`sent_before`). `back_ns`: how much later the sender noticed the beginning and the end. Returns 0, or -1
 * without memory. */
int pl_down_add(struct pl_time_spans *spans, const struct pl_outages *known, int64_t first_ns, int64_t last_ns,
                bool sent_before, const int64_t back_ns[2]);

/* Runs of at least PL_OUTAGE_PARTS losses that nothing else explains. The brief ones count as bursts. It starts as
 * {0}. */
struct pl_bursts {
    double runs, brief_runs, brief_parts; /* for each run, the number of its parts beyond PL_OUTAGE_PARTS - 1 */
};

void pl_bursts_add(struct pl_bursts *bursts, uint64_t parts, int64_t lasted_ns);

/* True when bursts are likely to make one run of so many parts. The lengths of bursts have a geometric distribution,
 * estimated from the brief runs. */
bool pl_bursts_make(const struct pl_bursts *bursts, uint64_t parts);

/* True when the time in which nothing passed distinguishes an outage from a burst of `parts` losses. These were sent
 * within `lasted_ns`, which is above 0, and the arrivals before and after them `between_ns` apart. No usual length is
 * known for outages or bursts, so the logarithm of the length is assumed to be uniform. An outage that ends between
 * lasted_ns and between_ns has the likelihood ln(between_ns / lasted_ns), a burst that ends with exactly this part
 * ln((parts + 1) / parts). If the sender goes on at its pace, both are equal. If it runs out of its window and tries
 * again much later, the first is larger. */
bool pl_outage_shows(uint64_t parts, int64_t lasted_ns, int64_t between_ns);

/* Whether a lost part was sent while all connections between its hosts had an outage. `*at` starts as 0, and t_ns never
 * decreases. `silences` NULL: the transfer is alone between its hosts, and its own losses must show the outage. */
bool pl_outage_of_all(const struct pl_silences *silences, size_t *at, int64_t t_ns);

#endif
