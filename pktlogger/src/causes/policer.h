/* Detects a policer, a token bucket without a queue, as the cause of losses. Its bucket fills at the policer's rate up
 * to the burst, and a part that finds too few octets in it is dropped. What the bucket lacks is its level: each part
 * that passes adds its octets, and time takes the rate's, down to nothing. So a rate and a burst explain a transfer
 * when all parts that passed stayed within the burst and each lost part would have exceeded it (Flach and others,
 * SIGCOMM 2016, look for that, too). The burst of a rate is the highest level that passed.
 * Candidate rates are spread over the possible range; others come from the largest number of octets between losses,
 * because the bucket is empty after a loss. The rates that explain nearly as many losses as the best one does form a
 * range, and its middle counts.
 * A bottleneck's own queue is such a bucket, too, at the bottleneck's rate. So the policer's rate is clearly below the
 * rate at which the line brings parts one behind the other, and lost parts met no queue as long as burst / rate. Chance
 * and queue management do not know the level: they take parts at low levels, and let others pass at high ones.
 * Times are those of arrival, for the queue of a line before the policer spreads what was sent at once. A lost part
 * counts with the delay of the part before it.
 * Rejected: windows between losses with one rate. They need losses that are dense for long, and a sender that halves its
 * window soon, or whose bursts leave the bucket time to fill, has none. */
#ifndef PL_POLICER_H
#define PL_POLICER_H

#include <stdbool.h>
#include <stdint.h>

#include "vector.h"

enum { PL_POLICED_MOST = 131072, PL_POLICED_PASSED = -1 };

/* `run`: which of the runs of lost parts has it, from 0; PL_POLICED_PASSED: it passed. `explained`: pl_policer_find sets
 * it for lost parts. */
struct pl_policed_part {
    int64_t t_ns, t_sent_ns, delay_ns;
    uint32_t bytes;
    int32_t run;
    bool explained;
};

/* Octets per second and octets; rate 0: no policer shows. `waits`: by how much longer parts were under way for each octet
 * that the bucket lacked, by least squares, in the time that an octet takes at the rate. A queue that is served at this
 * rate makes 1 of it, and a policer 0. In front of a line that is faster it makes their ratio, rate to line, since a
 * burst waits for the line. `open`: rates up to the line's explain the losses nearly as well, as where bursts are far
 * apart, or the burst is a few parts: a queue at the line that is as short as the burst may have taken them. */
struct pl_policed {
    double rate, burst, waits;
    bool open;
};

/* Starts as {0}. The first PL_POLICED_MOST parts count. */
struct pl_policer {
    PL_VECTOR(struct pl_policed_part) parts;
    int64_t delay_ns; /* of the last part that arrived */
    uint32_t runs;    /* of lost parts */
};

/* Takes the next part in order of sending, with headers. t_received_ns -1: not known. Returns 0, or -1 without memory. */
int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes, int32_t run);

/* The policer that explains most of the losses. line_rate: octets a second that the line carries at least; 0: not known.
 * late_ns: how late time stamps are. */
struct pl_policed pl_policer_find(struct pl_policer *policer, double line_rate, double late_ns);

void pl_policer_free(struct pl_policer *policer);

#endif
