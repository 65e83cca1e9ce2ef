/* The queue that parts met, corrected for late time stamps of a live capture on a busy machine or of a delay box that
 * woke up late.
 *
 * A place is a position in the order of sending, between two arrivals. Nothing passes the bottleneck faster than its
 * rate. So a part arrived no later than (arrival of any later part − the bottleneck's time for the parts between): the
 * minimum of these times is the corrected arrival. A late time stamp of the sender makes a delay too short, so the
 * queue at a place is the maximum over the parts around it.
 * Rejected: a median of neighbours. With 3 ms of noise it is wrong by more than the queue of a short buffer. */
#ifndef PL_QUEUES_H
#define PL_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

enum { PL_QUEUES_AROUND = 8, PL_QUEUES_AHEAD = 256, PL_QUEUES_RING = 512 };

/* A place, in front of arrival number `place` (from 0). The last place is after the last arrival. */
struct pl_queue_place {
    uint64_t place;
    int64_t before_ns;   /* corrected time of the previous arrival; INT64_MIN: none */
    double delay_ns;     /* the longest corrected delay around it */
    double steady_ns;    /* the least delay_ns of three places: this one, and those PL_QUEUES_AROUND before and after
                            it */
    double shortfall_ns; /* delay_ns minus the corrected delay of the next arrival; -1: none */
    double moved_ns;     /* by how much the arrival was corrected: actual − corrected time of the next arrival; -1:
                          * none */
    bool gap_known;      /* pl_queues_gap_ns() */
};

typedef int pl_queue_sink(void *context, const struct pl_queue_place *place);

struct pl_queue_part {
    double sent_ns, received_ns, bytes; /* `bytes`: of all parts from the first to this one */
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
    uint64_t least[PL_QUEUES_RING], first, last; /* indexes of arrivals that may limit the corrected time of earlier
                                                  * ones */
};

/* Returns an object for free(), or NULL without memory. */
struct pl_queues *pl_queues_new(double service, pl_queue_sink *sink, void *context);

/* Takes the next part in order of sending that arrived. `sink` gets the places in order, some arrivals later. Returns
 * 0, or the sink's result. */
int pl_queues_add(struct pl_queues *queues, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes);

/* For `sink`, at its place: the time between the arrivals before and after it, minus the bottleneck's time for the
 * latter; 0: not known. */
double pl_queues_gap_ns(struct pl_queues *queues, uint64_t place);

/* Passes the remaining places to `sink`. */
int pl_queues_end(struct pl_queues *queues);

#endif
