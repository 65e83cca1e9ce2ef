/* The loops that move the bytes: blocking sockets, one prefaulted page-aligned buffer, a short timed slice on every call so
 * that the end of a duration, a stop and a dead peer are noticed. Knows nothing of the control connection. */
#ifndef RTTCP_TRANSFER_H
#define RTTCP_TRANSFER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "message.h"

#define RTTCP_SLICE_NS UINT64_C(100000000)

enum rttcp_ended { ENDED_BYTES, ENDED_DURATION, ENDED_SIGNAL, ENDED_ERROR, ENDED_N };
extern const char *const rttcp_ended_names[ENDED_N];

struct rttcp_transfer {
    int fd;               /* connected, blocking */
    uint64_t t0_ns;       /* CLOCK_MONOTONIC: connect began, accept returned */
    uint8_t *buffer;
    size_t buffer_size;
    _Atomic uint64_t bytes; /* the meter reads it meanwhile */
    uint64_t calls;
    uint64_t first_byte_ns;       /* receiver: t0 to the first byte */
    uint64_t window_clamp_resets; /* receiver */
    uint64_t opening_bytes;       /* sender */
};

/* Maps and prefaults the buffer, filled with a fixed pseudo-random pattern. 0 or -1. */
int rttcp_transfer_prepare(struct rttcp_transfer *transfer, size_t size, struct rttcp_error *error);
void rttcp_transfer_release(struct rttcp_transfer *transfer);

/* The sender's opening, when a window is set. A connection begins with a larger offer than a small window, and an offer is
 * never taken back (window.c). So the first flight is sent and its acknowledgement awaited (no time is lost: that is what
 * the congestion window asks for), and then, while the offer is larger than the window, one window at a time, which is a
 * window a round trip, as it is meant to be. Leaves with one window on its way. ENDED_N: go on with rttcp_transfer_send. */
enum rttcp_ended rttcp_transfer_open(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                     struct rttcp_error *error);

/* Sends until the parameters' bytes or duration; does not shut the connection down. */
enum rttcp_ended rttcp_transfer_send(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                     struct rttcp_error *error);

/* Receives until the end of the stream (ENDED_BYTES). */
enum rttcp_ended rttcp_transfer_receive(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                        struct rttcp_error *error);

/* Bytes that the peer's TCP has not acknowledged. */
uint64_t rttcp_unacknowledged(int fd);

#endif
