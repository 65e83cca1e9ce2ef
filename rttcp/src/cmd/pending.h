/* Pending connections: accepted control connections whose first message is not complete yet. A connection becomes a
 * session, with a process of its own, only when its whole first message has arrived. Until then it costs one
 * descriptor. When the list is full the oldest connection is closed, so that a thousand silent connections keep
 * nobody out. */
#ifndef RTTCP_PENDING_H
#define RTTCP_PENDING_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#define RTTCP_PENDING_MAX 2048
#define RTTCP_FIRST_MESSAGE_MAX 4096 /* octets of a first message; a connection with a longer one is closed */

struct rttcp_pending {
    size_t n;
    struct pollfd fds[RTTCP_PENDING_MAX + 1]; /* oldest first; one entry more for the caller's listener */
    uint64_t since_ns[RTTCP_PENDING_MAX + 1];
};

/* Adds a connection; closes the oldest when the list is full. */
void rttcp_pending_add(struct rttcp_pending *pending, int fd, uint64_t now_ns);

/* After poll: removes and returns the next connection whose whole first message has arrived; -1 when there is none. */
int rttcp_pending_take(struct rttcp_pending *pending);

/* Closes connections that were added before `silent_since_ns`, that the peer has closed, or whose first octets are no
 * message. */
void rttcp_pending_sweep(struct rttcp_pending *pending, uint64_t silent_since_ns);

void rttcp_pending_close(struct rttcp_pending *pending);

#endif
