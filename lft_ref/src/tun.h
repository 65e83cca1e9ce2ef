/* The router model's TUN interface, and the packets the gateway makes itself: RST and ICMP errors in answer to a SYN. */
#ifndef LFT_TUN_H
#define LFT_TUN_H

#include <stddef.h>
#include <stdint.h>

#include "nc_packet.h"
#include "wire.h"

enum { TUN_PACKET_MAX = 1280 };

/* Opens and brings up a TUN interface that goes with the process. A descriptor, or -1 with a reason. */
int tun_open(const char *name, char *why, size_t why_size);

/* The packet that shows a client what became of its SYN, or 0: nothing is sent (time-out, trouble of the tunnel). */
size_t tun_refusal(const uint8_t *syn, size_t n, const struct nc_packet *decoded, const struct lft_result *result, uint8_t out[TUN_PACKET_MAX]);

#endif
