/* The TCP side: one relay_connection joins one socket to one stream of the session, on either end of the tunnel.
 *
 *   near  the client's socket: accepted by a listener (relay_proxy.c, relay_router.c), or still a SYN held back (relay_router.c)
 *   far   the socket this gateway connects to the server, for a stream the peer opened (relay_far.c)
 *
 * Theory of operation: sockets are edge-triggered; `readable` and `writable` remember the edges. A pump moves at most TURN octets each
 * way, then the connection waits on a work list, so that one bulk flow never holds the loop. Octets go from the socket straight into
 * the stream's send queue and from frame buffers straight into the socket: the relay owns no buffer of its own.
 * Sockets are set to be reset by close() until they end in order: the kernel closes them if this process is killed, and a FIN then would tell
 * their other ends that they had everything.
 * Invariant: a connection with a stream has lft_stream_user(stream) == connection; both end in connection_end. */
#ifndef LFT_RELAY_H
#define LFT_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "loop.h"
#include "session.h"

struct relay;
struct relay_resolver;

enum relay_phase {
    RELAY_GREETING,   /* near: a proxy's request is being read */
    RELAY_OPENING,    /* near: the peer was asked to connect */
    RELAY_RESOLVING,  /* far: looking up a name */
    RELAY_CONNECTING, /* far: connect under way */
    RELAY_OPEN,
    RELAY_PHASES
};

struct relay_connection {
    struct relay_connection *next, *previous; /* of relay's list */
    struct relay_connection *next_work; /* of `work`, `held` or `waiting` */
    struct loop_source source;
    struct relay *relay;
    struct lft_stream *stream; /* NULL while greeting */
    /* What a listener does when the peer has answered the OPEN; NULL: nothing. A result other than NULL is a refusal. */
    void (*answered)(struct relay_connection *connection, const struct lft_result *refusal);
    void (*gone)(struct relay_connection *connection); /* before it is freed; NULL: nothing */
    void *front;               /* the listener's own, freed with the connection */
    enum relay_phase phase;
    bool readable, writable, hangup, broken, queued, in_done, end_seen, out_done, near, ended;
    uint64_t active_ns, deadline_ns; /* last octets moved; of the phase before RELAY_OPEN */
};

struct relay_settings {
    uint64_t sessions_max, half_open_max, half_open_ns, idle_ns, notsent_lowat_bytes, host_rate_bps;
    uint32_t mark; /* of the gateway's own sockets */
    bool transparent; /* keep source addresses on the far side when asked to */
    bool proxy_bypass; /* what comes from proxies is connected from here while bypassed */
};

struct relay_counters {
    uint64_t near_accepted, near_refused, near_direct, far_connects, far_failed, near_limited, idle_closed, half_open_expired, resets_in, resets_out, bytes_in, bytes_out;
};

struct relay *relay_create(const struct relay_settings *settings, struct loop *loop, struct lft_session *session); /* NULL: no memory */
void relay_destroy(struct relay *relay);

/* Events of the session, then the work lists. Returns whether work is left for the next turn. */
bool relay_turn(struct relay *relay, uint64_t now_ns);
/* Time limits; call about once a second. */
void relay_tick(struct relay *relay, uint64_t now_ns);
uint64_t relay_next_ns(const struct relay *relay); /* host rate: when it allows more */
/* Resets all connections, with this result to the peer. */
void relay_end_all(struct relay *relay, unsigned result_code);
/* No new streams from either side. */
void relay_drain(struct relay *relay);
size_t relay_connections(const struct relay *relay);
size_t relay_half_open(const struct relay *relay);
const struct relay_counters *relay_counters(const struct relay *relay);
void relay_set_host_rate(struct relay *relay, uint64_t rate_bps);
void relay_set_bypassed(struct relay *relay, bool bypassed); /* true at the start */

/* --- for listeners and far.c ------------------------------------------------------------------------------------------------ */
/* A connection around a connected, non-blocking socket (or -1: none yet). NULL: limits or no memory; the socket is then still the caller's. */
struct relay_connection *connection_create(struct relay *relay, int fd, enum relay_phase phase, bool near);
/* Adds the socket to the loop (edge-triggered). 0 or -1. */
int connection_attach(struct relay_connection *connection, int fd);
/* Asks the peer to connect; RELAY_OPENING. -1: no streams left, the connection is still there. */
int connection_open(struct relay_connection *connection, const struct lft_open *where);
/* Data may flow. */
void connection_start(struct relay_connection *connection);
/* Ends both sides: the stream is reset with `result` when it has not ended, the socket gets a RST when `abort`. */
void connection_end(struct relay_connection *connection, const struct lft_result *result, bool abort);
struct lft_session *relay_session(struct relay *relay);
struct loop *relay_loop(struct relay *relay);
struct relay_resolver *relay_resolver(struct relay *relay);
const struct relay_settings *relay_settings(const struct relay *relay);
struct relay_counters *relay_count(struct relay *relay);
bool relay_draining(const struct relay *relay);

/* relay_far.c: a stream that the peer opened. */
void relay_far_open(struct relay *relay, struct lft_stream *stream);
void relay_far_writable(struct relay_connection *connection); /* connect() has ended, one way or the other */
void relay_far_begin(struct relay_connection *connection);    /* to the address that the stream's opener asked for */
void relay_far_connect(struct relay_connection *connection, const struct sockaddr_storage *to, const struct sockaddr_storage *from);
void relay_far_fail(struct relay_connection *connection, struct lft_result result);
struct lft_result relay_result_of(int error); /* errno of a socket */
void relay_prepare_socket(const struct relay *relay, int fd);

/* relay_resolve.c: names, on threads of their own, given back through the loop. */
struct relay_resolver *resolver_create(struct relay *relay);
void resolver_destroy(struct relay_resolver *resolver);
int resolver_ask(struct relay_resolver *resolver, struct relay_connection *connection, const char *name, uint16_t port);
void resolver_forget(struct relay_resolver *resolver, const struct relay_connection *connection);

#endif
