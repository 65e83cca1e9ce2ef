/* The relay's own state: relay.c has the life of connections, relay_pump.c moves their octets, relay_local.c is the tunnel of no length. */
#ifndef LFT_RELAY_INTERNAL_H
#define LFT_RELAY_INTERNAL_H

#include "relay.h"
#include "shaper.h"

#define RELAY_SHAPER_FRAME 65536 /* what one writev to a host may be long */

struct work_list { struct relay_connection *first, **end; };

struct relay {
    struct relay_settings settings;
    struct loop *loop;
    struct lft_session *session; /* of the tunnel */
    struct relay_local *local;   /* NULL: nothing is ever relayed without the tunnel */
    struct relay_resolver *resolver;
    struct relay_connection *first;
    struct work_list work;
    struct work_list held;    /* until the host rate allows more */
    struct work_list waiting; /* to connect, until the connection that the same ends had before is over */
    struct lft_shaper host;
    size_t n, half_open;
    bool draining, bypassed;
    struct relay_counters counters;
};

/* relay_pump.c */
void relay_enqueue(struct relay_connection *connection); /* it has something to do in this turn or the next */
void relay_dequeue(struct relay_connection *connection);
void relay_wait_for_end(struct relay_connection *connection);
void relay_end_wait(struct relay *relay); /* one has ended: those that wait try again */
void relay_work(struct relay *relay, uint64_t now_ns);   /* what is queued now; what is put behind waits for the next turn */

/* relay_local.c: two sessions back to back in this process, for what the proxies take while the tunnel is bypassed. */
struct relay_local *relay_local_create(size_t streams_max); /* NULL: no memory */
void relay_local_destroy(struct relay_local *local);
enum { RELAY_LOCAL_ENDS = 2 };
struct lft_session *relay_local_end(const struct relay_local *local, unsigned end); /* 0: opens streams, 1: is asked to connect */
bool relay_local_move(struct relay_local *local, uint64_t now_ns);                  /* whether anything was */
uint64_t relay_local_next_ns(const struct relay_local *local);                      /* when to move again if nothing happens before */

#endif
