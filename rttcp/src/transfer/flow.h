/* One direction of a session at one end: its streams, each with a thread of its own, and the meter that watches them. A
 * thread ends by itself and signals its end on an event descriptor; no thread is ever killed.
 * Rejected: one thread with epoll over all streams. It reaches 31 Gbit/s where four threads reach 55 (veth pair, two
 * processors), because the sending side costs the most and then has only one processor.
 * Rejected: one thread for each processor with epoll over a share of the streams. It reaches the same rate with copying
 * and a fifth less without, because it wakes up ten times as often. */
#ifndef RTTCP_FLOW_H
#define RTTCP_FLOW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "meter.h"
#include "transfer.h"

struct rttcp_worker {
    struct rttcp_flow *flow;
    struct rttcp_transfer *stream;
    pthread_t thread;
    bool started;
    atomic_bool failed;
    enum rttcp_ended ended;
    struct nc_error error;
};

struct rttcp_flow {
    bool sending;
    uint64_t n; /* streams; 0: the session has no such direction */
    const struct rttcp_params *params;
    struct rttcp_transfer *streams;
    struct rttcp_worker *workers;
    struct rttcp_meter meter;
    bool metered; /* the meter's thread runs */
    int wake_fd;  /* eventfd: written whenever a worker ends */
    _Atomic uint64_t running;
    /* the session's bookkeeping */
    bool confirmed; /* the receiver's confirmation was sent, or received */
    /* sender: time from t0 to the confirmation; receiver: time from t0 to the end of the last stream */
    uint64_t elapsed_ns;
    uint64_t unacknowledged, arrived, moved_ns; /* sender: progress while it awaits the confirmation */
    struct rusage before;
};

/* Allocates n streams; the first one has number `first` in the proposal. Returns 0 or -1. */
int rttcp_flow_create(struct rttcp_flow *flow, bool sending, uint64_t n, uint64_t first,
                      const struct rttcp_params *params, struct rttcp_orders *orders, struct nc_error *error);

/* Starts the meter and the threads. All streams must be connected; `t0_ns` is when the clock starts. */
int rttcp_flow_start(struct rttcp_flow *flow, uint64_t t0_ns, int wake_fd, struct nc_error *error);

/* True when all threads have ended, or none was started. */
bool rttcp_flow_finished(const struct rttcp_flow *flow);

/* True when a worker has failed, although others may still run. */
bool rttcp_flow_failed(const struct rttcp_flow *flow);

/* Returns how a finished flow ended: the first error of a stream or, without errors, the end of the first stream. */
enum rttcp_ended rttcp_flow_ended(const struct rttcp_flow *flow, struct nc_error *error);

/* Waits for the threads and stops the meter. To end the threads early, set orders->cancel first. */
void rttcp_flow_join(struct rttcp_flow *flow);

uint64_t rttcp_flow_bytes(const struct rttcp_flow *flow);
void rttcp_flow_release(struct rttcp_flow *flow);

#endif
