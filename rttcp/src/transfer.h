/* What moves one stream's bytes, a call at a time: a socket, one prefaulted aligned buffer, and a look up at least every
 * slice, so that the end of a duration, a stop and a dead peer are noticed. flow.c has the loops. Knows nothing of the
 * control connection. Nothing spins: whoever has nothing to do sleeps in the kernel, and on a fast path the receiver wakes
 * up once a millisecond, not once a packet (SO_RCVLOWAT). */
#ifndef RTTCP_TRANSFER_H
#define RTTCP_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "message.h"
#include "verify.h"

#define RTTCP_SLICE_NS UINT64_C(100000000)

enum rttcp_ended { ENDED_BYTES, ENDED_DURATION, ENDED_SIGNAL, ENDED_ERROR, ENDED_N };
extern const char *const rttcp_ended_names[ENDED_N];

/* What the session tells its streams; any thread may set one. */
struct rttcp_orders {
    atomic_bool finish; /* senders: stop in order, what was sent still counts */
    atomic_bool cancel; /* everybody: give up */
};

struct rttcp_transfer {
    /* set by the caller */
    int fd;               /* connected, blocking */
    uint64_t stream;      /* in the proposal's order */
    const struct rttcp_params *params;
    struct rttcp_orders *orders;
    uint64_t quota_bytes; /* sender: this stream's share of params->bytes; 0: none */
    uint64_t t0_ns;       /* CLOCK_MONOTONIC: connect began, accept returned */
    /* private */
    void *mapped;
    size_t mapped_size;
    uint8_t *buffer;
    size_t buffer_size;
    int source_fd;                   /* zero-copy: a file in memory that holds the buffer; -1 */
    uint64_t held_from, held_to;     /* sender, verify: offsets of what the buffer holds */
    uint64_t tuned_ns, tuned_bytes, tuned_calls; /* receiver: since when the wake-ups are counted */
    uint64_t lowat_bytes;
    uint64_t idle_since_ns; /* 0: the last call moved something */
    /* results */
    struct rttcp_verify *verify; /* NULL: off */
    _Atomic uint64_t bytes;      /* the meter reads it meanwhile */
    uint64_t calls;
    uint64_t first_byte_ns, last_byte_ns; /* receiver: from t0; sender: last_byte_ns is when the kernel had it all */
    uint64_t window_clamp_resets; /* receiver */
    uint64_t opening_bytes;       /* sender */
};

/* Maps and prefaults the buffer, aligned as the parameters say, filled with a pseudo-random pattern; a sender with
 * zerocopy gets it as a file in memory. 0 or -1. */
int rttcp_transfer_prepare(struct rttcp_transfer *transfer, bool sending, struct rttcp_error *error);
void rttcp_transfer_release(struct rttcp_transfer *transfer);

/* The sender's opening, when a window is set (opening.c). A connection begins with a larger offer than a small window, and
 * an offer is never taken back (window.c). So the first flight is sent and its acknowledgement awaited (no time is lost: that
 * is what the congestion window asks for), and then, while the offer is larger than the window, one window at a time, which
 * is a window a round trip, as it is meant to be. Leaves with one window on its way. ENDED_N: go on with
 * rttcp_transfer_send_once. */
enum rttcp_ended rttcp_transfer_open(struct rttcp_transfer *transfer, struct rttcp_error *error);

/* One call of send with at most `most` bytes, or of recv; it blocks for a slice at most.
 * ENDED_N: go on, whether or not anything moved. Sending ends with the quota or duration and does not shut the connection
 * down; receiving ends with the stream (ENDED_BYTES). */
enum rttcp_ended rttcp_transfer_send_once(struct rttcp_transfer *transfer, uint64_t most, struct rttcp_error *error);
enum rttcp_ended rttcp_transfer_receive_once(struct rttcp_transfer *transfer, struct rttcp_error *error);

/* Bytes that the peer's TCP has not acknowledged. */
uint64_t rttcp_unacknowledged(int fd);

/* For opening.c, on a blocking socket: sends up to `total` bytes in writes of at most `piece`; ENDED_N: all sent, and the
 * transfer is not over. */
enum rttcp_ended rttcp_transfer_send_part(struct rttcp_transfer *transfer, uint64_t total, uint64_t piece,
                                          struct rttcp_error *error);
/* … how much the next write of at most `most` bytes may carry; 0 at the end, with the reason in *ended. */
size_t rttcp_transfer_next_write(const struct rttcp_transfer *transfer, uint64_t most, enum rttcp_ended *ended);
/* … whether a call that moved nothing (errno) may be repeated; *idle_since_ns is 0 when the one before moved something. */
bool rttcp_transfer_may_retry(const struct rttcp_transfer *transfer, uint64_t *idle_since_ns, const char *what,
                              struct rttcp_error *error);
uint64_t rttcp_transfer_moved(const struct rttcp_transfer *transfer);

#endif
