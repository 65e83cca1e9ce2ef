/* The TCP side of the gateway: it joins sockets of hosts to streams of the session (connection.h). The gateway's loop
 * sees this header only; the listeners (proxy.h, router.h) make the near side's connections, far.c the far side's.
 *
 * A turn moves a bounded number of octets for each connection, which then waits on a work list, so that one bulk flow
 * never blocks the loop. */
#ifndef LFT_RELAY_H
#define LFT_RELAY_H

#include "loop.h"
#include "relay_types.h"
#include "session.h"

struct relay;

/* NULL: no memory. */
struct relay *relay_create(const struct relay_settings *settings, struct loop *loop, struct lft_session *session);
void relay_destroy(struct relay *relay);

/* Handles the session's events, then the work lists. True: work is left for the next turn. */
bool relay_turn(struct relay *relay, uint64_t now_ns);
/* Applies the time limits. To be called about once a second. */
void relay_tick(struct relay *relay, uint64_t now_ns);
/* Returns the time of the relay's next turn, if no event comes before. */
uint64_t relay_next_ns(const struct relay *relay);
/* Resets all connections and sends `result` to the peer as the reason. */
void relay_end_all(struct relay *relay, unsigned result_code);
/* From now on neither side gets new streams. */
void relay_drain(struct relay *relay);
size_t relay_connections(const struct relay *relay);
size_t relay_half_open(const struct relay *relay);
const struct relay_counters *relay_counters(const struct relay *relay);
void relay_set_host_rate(struct relay *relay, uint64_t rate_bps);
void relay_set_bypassed(struct relay *relay, bool bypassed); /* true at the start */

#endif
