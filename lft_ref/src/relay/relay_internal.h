/* The relay's state, for the files of this room. */
#ifndef LFT_RELAY_INTERNAL_H
#define LFT_RELAY_INTERNAL_H

#include "connection.h"
#include "nc_slots.h"
#include "shares.h"
#include "relay_types.h"
#include "resolve.h"
#include "shaper.h"

enum { RELAY_SHAPER_FRAME = 16384 }; /* the longest writev to a host while its rate is limited */

struct work_list {
    struct relay_connection *first, **end;
};

struct relay {
    struct relay_settings settings;
    struct loop *loop;
    struct lft_session *session; /* the tunnel's session */
    struct relay_local *local; /* the local tunnel (local.c); NULL: proxies do not work while the tunnel is bypassed */
    struct resolver *resolver;
    struct relay_connection *first;
    struct work_list work;
    struct work_list held; /* connections that wait until the host rate allows more */
    /* connections whose connect() waits until the previous connection between the same addresses and ports is over */
    struct work_list waiting;
    struct work_list last; /* connections in RELAY_LAST_WORDS; the next check is at last_ns */
    uint64_t last_ns;
    struct lft_shaper host;
    struct shares *half_open, *places, *sockets;
    struct nc_slots connections, requests; /* requests: memory for the requests of proxies' clients */
    size_t n;
    int spare;       /* spare descriptor for the next client when no other is left; -1: already used */
    uint64_t secret; /* makes the numbers of proxies' clients unpredictable (shares_number) */
    bool draining, bypassed;
    struct relay_counters counters;
};

/* The files of the relay, lowest layer first. A file calls only files that come before it in this list. */

/* work.c: work lists, and connection_enqueue. */
void relay_dequeue(struct relay_connection *connection); /* from the list that it is in */
void relay_hold(struct relay_connection *connection);
void relay_end_hold(struct relay *relay); /* the host rate allows more */
void relay_wait_for_end(struct relay_connection *connection);
void relay_end_wait(struct relay *relay); /* a connection has ended: those that wait try again */
void relay_look_later(struct relay_connection *connection, uint64_t at_ns);
void relay_end_look(struct relay *relay); /* last_ns has come */

/* local.c: two sessions of this process back to back, for connections that proxies accept while the tunnel is
 * bypassed. */
enum { RELAY_LOCAL_ENDS = 2 };
struct relay_local *relay_local_create(size_t streams_max); /* NULL: no memory */
void relay_local_destroy(struct relay_local *local);
/* End 0 opens streams, end 1 connects. */
struct lft_session *relay_local_end(const struct relay_local *local, unsigned end);
bool relay_local_move(struct relay_local *local, uint64_t now_ns); /* true: something was moved */
/* Returns when the local tunnel must move data again if no event comes before. */
uint64_t relay_local_next_ns(const struct relay_local *local);

/* connection.c: connection.h. */

/* last_words.c */
void last_words(struct relay_connection *connection, uint64_t now_ns); /* examines a connection in RELAY_LAST_WORDS */

/* descriptors.c: when no descriptor is left, a socket of the source with the most sockets is closed. */
bool relay_make_room(struct relay *relay, const struct share_key *newcomer, int error); /* whether to try again */
/* Accepts a client of a listener. -1: no client waits, or the listener is ignored for a while (loop_rest). `full`: the
 * caller must turn the client away by relay_turn_away, because no source has more sockets than the client's. */
int relay_accept(struct relay *relay, struct loop_source *listener, struct sockaddr_storage *client, bool *full);
void relay_turn_away(struct relay *relay, int fd);
void relay_keep_spare(struct relay *relay);
void relay_release_spare(struct relay *relay);
/* Returns whether a descriptor is available for another need of the new connection, such as a look-up. */
bool relay_descriptor_left(struct relay *relay, const struct share_key *newcomer);
struct share_key relay_source_of(const struct sockaddr_storage *client);

/* pump.c */
void pump(struct relay_connection *connection, uint64_t now_ns);
/* Moves data that the client sends before the peer has answered; they travel with the OPEN. */
void pump_early(struct relay_connection *connection, uint64_t now_ns);

/* far.c */
/* makes the connection for a stream that the peer has opened */
void relay_far_open(struct relay *relay, struct lft_stream *stream);
void relay_far_begin(struct relay_connection *connection);    /* connects to the address that the stream names */
void relay_far_writable(struct relay_connection *connection); /* call it when connect() has succeeded or failed */
resolver_answered relay_far_resolved;

/* relay.c: relay.h. proxy.c, router.c: the listeners. */

#endif
