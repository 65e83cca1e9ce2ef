/* The near side's router and host models: TCP connections that pass by are taken over, and both ends keep their
 * addresses.
 *
 * The server is connected before the client is accepted. A client's SYN is not answered at first. A packet mark routes
 * it into a TUN interface, where the gateway holds it and asks the peer to connect. When the server has answered, the
 * SYN is written back into the TUN. It then arrives on that interface, TPROXY hands it to the transparent listener, and
 * the kernel answers it. When the server refuses, the client gets the RST or the ICMP error that it would have got
 * without a gateway. When the server does not answer, the SYN is dropped and the client's own timer goes on. Later
 * packets find the transparent socket by nft's `socket` expression. Packets without such a socket are routed as normal:
 * other protocols, connections that are older than the gateway, and all connections while bypassed. If the process
 * dies, its TUN and the mark's route go with it, and SYNs fall through to normal routing.
 * Rejected: an ordinary listener, which accepts before anybody has asked the server; nfqueue, which takes every packet
 * of every new flow through the process and stops traffic when the process dies; a copy of the SYN from a raw socket,
 * because the original would have to be dropped and its retransmission awaited. */
#ifndef LFT_ROUTER_H
#define LFT_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "rules.h"

struct router_counters {
    uint64_t syns, syns_repeated, syns_replayed, refused_rst, refused_icmp, silent, syns_routed, bad_packets,
        unexpected_accepts;
};

struct relay;
struct router;
/* Makes the TUN, the listeners and the rules. NULL with the reason. */
struct router *router_open(struct relay *relay, const struct rules *rules, struct nc_error *error);
/* Removes the rules, too. */
void router_close(struct router *router);
/* Sets whether the gateway takes over new connections or leaves them to normal routing. */
void router_accelerate(struct router *router, bool on);
const struct router_counters *router_counters(const struct router *router);

#endif
