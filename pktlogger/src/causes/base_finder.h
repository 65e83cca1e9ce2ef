/* Finds the base delay of a path (without queues) over time, from the delays of the packets sent over it.
 *
 * The flow's own packets lengthen a queue by exactly their time at the bottleneck, and a queue shrinks at most by the
 * time that passes. So the delays bound the base from both sides at every arrival:
 * - A rise beyond what the flow sent since the arrival before is no queue of its own. Where delays fall back gradually,
 *   as a queue drains, it was a queue of others. Where they stay, it is a longer path.
 * - A fall beyond the time that passed, or below a level that lasted, is a shorter path.
 * - Where such rises become more frequent with a higher level, others are sending, and it is their queue.
 * A level counts when it has lasted PL_BASE_LASTS_NS and twice its delay, and three packets show it. Everything else is
 * a queue, a late time stamp, or jitter. The bounds are widened by the 99th percentile of single rises beyond them,
 * because a late time stamp makes a rise before or after it.
 * It cannot tell a longer path from a queue of others that comes at once and does not drain while the capture lasts,
 * nor see a change that is smaller than the bounds or undone before it lasted.
 * Works for one-way delays and for round-trip times alike; `now` is passed in.
 * Rejected: the smallest delay of a window of time. A queue that stands for longer than the window becomes the path. */
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
    double delay_ns; /* without the bottleneck's time for it */
    double work_ns;  /* the bottleneck's time for it; 0: not known */
    bool queued;     /* this work certainly lengthened the queue that is part of delay_ns */
};

struct pl_base_step {
    bool begun;
    struct pl_base_part last;
    double lost_ns; /* the bottleneck's time for packets lost since */
};

/* How far single rises are off. It starts as {0}. */
struct pl_base_noise {
    struct pl_base_step step;
    struct pl_sample off;
};

/* Take the next packet that was sent: it arrived, or was lost. Return 0, or -1 without memory. */
int pl_base_noise_add(struct pl_base_noise *noise, const struct pl_base_part *part);
void pl_base_noise_lost(struct pl_base_noise *noise, double work_ns);

/* Frees `noise`. By how much steps may be off. */
double pl_base_noise_end(struct pl_base_noise *noise);

struct pl_base_candidate {
    int64_t t_ns;               /* it holds from then on */
    int64_t since_ns, shown_ns; /* when it first showed at its present height, and when it last did */
    double low_ns, high_ns;     /* the base is between them */
    double least_ns;            /* lower bound a little earlier, whatever low_ns is now */
    int64_t noted_ns;           /* when its height was last noted, */
    double earlier_ns[2];       /* which was the second of these, and the first one before */
    unsigned packets;           /* that showed it */
    bool fell;                  /* it is lower than the previous level */
    double steps, rises;        /* from arrival to arrival; those that rise by more than the flow sent */
    double most_rises;          /* threshold of their share above which others have a queue */
};

struct pl_base_finder {
    struct pl_base_step step;
    double tolerance_ns;
    double before_ns;                           /* the queue that may have stood when the first part was sent */
    double least_ns;                            /* delay of all */
    double queue_ns;                            /* that the last part met at least, if the present level is right */
    double excess_ns;                           /* how much the delay fell recently beyond what queues can drain */
    PL_VECTOR(struct pl_base_candidate) levels; /* all but the first one and the last one have lasted */
};

/* `before_ns`: 0 for a flow that is seen from its beginning. */
void pl_base_finder_begin(struct pl_base_finder *finder, double tolerance_ns, double before_ns);

/* Take the next packet, in the order of sending. Return 0, or -1 without memory. */
int pl_base_finder_add(struct pl_base_finder *finder, const struct pl_base_part *part);
void pl_base_finder_lost(struct pl_base_finder *finder, double work_ns);

/* Frees the finder, and puts the levels into `base`, which is empty. Returns 0, or -1 without memory. */
int pl_base_finder_end(struct pl_base_finder *finder, struct pl_base *base);

#endif
