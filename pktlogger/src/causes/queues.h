/* The queue that parts met, corrected for late time stamps of a live capture on a busy machine or of a delay box that
 * woke up late.
 *
 * Nothing passes the bottleneck faster than its rate. So a part arrived no later than (arrival of any later part − the
 * bottleneck's time for the parts between): the minimum of these times is the corrected arrival. A late time stamp of
 * the sender makes a delay too short, so the queue at a place in the order of sending is the maximum over the parts
 * around it.
 * Rejected: a median of neighbours. With 3 ms of noise it is wrong by more than the queue of a short buffer. */
#ifndef PL_QUEUES_H
#define PL_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

enum { PL_QUEUES_AROUND = 8, PL_QUEUES_AHEAD = 256, PL_QUEUES_RING = 512 };

/* What is known of the place before arrival number `place` (from 0; the last one is behind the last arrival). */
struct pl_queue_place {
    uint64_t place;
    int64_t before_ns;   /* corrected time of the previous arrival; INT64_MIN: none */
    double delay_ns;     /* the longest corrected one around it */
    double steady_ns;    /* the least of delay_ns here, PL_QUEUES_AROUND places before and as many behind */
    double shortfall_ns; /* delay_ns minus the corrected delay of the next arrival; -1: none */
    double moved_ns;     /* (actual − corrected) time of the next arrival; -1: none */
    bool gap_known;      /* pl_queues_gap_ns() */
};

typedef int pl_queue_sink(void *context, const struct pl_queue_place *place);

struct pl_queue_part {
    double sent_ns, received_ns, bytes; /* `bytes`: all up to its end */
    double delay_ns, longest_ns, moved_ns;
    double longest_of_2, longest_of_4, longest_of_8; /* delays from this arrival on */
};

struct pl_queues {
    double service; /* ns a byte; 0: not known, and nothing is corrected */
    pl_queue_sink *sink;
    void *context;
    int64_t begin_ns;
    double bytes;
    uint64_t n, corrected, placed, told;
    struct pl_queue_part parts[PL_QUEUES_RING];
    uint64_t least[PL_QUEUES_RING], first, last; /* candidates for the earliest arrival from some place on */
};

/* Returns an object for free(), or NULL without memory. */
struct pl_queues *pl_queues_new(double service, pl_queue_sink *sink, void *context);

/* Takes the next part in order of sending that arrived. Places are told in order, some arrivals later. Returns 0, or
 * what the sink returned. */
int pl_queues_add(struct pl_queues *queues, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes);

/* At a place that is being told: the time between the arrivals before and behind it, beyond the bottleneck's time for the
 * latter; 0: not known. */
double pl_queues_gap_ns(struct pl_queues *queues, uint64_t place);

/* Tells all places that are left. */
int pl_queues_end(struct pl_queues *queues);

#endif
