/* Detects a policer, a token bucket without a queue, as the cause of losses. Its bucket fills at the policer's rate up
 * to the burst, and a part that finds too few octets in it is dropped. The level is what the bucket lacks: each part
 * that passes adds its octets, and with time the level falls at the rate, down to 0. So a rate and a burst explain a
 * transfer when all parts that passed stayed within the burst and each lost part would have exceeded it (as in Flach
 * and others, SIGCOMM 2016). The burst for a rate is the highest level that passed.
 * Candidate rates are spread over the possible range. Others come from the largest numbers of octets between losses,
 * because the bucket is empty after a loss. The rates that explain nearly as many losses as the best one form a range,
 * and its middle is the result.
 * A bottleneck's own queue is such a bucket, too, at the bottleneck's rate. So the policer's rate must be clearly below
 * the rate at which the line brings parts back to back, and lost parts must not have met a queue as long as burst /
 * rate. Chance and queue management do not depend on the level: they lose parts at low levels, and let others pass at
 * high ones.
 * Times are those of arrival, because a queue of a line before the policer spreads what was sent at once. A lost part
 * is given the delay of the part before it.
 * Rejected: windows between losses with one rate. They need dense losses for a long time. A sender that soon halves its
 * window, or whose bursts leave the bucket time to fill, has none. */
#ifndef PL_POLICER_H
#define PL_POLICER_H

#include <stdbool.h>
#include <stdint.h>

#include "vector.h"

enum { PL_POLICED_MOST = 131072, PL_POLICED_PASSED = -1 };

/* `run`: the number of the run of lost parts to which it belongs, from 0; PL_POLICED_PASSED: it passed. pl_policer_find
 * sets `explained` of lost parts. */
struct pl_policed_part {
    int64_t t_ns, t_sent_ns, delay_ns;
    uint32_t bytes;
    int32_t run;
    bool explained;
};

/* `rate`: octets per second; 0: no policer was found. `burst`: octets. `waits`: by how much longer parts took for each
 * octet that the bucket lacked, by least squares, in units of the time of an octet at the rate. It is 1 for a queue
 * served at this rate and 0 for a policer. With a faster line in front of the policer it is rate / (rate of the line),
 * because a burst waits for the line. `open`: rates up to the line's explain the losses nearly as well, for example
 * where bursts are far apart or only a few parts long. Then a queue at the line that is as short as the burst may have
 * lost them. */
struct pl_policed {
    double rate, burst, waits;
    bool open;
};

/* Starts as {0}. The first PL_POLICED_MOST parts count. */
struct pl_policer {
    PL_VECTOR(struct pl_policed_part) parts;
    int64_t delay_ns; /* of the latest part that arrived */
    uint32_t runs;    /* of lost parts */
};

/* Takes the next part in order of sending; `bytes` include headers. t_received_ns -1: not known. Returns 0, or -1
 * without memory. */
int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes, int32_t run);

/* The policer that explains most of the losses. line_rate: a lower bound of the line's rate in octets per second; 0:
 * not known. late_ns: how late time stamps are. */
struct pl_policed pl_policer_find(struct pl_policer *policer, double line_rate, double late_ns);

void pl_policer_free(struct pl_policer *policer);

#endif
