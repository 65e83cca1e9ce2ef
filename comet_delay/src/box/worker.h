/* A worker: a thread that moves packets, for one direction or for both.
 *
 * Ownership. Only the worker itself uses its directions (models, memory, schedule, statistics), reads the ports at
 * which their packets arrive and writes the ports at which they leave. A port may be read by one worker and written by
 * another. Workers share nothing, so a packet's fate does not depend on their number. The control thread
 * (control_thread.h) reads or changes a direction between worker_pause and worker_resume. A worker holds a lock while
 * it works, never while it waits. The control thread first takes a second lock, for which the worker waits before it
 * takes its own again; otherwise a spinning worker would always get it first. Both locks inherit priority, so that a
 * control thread that delays packets is not delayed itself.
 *
 * Turns. A turn reads the packets that wait at the ports, sends the packets that are due, and sleeps. The clock is read
 * at its beginning, to decide which packets are due, and again after each packet that is read or written, because a
 * worker that is stopped in between must neither shorten a packet's delay nor hide its lateness. Waking up for every
 * packet would cost most. So after a turn that found work the worker simply sleeps for `poll_ns`, and only after a turn
 * that found none it waits for the ports (as NAPI does with interrupts). At low load every arrival therefore wakes the
 * worker at once. Under load a turn begins every `poll_ns`, which bounds the error of the arrival time and the lateness
 * of departures. Departures have theoretical times, so lateness never accumulates. `spin_ns` before a departure the
 * worker stops sleeping and polls the clock, except for the rests that it owes the other tasks of its processor
 * (worker.c, REST_NS).
 *
 * Writing to a TAP runs the host's whole receiving stack in the writer. This is fastest for a single packet, but with
 * 1,500-byte packets it is two fifths of a worker's time. So a worker that has little time left writes to a queue that
 * another processor empties (port.h, `defer`), and stops doing so when the load has fallen and that queue is empty.
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
    struct direction *directions; /* [2]; [d]: packets that arrive at port d */
    unsigned first, n;            /* its own directions: [first, first + n) */

    pthread_t thread;
    bool running;
    pthread_mutex_t gate, work; /* always in this order */
    int kick;                   /* eventfd that ends a wait */
    atomic_bool stop;

    struct wake_latency latency;
    uint64_t timer_ns;           /* if its timer ended the last wait: the time for which it was set; otherwise 0 */
    uint64_t armed_ns;           /* if a port ended the last wait: when that wait began; otherwise 0 */
    uint64_t looked_ns;          /* the last reading of the clock in this turn */
    uint64_t window_ns, busy_ns; /* when the current window of load began; working time in it */
    uint64_t written_ns;         /* when it last wrote */
    uint64_t owed_ns;            /* rest that it owes the processor's other tasks, see account_rest */
    uint64_t accounted_ns;       /* the time up to which owed_ns is counted */
    unsigned calm_windows;       /* consecutive windows with little load */
    bool defer;                  /* let another processor run the hosts' stacks */
    bool gone[PORTS];            /* the port's interface was deleted; a TAP's descriptor is then ready for ever */
    bool more;                   /* more than a batch waited at a port in this turn */
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

/* worker_start starts the thread and returns 0 or an errno. worker_stop returns when the thread has ended; it may be
 * called for a worker that does not run. */
int worker_start(struct worker *worker);
void worker_stop(struct worker *worker);

/* Gives the calling thread SCHED_RR priority `level`; 0 leaves it as it is. Busy hosts on the same machine must not
 * keep the box from the processor, because a late packet is a wrong result. If the priority is not allowed, this
 * function logs a message and continues. */
void worker_raise_priority(int level);

/* Between these two calls the worker does nothing. */
void worker_pause(struct worker *worker);
void worker_resume(struct worker *worker);

#endif
