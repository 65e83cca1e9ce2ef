/* The TCP connections of a capture: their end points, the options that the handshake agreed on, and the origins of both
 * sequence spaces. Direction 0 of a flow goes from the side that sent the SYN; without a SYN, from the sender of the
 * first packet seen. A SYN whose initial sequence number differs from the known one starts a new flow with the same
 * addresses and ports.
 *
 * Sequence numbers become 64 bits, relative to the SYN. Each is placed within 2^31 of the last number in its space, in
 * either direction, so that a stray number does not affect others. Where the SYN was not captured, the first number
 * seen becomes 2^32, so that earlier numbers stay positive. In all cases raw = (base + relative) mod 2^32. Sources: RFC
 * 9293 (MSS), RFC 7323 sections 2 (window scale) and 3 (timestamps), RFC 2018, RFC 3168, RFC 9768. */
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
    bool based; /* `base` and `last` are set */
    bool syn;   /* its SYN was captured, so `base` is the initial sequence number */
    bool cut;   /* the capture cut off options of that SYN, so an option that seems missing may have been there */
    bool has_mss, has_wscale, has_timestamps, sack_permitted; /* options of its SYN */
    uint8_t syn_ace;                                          /* NC_TCP_ACE of its SYN */
    bool echoes, counts; /* in packets other than SYNs: echoes: ECE or CWR was set; counts: AE, or an AccECN option, was
                          * there */
    uint16_t mss;
    uint8_t wscale;          /* at most 14 */
    uint32_t base;           /* raw sequence number of relative 0 */
    uint64_t last;           /* relative number near which the next number is placed */
    uint64_t packets, bytes; /* packets that this side sent, and their payload */
    uint32_t window_most;    /* largest window offered so far, where the scale is known */
    uint64_t cut_packets;    /* those of its packets whose options the capture cut off */
    int64_t first_ns;        /* time of its first packet; meaningful when packets > 0 */
};

struct pl_flow {
    uint8_t ip_version;
    struct pl_side side[2];
    int64_t first_ns, last_ns;
    int64_t third_ns; /* when side 0 answered the SYN+ACK; 0: not seen */
    bool asked_once;  /* exactly one SYN came before the SYN+ACK */
    uint32_t older;   /* 1 + number of the previous flow with the same addresses and ports; 0: none */
};

struct pl_flows {
    struct pl_flow *at;
    uint32_t n;
    uint32_t room;
    uint32_t *slots; /* hash table with open addressing: 1 + number of the newest flow of each 5-tuple; 0: empty */
    uint32_t slot_n; /* a power of two, more than twice the number of 5-tuples */
    uint32_t used;
    uint32_t recent; /* the flow of the last packet, because the next packet is often of the same flow */
    uint64_t seed;   /* secret key of the hash, so that nobody can craft a capture whose flows collide */
};

/* Returns 0, or -1 without memory. */
int pl_flows_init(struct pl_flows *flows);
void pl_flows_free(struct pl_flows *flows);

/* Finds or creates the flow of a TCP packet, and determines the packet's direction. Returns NULL without memory. The
 * pointer is valid until the next call. */
struct pl_flow *pl_flows_find(struct pl_flows *flows, const struct nc_packet *packet, unsigned *dir);

/* The newest flow with the 5-tuple of `like`; UINT32_MAX if there is none. *flipped: its direction 0 is direction 1 of
 * `like`. */
uint32_t pl_flows_lookup(const struct pl_flows *flows, const struct pl_flow *like, bool *flipped);

/* The same for the previous flow with the addresses and ports of `flow`. */
uint32_t pl_flows_older(const struct pl_flows *flows, uint32_t flow, const struct pl_flow *like, bool *flipped);

/* The relative number of `raw` in the side's sequence space. With `move` it also becomes the last number of the
 * space. */
uint64_t pl_unwrap(struct pl_side *side, uint32_t raw, bool move);

/* Updates the flow with the information in a packet of direction `dir`. Call it before unwrapping the packet's
 * numbers. */
void pl_flow_learn(struct pl_flow *flow, unsigned dir, const struct nc_tcp *tcp);

/* False for packets that add nothing to what is known of the connection. Most packets are such. */
static inline bool pl_flow_teaches(const struct nc_tcp *tcp)
{
    return tcp->flags & NC_TCP_SYN || NC_TCP_ACE(tcp->flags) || tcp->has_accecn;
}

/* How the ends report ECN marks: not at all, by RFC 3168, or by RFC 9768. Both SYNs show it; without them, the flags
 * and options of other packets show it. */
enum pl_ecn_mode { PL_ECN_UNKNOWN, PL_ECN_NONE, PL_ECN_CLASSIC, PL_ECN_ACCURATE };
enum pl_ecn_mode pl_flow_ecn(const struct pl_flow *flow);

/* The side near which the capture was taken, by the handshake: the near side answers at once, the far side a round trip
 * later. -1: not known, for example in the middle of a path. */
int pl_flow_near(const struct pl_flow *flow);

/* True when both SYNs were captured and both offered window scaling. */
bool pl_flow_scaled(const struct pl_flow *flow);

/* True when the captured SYNs show whether windows are scaled, and by how much (RFC 7323, 2.2). */
bool pl_flow_scale_known(const struct pl_flow *flow);

/* True when both SYNs were captured and both had timestamps. */
bool pl_flow_timestamps(const struct pl_flow *flow);

/* The payload of a full wire packet in either direction: the smaller MSS option, minus 12 if timestamps are in use. 0
 * if no SYN has the option. */
uint32_t pl_flow_mss(const struct pl_flow *flow);

/* The smaller MSS option; 0 when no SYN has it. */
uint32_t pl_flow_mss_option(const struct pl_flow *flow);

/* The payload of each wire packet in a super-packet, except the last one. `options` is the number of bytes of TCP
 * options in the header. Each wire packet carries these options, and the MSS includes them (RFC 6691). Packets of one
 * flow differ here, because SACK blocks and AccECN's counters come and go. */
uint32_t pl_part_len(uint32_t mss_option, uint32_t options);

/* The MSS that the sender of direction `dir` uses at present: pl_flow_mss_option, or less. A sender limits its segments
 * to half of the largest window that its peer has offered (RFC 9293, 3.8.6.2.1: Fs = 1/2), because it would have to
 * wait each time until a longer segment fits into the window. Linux does so by tcp_bound_to_half_wnd: an MSS without
 * varying options is at most half of the largest window, or all of a window up to 536 octets. The first window that
 * counts is in the packet that answered the sender: in the SYN+ACK, whose window is not scaled, or in the third packet.
 * This matters if a window is smaller than two segments: with small buffers on paths with jumbo frames, and on
 * loopback. 0 if no SYN has the option. */
uint32_t pl_flow_bound_mss(const struct pl_flow *flow, unsigned dir);

/* Bytes of TCP options that every packet of a flow has: those of the time stamp option. */
uint32_t pl_flow_fixed_options(const struct pl_flow *flow);

enum { PL_MSS_FLOOR = 48, PL_DEFAULT_MSS = 536 };

/* The same, given the options that every packet has and the largest window so far (0: not known). */
static inline uint32_t pl_bound_mss(uint32_t mss, uint32_t fixed_options, uint32_t window_most)
{
    uint32_t bound = window_most > PL_DEFAULT_MSS ? window_most / 2 : window_most;
    if (!bound || mss <= bound + fixed_options)
        return mss;
    return (bound > PL_MSS_FLOOR ? bound : PL_MSS_FLOOR) + fixed_options;
}

#endif
