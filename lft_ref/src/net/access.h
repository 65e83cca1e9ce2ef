/* Decides which destinations the far side connects to for the peer's clients, and which source addresses it uses. The
 * peer has the key, but users of its proxies or its LAN choose the destinations, and this machine can reach more than
 * they should: its own services, which trust local peers, and a cloud's metadata services, which hand out credentials.
 *
 * The decision works as in a routing table: the longest prefix that contains the address counts; among equal prefixes
 * --deny goes before --allow, and --allow before the default. By default loopback, unspecified, link-local, multicast
 * and reserved addresses and the addresses of metadata services are denied. IPv4 addresses inside IPv6 ones (mapped, or
 * after the well-known prefix of NAT64) are treated as IPv4 addresses.
 * Rejected: the first match in a list; with options in several lists, users cannot see the order. */
#ifndef LFT_ACCESS_H
#define LFT_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nc_error.h"
#include "nc_option.h"

enum { ACCESS_DEFAULTS = 20, ACCESS_MAX = ACCESS_DEFAULTS + 2 * NC_STRINGS_MAX };

struct access_network {
    uint8_t at[16]; /* IPv4 as ::ffff:0:0/96 */
    uint8_t bits;
    bool allowed;
};
struct access {
    unsigned n;
    struct access_network network[ACCESS_MAX];
};

/* Parses "192.0.2.0/24", "2001:db8::/32" or an address alone. Returns 0, or -1 with the reason, which names `option`.
 */
int access_network_parse(const char *option, const char *text, struct access_network *network, struct nc_error *error);
/* Fills in the default networks (without loopback networks if `loopback` is true), then the user's. Returns 0, or -1
 * with the reason. */
int access_init(struct access *access, bool loopback, const struct nc_strings *allow, const struct nc_strings *deny,
                struct nc_error *error);
bool access_allows(const struct access *access, const struct sockaddr_storage *destination);
/* Whether the far side may use this client address as its source. The `defaults` (made without the user's networks)
 * must allow the address, and it must not be one of this machine. */
bool access_is_client(const struct access *defaults, const struct sockaddr_storage *source);

#endif
