/* A lane: a thread that moves packets, for one direction or for both.
 *
 * Who owns what. A lane alone touches its directions (models, memory, schedule, statistics), reads the ports where they
 * come in and writes the ports where they leave; a port may be read by one lane and written by another. Nothing is shared between
 * lanes, so a packet's fate does not depend on how many there are. The control thread (serve.h) looks at or changes a
 * direction between lane_pause and lane_resume: a lane holds a lock while it works, never while it waits. It queues for
 * that lock behind a second one, or a lane that spins would take it again before anybody else got it; both inherit
 * priority, so that a control thread that holds up packets is not held up itself.
 *
 * A turn. One clock reading is passed down to everything. A turn reads what waits at the ports, sends what is due,
 * then sleeps. Waking up for every packet is what costs most, so a turn that found work is followed by a plain sleep of
 * `poll_ns`, and only a turn that found none arms the ports as wake-ups (as NAPI does with interrupts). At low load
 * every arrival therefore wakes the lane at once; under load it turns every `poll_ns`, which bounds the error of the
 * arrival time and the lateness of departures. Departures carry theoretical times: lateness never accumulates.
 * `spin_ns` before a wake-up time the lane stops sleeping and watches the clock, but for the rests that it owes the
 * processor's other tasks (lane.c, REST_NS).
 *
 * Writing to a TAP runs the host's whole receiving stack in the writer. That is quickest for one packet and, with
 * 1,500-byte packets, two fifths of all the lane does; so a lane that has little time left writes to where another processor
 * takes over (port.h, defer), and goes back when load and queue are gone.
 * Rejected: a thread that only writes (the stack still handles packets one by one; threaded NAPI handles them in
 * batches, at half the cost); epoll (three descriptors). */
#ifndef COMET_LANE_H
#define COMET_LANE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "direction.h"
#include "port.h"

enum { PORTS = 2 };

struct lane_settings {
    uint64_t poll_ns, spin_ns;
    uint64_t priority; /* SCHED_RR; 0: none */
};

struct lane {
    struct lane_settings settings;
    struct port *ports;           /* [2] */
    struct direction *directions; /* [2]; [d]: what comes in at port d */
    unsigned first, n;            /* its own: [first, first + n) */

    pthread_t thread;
    bool running;
    pthread_mutex_t gate, work; /* always in this order */
    int kick;                   /* eventfd: stop waiting */
    atomic_bool stop;

    uint64_t wake_latency_ns; /* see learn_latency */
    uint64_t timer_ns;        /* the last wait ended by its timer, set for this time; 0: it did not */
    uint64_t armed_ns;        /* the last wait began then and was ended by a port; 0: it was not */
    uint64_t window_ns, busy_ns; /* the present window of load began then; of it spent on packets */
    uint64_t written_ns;         /* the last write */
    uint64_t owed_ns;            /* rest that the processor's other tasks are owed, see account_rest */
    uint64_t accounted_ns;       /* until when that has been counted */
    unsigned calm_windows;       /* so many in a row had little load */
    bool defer;                  /* let another processor run the hosts' stacks */
    bool gone[PORTS]; /* the port's interface was deleted; a TAP's descriptor then is ready for ever */
    bool more;        /* a port had more than a batch waiting in this turn */
    uint8_t spare[NC_VNET_LEN + DIRECTION_FRAME_MAX]; /* where packets go that memory has no room for */
};

/* A lane for `n` directions from `first` on, not yet running; ports may be opened later. 0, or -1 with errno. */
int lane_init(struct lane *lane, const struct lane_settings *settings, struct port *ports, struct direction *directions,
              unsigned first, unsigned n);
void lane_free(struct lane *lane);

/* The first estimate of the wake-up latency, some 100 ms. */
void lane_calibrate(struct lane *lane);

/* Starts the thread; 0, or an errno. lane_stop, also of one that does not run, returns when it has ended. */
int lane_start(struct lane *lane);
void lane_stop(struct lane *lane);

/* SCHED_RR for the calling thread, 0: as it is. Late is wrong: busy hosts beside the box must not keep it from the
 * processor. Where that is not allowed it says so and goes on. */
void lane_raise_priority(int level);

/* In between the lane touches nothing. */
void lane_pause(struct lane *lane);
void lane_resume(struct lane *lane);

#endif
