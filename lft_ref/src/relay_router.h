/* Near side, router and host models: TCP connections that only pass by are taken over, both ends' addresses kept.
 *
 * Connect before accept. A client's SYN is not answered: a packet mark routes it into a TUN interface, where the gateway holds it and asks
 * the peer to connect. When the server has answered, the SYN is written back into the TUN; it now comes in by that interface, where TPROXY hands
 * it to the transparent listener, and the kernel answers it. When the server refused, the client gets the RST or the ICMP error it would have
 * got; when nothing came back the SYN is forgotten, and the client's own timer goes on. Packets behind the SYN find the transparent socket
 * by nft's `socket` expression; everything that has none is routed as ever: other protocols, connections from before, and all
 * connections while bypassed. If the process dies its TUN goes with it, the mark's route too, and SYNs fall through to normal routing.
 * Rejected: an ordinary listener accepts before anybody asked the server; nfqueue would take every packet of every new flow
 * through the process and stops traffic when it dies; a raw-socket copy of the SYN leaves the original to be dropped and its retransmission waited for. */
#ifndef LFT_RELAY_ROUTER_H
#define LFT_RELAY_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_options.h"
#include "relay.h"
#include "rules.h"

struct router_counters { uint64_t syns, syns_repeated, syns_replayed, refused_rst, refused_icmp, silent, bad_packets, unexpected_accepts; };

struct router;
struct router *router_open(struct relay *relay, const struct rules *rules, int *status, char *why, size_t why_size);
/* Takes the rules back. */
void router_close(struct router *router);
/* New connections: taken over, or routed as normal. */
void router_accelerate(struct router *router, bool on);
const struct router_counters *router_counters(const struct router *router);

#endif
