/* Link-local IPv6 addresses, which are complete only together with an interface, their zone (RFC 4007). */
#ifndef NC_ZONE_H
#define NC_ZONE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#define NC_ZONE_ADVICE "a link-local address wants its interface behind it, as in fe80::1%%eth0"

/* True for a link-local address without a zone; a socket would only report "invalid argument". */
static inline bool nc_wants_zone(const struct sockaddr *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && !v6->sin6_scope_id;
}

#endif
