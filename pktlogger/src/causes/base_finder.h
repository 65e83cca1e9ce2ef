/* Finds the base delay of a path (without queues) over time, from the delays of the packets sent over it.
 *
 * The flow's own packets lengthen a queue by exactly their time at the bottleneck, and a queue shrinks at most by the
 * time that passes. So the delays bound the base from both sides at every arrival:
 * - A rise beyond what the flow sent since the previous arrival is not a queue of its own. Where delays fall back
 *   gradually, as a queue drains, it was a queue of others. Where they stay, it is a longer path.
 * - A fall beyond the time that passed, or below a level that lasted, means a shorter path.
 * - Where such rises become more frequent with a higher level, others are sending, and it is their queue.
 * A level counts when it has lasted PL_BASE_LASTS_NS and twice its delay, and three packets show it. Everything else is
 * a queue, a late time stamp, or jitter. The bounds are widened by the 99th percentile of single rises beyond them,
 * because a late time stamp makes a rise before or after it.
 * A queue of others that appears at once and does not drain before the capture ends looks like a longer path. Changes
 * that are smaller than the bounds, or that end too early to count, are not seen. Works for one-way delays and for
 * round-trip times alike; `now` is passed in.
 * Rejected: the smallest delay in a sliding window of time. A queue that stands for longer than the window would count
 * as part of the path. */
#ifndef PL_BASE_FINDER_H
#define PL_BASE_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "sample.h"
#include "thresholds.h"

/* What arrived. Times in ns. */
struct pl_base_part {
    int64_t t_ns;    /* it was sent */
    double delay_ns; /* without the packet's own time at the bottleneck */
    double work_ns;  /* the packet's own time at the bottleneck; 0: not known */
    bool queued;     /* the packet certainly waited in the queue: work_ns adds to it */
    int64_t held_ns; /* from t_ns until it came to the queue that delay_ns includes, if another queue held it */
};

struct pl_base_step {
    bool begun;
    struct pl_base_part last;
    double lost_ns; /* the bottleneck's time for packets lost since `last` */
};

/* Measures how far single rises exceed the bounds. It starts as {0}. */
struct pl_base_noise {
    struct pl_base_step step;
    struct pl_sample off;
};

/* Take the next packet that was sent: it arrived, or was lost. Return 0, or -1 without memory. */
int pl_base_noise_add(struct pl_base_noise *noise, const struct pl_base_part *part);
void pl_base_noise_lost(struct pl_base_noise *noise, double work_ns);

/* Frees `noise`. Returns the tolerance for single steps. */
double pl_base_noise_end(struct pl_base_noise *noise);

struct pl_base_candidate {
    int64_t t_ns;               /* it holds from then on */
    int64_t since_ns, shown_ns; /* when it first and last appeared at its present height */
    double low_ns, high_ns;     /* the base is between them */
    double least_ns;            /* lower bound of its height a little earlier; does not depend on low_ns */
    int64_t noted_ns;           /* when its height was last noted */
    double earlier_ns[2];       /* the two latest noted heights, older one first */
    unsigned packets;           /* that showed it */
    bool fell;                  /* it is lower than the previous level */
    double steps, rises;        /* number of arrivals, and of those whose delay rose by more than the flow sent */
    double most_rises;          /* above this ratio of rises to steps, other traffic has a queue */
};

struct pl_base_finder {
    struct pl_base_step step;
    double tolerance_ns;
    double before_ns;                           /* queue that may have existed when the first packet was sent */
    double least_ns;                            /* delay of all */
    double queue_ns;                            /* shortest queue that the last packet can have met, if the present
                                                 * level is right */
    double excess_ns;                           /* how much the delay fell recently beyond what queues can drain */
    PL_VECTOR(struct pl_base_candidate) levels; /* all have lasted, except perhaps the first one and the last one */
};

/* `before_ns`: the queue that may exist at the beginning; 0 for a flow captured from its first packet. */
void pl_base_finder_begin(struct pl_base_finder *finder, double tolerance_ns, double before_ns);

/* Take the next packet, in the order of sending. Return 0, or -1 without memory. */
int pl_base_finder_add(struct pl_base_finder *finder, const struct pl_base_part *part);
void pl_base_finder_lost(struct pl_base_finder *finder, double work_ns);

/* Frees the finder, and puts the levels into `base`, which is empty. Returns 0, or -1 without memory. */
int pl_base_finder_end(struct pl_base_finder *finder, struct pl_base *base);

#endif
