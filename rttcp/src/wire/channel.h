/* The octets of a control connection, plain or through TLS (tls.h). Nothing here blocks: a call that cannot proceed
 * returns CHANNEL_WAIT and sets `events` to the events for poll(2).
 * Rejected: a thread that copies between a TLS connection and a pair of plain sockets. It would need no interface, but
 * it would need a second thread, two buffers and a way to end both. */
#ifndef RTTCP_CHANNEL_H
#define RTTCP_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

/* What read and write return instead of a number of octets. Only CHANNEL_BAD fills the error. */
enum { CHANNEL_WAIT = 0, CHANNEL_CLOSED = -1, CHANNEL_BAD = -2 };

struct rttcp_channel;

struct rttcp_channel_kind {
    long (*read)(struct rttcp_channel *channel, uint8_t *to, size_t size, struct nc_error *error);
    long (*write)(struct rttcp_channel *channel, const uint8_t *from, size_t size, struct nc_error *error);
    void (*close)(struct rttcp_channel *channel); /* notifies the peer of the end; the caller closes the descriptor
                                                   * afterwards */
};

struct rttcp_channel {
    int fd; /* connected; -1: none */
    const struct rttcp_channel_kind *kind;
    void *tls;    /* tls.c: SSL; NULL: plain */
    short events; /* after CHANNEL_WAIT */
};

struct rttcp_channel rttcp_channel_plain(int fd);

/* Read or write at least one octet, unless they return one of the values above. After a write has returned
 * CHANNEL_WAIT, the next write must offer the same octets again. */
long rttcp_channel_read(struct rttcp_channel *channel, uint8_t *to, size_t size, struct nc_error *error);
long rttcp_channel_write(struct rttcp_channel *channel, const uint8_t *from, size_t size, struct nc_error *error);

/* Waits after CHANNEL_WAIT. Returns true when the channel can proceed, false at the deadline or after a signal. */
bool rttcp_channel_wait(const struct rttcp_channel *channel, uint64_t deadline_ns);

/* Closes the descriptor too. */
void rttcp_channel_close(struct rttcp_channel *channel);

#endif
