/* The router model's TUN interface, and the packets that the gateway makes itself: RST and ICMP errors in answer to a
 * SYN. */
#ifndef LFT_TUN_H
#define LFT_TUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_packet.h"
#include "wire.h"

enum { TUN_PACKET_MAX = 1280 };

/* Makes a TUN interface that lives as long as the process, and brings it up. Returns a descriptor, or -1 with the
 * reason. */
int tun_open(const char *name, struct nc_error *error);

/* A socket that sends packets as they are, with a mark. -1: without CAP_NET_RAW there is none. */
int tun_raw_open(int family, uint32_t mark);
/* Sends a packet through that socket, routed by the routing table. Returns whether it was sent. */
bool tun_route(int raw, const struct nc_packet *decoded, const uint8_t *packet, size_t n);

/* Builds the packet that answers a client's failed SYN, and returns its length. 0: no answer, as after a time-out or
 * when the tunnel is down. */
size_t tun_refusal(const uint8_t *syn, size_t n, const struct nc_packet *decoded, const struct lft_result *result,
                   uint8_t out[TUN_PACKET_MAX]);

#endif
