/* Names to addresses, by c-ares: /etc/hosts and DNS, in the order of /etc/nsswitch.conf. Each look-up has a channel of
 * its own, so an abandoned look-up can be cancelled at once, and a changed resolv.conf applies to the next one. A
 * look-up that takes longer than RESOLVER_MOST_NS fails. The number of look-ups has no limit of its own: each belongs
 * to a connection that is not yet established, and shares.h bounds those connections and shares them among sources.
 * Rejected: getaddrinfo in threads. It cannot be cancelled, so 64 slow names of one client blocked all other look-ups,
 * even after that client had gone. */
#ifndef LFT_RESOLVE_H
#define LFT_RESOLVE_H

#include <stdint.h>
#include <sys/socket.h>

#include "loop.h"
#include "nc_clock.h"

#define RESOLVER_MOST_NS (10 * NC_NS_PER_S)

struct resolver;
/* Called when a look-up has ended, by the loop or by resolver_ask. `address` NULL: the name is unknown. */
typedef void resolver_answered(void *user, const struct sockaddr_storage *address);

/* `servers`: name servers, "192.0.2.1:53,192.0.2.2"; NULL: those of the machine. Returns NULL when memory is short. */
struct resolver *resolver_create(struct loop *loop, resolver_answered *answered, const char *servers);
/* Cancels all look-ups without calling their callbacks. */
void resolver_destroy(struct resolver *resolver);
/* Looks a name up for `user`. Returns 0, or -1 when memory is short. */
int resolver_ask(struct resolver *resolver, const char *name, uint16_t port, void *user);
/* `user` waits no longer. */
void resolver_forget(struct resolver *resolver, const void *user);
/* Resends queries and fails look-ups that have timed out. Call it about once a second. */
void resolver_tick(struct resolver *resolver, uint64_t now_ns);

#endif
