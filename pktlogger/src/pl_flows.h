/* TCP connections of a capture: who, what the handshake agreed on, and where both sequence spaces are.
 * A flow's direction 0 goes from the side that sent the SYN; without one, from the sender of the first packet seen.
 * A SYN whose initial sequence number differs from the one known starts a new flow with the same addresses and ports.
 *
 * Sequence numbers become 64 bits, relative to the SYN: each is placed within 2^31 of the last one of its space, in
 * either direction, so a stray number spoils only itself. Where the SYN was not captured, the first number seen
 * becomes 2^32, so that what was sent before it stays positive. In all cases raw = (base + relative) mod 2^32.
 * Sources: RFC 9293 (MSS), RFC 7323 sections 2 (window scale) and 3 (timestamps), RFC 2018. */
#ifndef PL_FLOWS_H
#define PL_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_packet.h"

#define PL_NO_ACK UINT64_MAX
#define PL_UNSEEN_BASE (UINT64_C(1) << 32)

struct pl_side {
    uint8_t address[16];
    uint16_t port;
    bool based;          /* `base` and `last` are set */
    bool syn;            /* its SYN was captured: base is the initial sequence number */
    bool has_mss, has_wscale, has_timestamps, sack_permitted; /* in its SYN */
    uint16_t mss;
    uint8_t wscale;      /* at most 14 */
    uint32_t base;       /* raw sequence number of relative 0 */
    uint64_t last;       /* relative number that the next one is placed next to */
    uint64_t packets, bytes; /* sent by it; payload */
    int64_t first_ns;    /* its first packet; meaningful when packets > 0 */
};

struct pl_flow {
    uint8_t ip_version;
    struct pl_side side[2];
    int64_t first_ns, last_ns;
};

struct pl_flows {
    struct pl_flow *at;
    uint32_t n;
    uint32_t room;
    uint32_t *slots;     /* open addressing: flow + 1, 0 is empty; the newest flow of each 5-tuple */
    uint32_t slot_n;     /* power of two, more than twice the number of 5-tuples */
    uint32_t used;
    uint64_t seed;       /* keys the hash, so that no capture can be made to collide */
};

/* 0, or -1 without memory. */
int pl_flows_init(struct pl_flows *flows);
void pl_flows_free(struct pl_flows *flows);

/* The flow of a TCP packet, made when new, and the packet's direction. NULL without memory. Valid until the next call. */
struct pl_flow *pl_flows_find(struct pl_flows *flows, const struct nc_packet *packet, unsigned *dir);

/* The newest flow with the 5-tuple of `like`; *flipped: its direction 0 is direction 1 of `like`. UINT32_MAX: none. */
uint32_t pl_flows_lookup(const struct pl_flows *flows, const struct pl_flow *like, bool *flipped);

/* Relative number of `raw` in the side's sequence space; with `move` it becomes the space's last one. */
uint64_t pl_unwrap(struct pl_side *side, uint32_t raw, bool move);

/* Takes over what a packet in direction `dir` tells about the connection; before its numbers are unwrapped. */
void pl_flow_learn(struct pl_flow *flow, unsigned dir, const struct nc_tcp *tcp);

/* Both SYNs were captured and both offered window scaling. */
bool pl_flow_scaled(const struct pl_flow *flow);

/* Both SYNs were captured and both had timestamps. */
bool pl_flow_timestamps(const struct pl_flow *flow);

/* Payload bytes of a full wire packet, either way: the smaller MSS option, less 12 where timestamps are in use. 0: no SYN
 * told. (Linux also knows a bound of half the peer's window, but large windows lift it before much is sent, and small
 * ones were seen not to apply it: 4,300-byte segments into an opening window of 4,300 bytes.) */
uint32_t pl_flow_mss(const struct pl_flow *flow);

#endif
