/* Names to addresses. getaddrinfo blocks, so every look-up has a thread of its own. Its answer comes back through a
 * pipe, as one pointer, to the loop. An answer that nobody waits for any more is thrown away. */
#ifndef LFT_RESOLVE_H
#define LFT_RESOLVE_H

#include <stdint.h>
#include <sys/socket.h>

#include "loop.h"

struct resolver;
/* Called by the loop when a look-up has ended. `address` NULL: the name is unknown. */
typedef void resolver_answered(void *user, const struct sockaddr_storage *address);

struct resolver *resolver_create(struct loop *loop, resolver_answered *answered); /* NULL: no memory or descriptor */
/* Waits for the look-ups that are under way; nobody is told of their answers. */
void resolver_destroy(struct resolver *resolver);
/* Looks a name up for `user`. Returns 0, or -1 when too many look-ups are under way or memory is short. */
int resolver_ask(struct resolver *resolver, const char *name, uint16_t port, void *user);
/* `user` waits no longer. */
void resolver_forget(struct resolver *resolver, const void *user);

#endif
