/* Moves the bytes of one stream, one call of send or recv at a time, between a socket and a prefaulted aligned buffer.
 * A call blocks for a short time, the slice, at most, so that the end of the duration, a stop and a dead peer are
 * noticed. flow.c has the loops. Nothing here uses the control connection.
 * Nothing spins: a stream without work sleeps in the kernel, and on a fast path the receiver wakes up once per
 * millisecond and not for each packet (SO_RCVLOWAT). */
#ifndef RTTCP_TRANSFER_H
#define RTTCP_TRANSFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "message.h"
#include "pacer.h"
#include "results.h"
#include "rr.h"
#include "verify.h"

#define RTTCP_SLICE_NS UINT64_C(100000000)

enum rttcp_ended { ENDED_BYTES, ENDED_DURATION, ENDED_SIGNAL, ENDED_ERROR, ENDED_N };
extern const char *const rttcp_ended_names[ENDED_N];

/* Orders of the session to its streams. Any thread may set one. */
struct rttcp_orders {
    atomic_bool finish; /* senders: stop, and let the bytes already sent be confirmed */
    atomic_bool cancel; /* all: give up */
};

struct rttcp_transfer {
    /* set by the caller */
    int fd;          /* connected, blocking */
    uint64_t stream; /* in the proposal's order */
    const struct rttcp_params *params;
    struct rttcp_orders *orders;
    uint64_t quota_bytes; /* sender: this stream's share of params->bytes; 0: none */
    uint64_t t0_ns;       /* CLOCK_MONOTONIC: when connect began, or accept returned */
    /* private */
    void *mapped;
    size_t mapped_size;
    uint8_t *buffer;
    size_t buffer_size;
    int source_fd;               /* zero-copy: the file in memory that holds the buffer; otherwise -1 */
    uint64_t held_from, held_to; /* sender with verify: the buffer holds the content between these offsets */
    uint64_t tuned_ns, tuned_bytes, tuned_calls; /* receiver: values when the current count of wake-ups began */
    uint64_t lowat_bytes;
    bool full;                /* the last send did not accept all bytes: the send buffer was full for a slice */
    uint64_t idle_since_ns;   /* 0: the last call moved something */
    struct rttcp_pacer pacer; /* sender */
    uint64_t write_bytes;     /* sender: size of one write; less than length_bytes at a low pace */
    /* results */
    struct rttcp_verify *verify; /* NULL: off */
    struct rttcp_rr *rr;         /* NULL: bytes flow one way, without request and response */
    _Atomic uint64_t bytes;      /* bytes moved so far; the meter reads it at any time */
    uint64_t calls;
    uint64_t first_byte_ns, last_byte_ns; /* from t0; sender: last_byte_ns is when the kernel had accepted all bytes */
    uint64_t window_clamp_resets;         /* receiver */
    _Atomic uint64_t opening_bytes;       /* sender; 0 until its opening is over */
    _Atomic uint64_t waiting_bytes;       /* bytes that the program has to send now and the kernel has not accepted
                                           * yet */
    char local[RTTCP_NAME_SIZE], remote[RTTCP_NAME_SIZE]; /* addresses of the two ends when the flow started */
};

/* Size of the buffer that a stream's sender or receiver maps. The proposing end chooses it, so the serving end checks
 * it before it maps any buffer. */
uint64_t rttcp_transfer_memory(const struct rttcp_params *params, uint64_t stream, bool sending);

/* Maps and prefaults the buffer, aligned as the parameters say, and fills it with a pseudo-random pattern. With
 * zerocopy the sender's buffer is a file in memory. Returns 0 or -1. */
int rttcp_transfer_prepare(struct rttcp_transfer *transfer, bool sending, struct nc_error *error);
void rttcp_transfer_release(struct rttcp_transfer *transfer);

/* The sender's opening, when a window is set (opening.c). A new connection may offer more than W, the window that was
 * set, and the kernel never takes an offer back (window.c). So the sender sends the first flight and awaits its
 * acknowledgement. This loses no time, since the congestion window allows no more. While the offer is still larger than
 * W, it sends W bytes and awaits their acknowledgement, which is one window per round trip, as intended. It returns
 * with one window in flight.
 * ENDED_N: continue with rttcp_transfer_send_once. */
enum rttcp_ended rttcp_transfer_open(struct rttcp_transfer *transfer, struct nc_error *error);

/* One call of send with at most `most` bytes, or one call of recv. It blocks for a slice at most.
 * ENDED_N: continue, whether or not anything moved. Sending ends when the quota or the duration is used up, without
 * shutting the connection down. Receiving ends with the stream (ENDED_BYTES). */
enum rttcp_ended rttcp_transfer_send_once(struct rttcp_transfer *transfer, uint64_t most, struct nc_error *error);
enum rttcp_ended rttcp_transfer_receive_once(struct rttcp_transfer *transfer, struct nc_error *error);

/* Returns the bytes that the peer's TCP has not acknowledged. */
uint64_t rttcp_unacknowledged(int fd);

/* Returns how many bytes, at most `most`, the next write may have; 0 at the end, with the reason in *ended. */
size_t rttcp_transfer_next_write(const struct rttcp_transfer *transfer, uint64_t most, enum rttcp_ended *ended);
/* Returns whether a call that failed with errno may be repeated. *idle_since_ns is when the calls began to move
 * nothing; the caller sets it to 0 after a call that moved something. */
bool rttcp_transfer_may_retry(const struct rttcp_transfer *transfer, uint64_t *idle_since_ns, const char *what,
                              struct nc_error *error);
uint64_t rttcp_transfer_moved(const struct rttcp_transfer *transfer);

/* Updates the number of bytes that the program has to send and the kernel has not accepted: the rest of the transfer,
 * of one write if a duration ends the transfer, or of the current message. It is 0 while the program awaits the peer or
 * its own pace, and at the end. Only the stream's thread calls this. */
static inline void rttcp_transfer_note_waiting(struct rttcp_transfer *transfer, uint64_t bytes)
{
    atomic_store_explicit(&transfer->waiting_bytes, bytes, memory_order_relaxed);
}
static inline uint64_t rttcp_transfer_waiting(const struct rttcp_transfer *transfer)
{
    return atomic_load_explicit(&transfer->waiting_bytes, memory_order_relaxed);
}

#endif
