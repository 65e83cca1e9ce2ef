#include "origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

struct rttcp_origin rttcp_origin_of(const struct sockaddr_storage *address)
{
    struct rttcp_origin origin = {.ipv4 = address->ss_family != AF_INET6};
    if (origin.ipv4) {
        memcpy(origin.octets, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
        return origin;
    }
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    origin.ipv4 = IN6_IS_ADDR_V4MAPPED(in6);
    memcpy(origin.octets, origin.ipv4 ? &in6->s6_addr[12] : in6->s6_addr, origin.ipv4 ? 4 : 8);
    return origin;
}

bool rttcp_origin_same(const struct rttcp_origin *a, const struct rttcp_origin *b)
{
    return a->ipv4 == b->ipv4 && memcmp(a->octets, b->octets, sizeof a->octets) == 0;
}

void rttcp_origin_text(const struct rttcp_origin *origin, char out[RTTCP_ORIGIN_TEXT])
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr network = {0};
    memcpy(network.s6_addr, origin->octets, sizeof origin->octets);
    inet_ntop(origin->ipv4 ? AF_INET : AF_INET6, origin->ipv4 ? (const void *)origin->octets : &network, text,
              sizeof text);
    snprintf(out, RTTCP_ORIGIN_TEXT, "%s%s", text, origin->ipv4 ? "" : "/64");
}
