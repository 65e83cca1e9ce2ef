/* One relay_connection joins one TCP socket to one stream of the session, on either end of the tunnel.
 *
 *   near  the client's socket. A listener has accepted it (proxy.c, router.c), or there is no socket yet because the
 *         client's SYN is held back (router.c).
 *   far   the socket by which this gateway connects to the server, for a stream that the peer opened (far.c).
 *
 * Sockets are edge-triggered; `readable` and `writable` remember the edges. Until a connection has ended normally,
 * close() resets its socket: if this process is killed the kernel closes its sockets, and a FIN would tell the hosts
 * that their data are complete.
 * Invariant: a connection with a stream has lft_stream_user(stream) == connection; both end in connection_end. */
#ifndef LFT_CONNECTION_H
#define LFT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shares.h"
#include "loop.h"
#include "session.h"

struct relay;

enum relay_phase {
    RELAY_GREETING,   /* near: a proxy's request is being read */
    RELAY_OPENING,    /* near: the OPEN was sent */
    RELAY_RESOLVING,  /* far: a name is being looked up */
    RELAY_CONNECTING, /* far: connect() is under way */
    RELAY_OPEN,
    /* The other host has failed. This socket is reset once its own host has acknowledged all earlier data. */
    RELAY_LAST_WORDS,
    RELAY_PHASES
};

struct relay_connection {
    struct relay_connection *next, *previous; /* in the relay's list */
    struct relay_connection *next_work;       /* in one of the relay's work lists */
    struct loop_source source;
    struct relay *relay;
    struct share_key from;        /* the client's source, among which connections are shared */
    struct share_entry place;     /* entry among all connections (--sessions) */
    struct share_entry half_open; /* entry among the connections that are not established (--half-open) */
    struct share_entry socket;    /* entry among the connections that have a socket */
    struct lft_stream *stream;    /* NULL while greeting and in RELAY_LAST_WORDS */
    /* Called when the peer has answered the OPEN and, while greeting, when the client has sent something; may be NULL.
     * `refusal`: why the peer refused, NULL when it accepted. */
    void (*answered)(struct relay_connection *connection, const struct lft_result *refusal);
    void (*gone)(struct relay_connection *connection); /* called before the connection is freed; NULL: nothing */
    void *front;                                       /* the listener's own memory, freed with the connection */
    /* Octets of the client that the listener has read. They are in `front` and are sent before data from the socket. */
    const uint8_t *early;
    size_t early_bytes;
    enum relay_phase phase;
    bool readable, writable, hangup, broken, queued, in_done, end_seen, failed_seen, out_done, ended;
    /* The stream's queue was full. The socket is not read until LFT_EVENT_WRITABLE, when half of the queue is free.
     * Otherwise there would be many small reads, and each costs an acknowledgement to the client and the packet that
     * this triggers. */
    bool queue_full;
    /* The errno of a failed write, 0: none. After it nothing more is written, but everything that the host had sent is
     * still read. */
    int write_error;
    /* in RELAY_LAST_WORDS: unacknowledged octets at the last check; number of checks so far */
    int unacknowledged, looks;
    uint64_t active_ns, deadline_ns; /* when octets last moved; time limit of the phases before RELAY_OPEN */
};

/* Makes a connection around a connected, non-blocking socket, or around none yet (-1), for a client at `source`. When
 * too many connections are not established, the new one evicts another (shares.h). NULL: the limit of connections is
 * reached or memory is short; the caller then still owns the socket. */
struct relay_connection *connection_create(struct relay *relay, int fd, enum relay_phase phase,
                                           const struct share_key *source);
/* Adds the socket to the loop. Returns 0 or -1. */
int connection_attach(struct relay_connection *connection, int fd);
/* Asks the peer to connect and enters RELAY_OPENING. -1: there is no stream left; the connection still exists. */
int connection_open(struct relay_connection *connection, const struct lft_open *where);
/* Lets data flow. */
void connection_start(struct relay_connection *connection);
/* Releases the stream; the socket enters RELAY_LAST_WORDS. */
void connection_begin_last_words(struct relay_connection *connection);
/* Ends both sides. The stream is reset with `result` unless it has ended; the socket gets a RST if `abort`. */
void connection_end(struct relay_connection *connection, const struct lft_result *result, bool abort);
/* Ends a connection that is not established, because it took too long or to make room for another. */
void connection_expire(struct relay_connection *connection);
/* Ends one connection of the source with the most entries in `shares`: among the few oldest, the one that has been idle
 * longest. `at`: offset of the entry in a connection. */
void connection_end_idle(struct shares *shares, size_t at, const struct share_key *newcomer);
/* Queues the connection for work in this turn of the loop or the next. */
void connection_enqueue(struct relay_connection *connection);

#endif
