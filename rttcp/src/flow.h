/* One direction of a session at one end: its streams, a thread each, and the meter that watches them. Threads end by
 * themselves and say so on an event descriptor; nobody is ever killed.
 * Rejected: one thread and epoll over all streams (31 Gbit/s where four threads carry 55, over a veth pair on two
 * processors: the sender's side costs the most, and has but one processor then), and epoll over a share of the streams in
 * a thread a processor (the same with copying, a fifth less without: it wakes up ten times as often). */
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
    struct rttcp_error error;
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
    bool confirmed;         /* the receiver's word was given, or taken */
    uint64_t elapsed_ns;    /* t0 to the confirmation (sender), to the last stream's end (receiver) */
    uint64_t unacknowledged, arrived, moved_ns; /* sender, awaiting the confirmation: progress */
    struct rusage before;
};

/* Memory for n streams, the first of which is `first` in the proposal's order. 0 or -1. */
int rttcp_flow_create(struct rttcp_flow *flow, bool sending, uint64_t n, uint64_t first,
                      const struct rttcp_params *params, struct rttcp_orders *orders, struct rttcp_error *error);

/* Every stream is connected: starts meter and threads. The clock is `t0_ns`. */
int rttcp_flow_start(struct rttcp_flow *flow, uint64_t t0_ns, int wake_fd, struct rttcp_error *error);

/* All threads have ended (or none was started). */
bool rttcp_flow_finished(const struct rttcp_flow *flow);

/* A worker has failed, although others may go on. */
bool rttcp_flow_failed(const struct rttcp_flow *flow);

/* How the flow ended, once finished: the first error, else the first stream's way. */
enum rttcp_ended rttcp_flow_ended(const struct rttcp_flow *flow, struct rttcp_error *error);

/* Waits for the threads (cancel them first, if they are not to run to their end) and stops the meter. */
void rttcp_flow_join(struct rttcp_flow *flow);

uint64_t rttcp_flow_bytes(const struct rttcp_flow *flow);
void rttcp_flow_release(struct rttcp_flow *flow);

#endif
