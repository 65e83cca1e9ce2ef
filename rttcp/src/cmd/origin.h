/* The origin of a connection, among which resources are shared: an IPv4 address, or the first 64 bits of an IPv6
 * address, because one host usually has all addresses of such a network. */
#ifndef RTTCP_ORIGIN_H
#define RTTCP_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define RTTCP_ORIGIN_TEXT 64

struct rttcp_origin {
    bool ipv4;
    uint8_t octets[8]; /* IPv4: four octets and zeros */
};

/* IPv4-mapped addresses are IPv4. */
struct rttcp_origin rttcp_origin_of(const struct sockaddr_storage *address);
bool rttcp_origin_same(const struct rttcp_origin *a, const struct rttcp_origin *b);

/* "192.0.2.1" or "2001:db8::/64". */
void rttcp_origin_text(const struct rttcp_origin *origin, char out[RTTCP_ORIGIN_TEXT]);

#endif
