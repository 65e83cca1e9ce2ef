/* The meter of a flow: a thread that closes intervals and takes TCP_INFO samples on an absolute monotonic schedule, so
 * that a blocked send or recv never delays either. It ends at once when it is stopped.
 * If a stream's thread reaches the point between two of its calls soon enough, that thread takes the sample. A busy
 * thread holds the lock of its socket and releases it only for a moment between two calls. If the meter waited for the
 * lock, it would be woken at each of those moments, mostly in vain.
 * Rejected: reading the clock in the transfer loop. A transfer that stalls for a second would have no samples of that
 * second, which matters most. */
#ifndef RTTCP_METER_H
#define RTTCP_METER_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tcpinfo.h"
#include "transfer.h"

struct rttcp_interval {
    uint64_t start_ns, end_ns; /* from t0 */
    uint64_t bytes;
    bool full;          /* false when it is shorter than requested, as the last interval often is */
    bool has_exchanges; /* with request and response: */
    uint64_t exchanges; /* exchanges completed in the interval */
};

/* Columns of a stream's row in `details`. */
enum {
    DETAIL_BYTES,
    DETAIL_RETRANSMITS,
    DETAIL_CWND_BYTES,
    DETAIL_RTT_US,
    DETAIL_RTTVAR_US,
    DETAIL_PMTU,
    DETAIL_WINDOW
};

/* State of a stream's sample. A sample in progress is finished before the next one can become due, so a stream's
 * samples are in order of time whichever thread takes them. */
enum rttcp_due { RTTCP_NOT_DUE, RTTCP_DUE, RTTCP_BEING_TAKEN };

struct rttcp_meter {
    /* set by the caller */
    const struct rttcp_transfer *streams; /* connected; n of them */
    uint64_t n;
    uint64_t t0_ns; /* CLOCK_MONOTONIC */
    uint64_t interval_ns;
    uint64_t sample_ns; /* 0: none */
    uint64_t omit_ns;   /* end of the omitted time, when the bytes moved so far are recorded */
    bool with_details;
    /* The meter calls it when an interval ends; may be NULL. */
    void (*on_interval)(void *context, const struct rttcp_interval *interval);
    void *context;
    /* results, to be read after rttcp_meter_stop */
    json_t *intervals;
    json_t *details; /* for each interval a list with a row for each stream, whose columns are DETAIL_… */
    uint64_t intervals_dropped, peak_bps;
    /* end of the omitted time, from t0, and the bytes moved until then; 0: no time was omitted */
    uint64_t omitted_ns, omitted_bytes;
    uint64_t window_seen_max_bytes; /* largest snd_wnd of the first stream while `watch_window` is set */
    struct rttcp_samples samples;
    _Atomic bool watch_window;
    _Atomic enum rttcp_due due[RTTCP_STREAMS_MAX]; /* whether a sample of stream i is due */
    /* private */
    uint64_t closed_ns, closed_bytes;
    uint64_t moved_bytes[RTTCP_STREAMS_MAX]; /* bytes of each stream when all counters were last read */
    /* values of each stream when the last interval closed */
    uint64_t stream_bytes[RTTCP_STREAMS_MAX], stream_retransmits[RTTCP_STREAMS_MAX];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool ending;
};

/* Starts the thread; false when the system cannot create one. */
bool rttcp_meter_start(struct rttcp_meter *meter);

/* For the thread of stream i, between its calls: takes the sample that is due, if one is. */
void rttcp_meter_sample_due(struct rttcp_meter *meter, uint64_t i);

/* Ends the thread, closes the last interval and takes a last sample. */
void rttcp_meter_stop(struct rttcp_meter *meter);

uint64_t rttcp_bps(uint64_t bytes, uint64_t elapsed_ns);

#endif
