/* The watching thread of a transfer: on an absolute monotonic schedule it closes intervals and takes TCP_INFO samples,
 * so that a blocked send or recv never skews either. It ends at once when told to.
 * Rejected: looking at the clock in the transfer loop; a transfer that stands still for a second would have no samples of
 * the second that matters. */
#ifndef RTTCP_METER_H
#define RTTCP_METER_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tcpinfo.h"

struct rttcp_interval {
    uint64_t start_ns, end_ns; /* from t0 */
    uint64_t bytes;
    bool full; /* as long as asked for; the last one often is not */
};

struct rttcp_meter {
    /* set by the caller */
    int fd;                             /* -1: no samples */
    uint64_t t0_ns;                     /* CLOCK_MONOTONIC */
    uint64_t interval_ns;
    uint64_t sample_ns;                 /* 0: none */
    const _Atomic uint64_t *bytes;      /* transferred so far */
    void (*on_interval)(void *context, const struct rttcp_interval *interval); /* may be NULL; called on the thread */
    void *context;
    /* results, to be read after rttcp_meter_stop */
    json_t *intervals;
    uint64_t intervals_dropped, peak_bps;
    uint64_t window_seen_max_bytes;     /* largest snd_wnd since `watch_window` */
    struct rttcp_samples samples;
    _Atomic bool watch_window;
    /* private */
    uint64_t closed_ns, closed_bytes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ending;
};

/* Starts the thread; false when there is none to be had. */
bool rttcp_meter_start(struct rttcp_meter *meter);

/* Ends it, closes the last interval and takes a last sample. */
void rttcp_meter_stop(struct rttcp_meter *meter);

uint64_t rttcp_bps(uint64_t bytes, uint64_t elapsed_ns);

#endif
