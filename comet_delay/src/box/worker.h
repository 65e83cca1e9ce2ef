/* A worker: a thread that moves packets, for one direction or for both.
 *
 * Who owns what. A worker alone touches its directions (models, memory, schedule, statistics), reads the ports where
 * their packets come in and writes the ports where they leave. A port may be read by one worker and written by another.
 * Workers share nothing, so a packet's fate does not depend on how many there are. The control thread
 * (control_thread.h) looks at or changes a direction between worker_pause and worker_resume. A worker holds a lock
 * while it works, never while it waits. The control thread queues for that lock behind a second one, because a worker
 * that spins would otherwise take the lock again before anybody else got it. Both locks inherit priority, so that a
 * control thread that holds up packets is not held up itself.
 *
 * A turn. A turn reads what waits at the ports, sends what is due, and sleeps. The look at the clock at its beginning
 * decides what is due. The clock is looked at again after each packet that is read or written, because a worker that
 * is held up in between must neither shorten a packet's delay nor hide how late it left. Waking up for every packet is
 * what costs most. So a turn that found work is followed by a plain sleep of `poll_ns`, and only a turn that found
 * none arms the ports as wake-ups (as NAPI does with interrupts). At low load every arrival therefore wakes the worker
 * at once. Under load the worker turns every `poll_ns`, which bounds the error of the arrival time and the lateness of
 * departures. Departures carry theoretical times, so lateness never accumulates. `spin_ns` before a wake-up time the
 * worker stops sleeping and watches the clock, except for the rests that it owes the other tasks of its processor
 * (worker.c, REST_NS).
 *
 * Writing to a TAP runs the host's whole receiving stack in the writer. This is quickest for a single packet, but with
 * 1,500-byte packets it is two fifths of all that a worker does. So a worker that has little time left writes to where
 * another processor takes over (port.h, `defer`), and stops doing so when load and queue are gone.
 * Rejected: a thread that only writes. The stack would still handle packets one by one; threaded NAPI handles them in
 * batches, at half the cost. Rejected: epoll. There are three descriptors. */
#ifndef COMET_WORKER_H
#define COMET_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "direction.h"
#include "port.h"
#include "wake_latency.h"

enum { PORTS = 2 };

struct worker_settings {
    uint64_t poll_ns, spin_ns;
    uint64_t priority; /* SCHED_RR; 0: none */
};

struct worker {
    struct worker_settings settings;
    struct port *ports;           /* [2] */
    struct direction *directions; /* [2]; [d]: what comes in at port d */
    unsigned first, n;            /* its own directions: [first, first + n) */

    pthread_t thread;
    bool running;
    pthread_mutex_t gate, work; /* always in this order */
    int kick;                   /* eventfd that ends a wait */
    atomic_bool stop;

    struct wake_latency latency;
    uint64_t timer_ns;           /* the last wait was ended by its timer, which was set for this time; 0: it was not */
    uint64_t armed_ns;           /* the last wait was ended by a port, and began at this time; 0: it was not */
    uint64_t looked_ns;          /* the last look at the clock in this turn */
    uint64_t window_ns, busy_ns; /* when the present window of load began; how much of it went into packets */
    uint64_t written_ns;         /* when it last wrote */
    uint64_t owed_ns;            /* rest that it owes the processor's other tasks, see account_rest */
    uint64_t accounted_ns;       /* until when owed_ns has been counted */
    unsigned calm_windows;       /* windows in a row that had little load */
    bool defer;                  /* let another processor run the hosts' stacks */
    bool gone[PORTS];            /* the port's interface was deleted; a TAP's descriptor is then ready for ever */
    bool more;                   /* a port had more than a batch waiting in this turn */
    uint8_t spare[NC_VNET_LEN + DIRECTION_FRAME_MAX]; /* buffer into which packets are read when there is no memory for
                                                       * them */
};

/* Prepares a worker for `n` directions from `first` on. It does not run yet, and ports may be opened later. 0, or -1
 * with errno. */
int worker_init(struct worker *worker, const struct worker_settings *settings, struct port *ports,
                struct direction *directions, unsigned first, unsigned n);
void worker_free(struct worker *worker);

/* Makes a first estimate of the wake-up latency, which takes some 100 ms. */
void worker_calibrate(struct worker *worker);

/* worker_start starts the thread and returns 0 or an errno. worker_stop returns when the thread has ended; the worker
 * need not run. */
int worker_start(struct worker *worker);
void worker_stop(struct worker *worker);

/* Gives the calling thread SCHED_RR priority `level`; 0 leaves it as it is. Busy hosts on the same machine must not
 * keep the box from the processor, because a late packet is a wrong result. Where the priority is not allowed, this
 * function logs a message and continues. */
void worker_raise_priority(int level);

/* Between these two calls the worker touches nothing. */
void worker_pause(struct worker *worker);
void worker_resume(struct worker *worker);

#endif
