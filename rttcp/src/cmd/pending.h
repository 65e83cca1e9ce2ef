/* Pending connections: accepted control connections whose first message is not complete yet. A connection becomes a
 * session, with a process of its own, only when its whole first message has arrived. Until then it costs one
 * descriptor. When the list is full the oldest connection is closed, so that a thousand silent connections keep
 * nobody out. An origin may have half of the list; beyond that its own oldest connection is closed. */
#ifndef RTTCP_PENDING_H
#define RTTCP_PENDING_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "origin.h"
#include "places.h"

#define RTTCP_PENDING_MAX 2048
#define RTTCP_PENDING_SHARE (RTTCP_PENDING_MAX / 2) /* the most connections of one origin */

struct rttcp_pending {
    size_t n;
    /* the connections, oldest first; the caller uses one more entry for its listener */
    struct pollfd fds[RTTCP_PENDING_MAX + 1];
    uint64_t since_ns[RTTCP_PENDING_MAX + 1];
    struct rttcp_origin origins[RTTCP_PENDING_MAX + 1];
    size_t older[RTTCP_PENDING_MAX + 1]; /* how many older connections of the same origin there are */
};

/* Adds a connection. Closes another one when the list, or the origin's share of it, is full. */
void rttcp_pending_add(struct rttcp_pending *pending, int fd, const struct rttcp_origin *origin, uint64_t now_ns);

/* Closes the oldest connection of the origin that has the most connections; false when the list is empty. */
bool rttcp_pending_close_one(struct rttcp_pending *pending);

/* Call it after poll. Chooses the connection to serve next among those whose whole first message has arrived: the
 * oldest of the origin that has the fewest places. `full` true: it considers only connections for which no place is
 * free. False: only those for which a place is free. Returns the index of the chosen connection, or -1. */
int64_t rttcp_pending_next(const struct rttcp_pending *pending, const struct rttcp_places *places, bool full);

/* Removes connection i and returns its descriptor. */
int rttcp_pending_take(struct rttcp_pending *pending, size_t i);

/* Closes three kinds of connections: those added more than `patience_ns` ago (unless they wait for a place), those that
 * the peer has closed, and those whose first octets cannot begin a message. The clock may be below `patience_ns`: a
 * virtual machine's clock begins at 0. */
void rttcp_pending_sweep(struct rttcp_pending *pending, const struct rttcp_places *places, uint64_t now_ns,
                         uint64_t patience_ns);

void rttcp_pending_close(struct rttcp_pending *pending);

#endif
