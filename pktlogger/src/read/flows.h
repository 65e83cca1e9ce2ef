/* The TCP connections of a capture: their ends, what the handshake agreed on, and where both sequence spaces are.
 * Direction 0 of a flow goes from the side that sent the SYN; without a SYN, from the sender of the first packet seen.
 * A SYN whose initial sequence number differs from the known one starts a new flow with the same addresses and ports.
 *
 * Sequence numbers become 64 bits, relative to the SYN. Each is placed within 2^31 of the last one of its space, in
 * either direction, so that a stray number does no harm to others. Where the SYN was not captured, the first number
 * seen becomes 2^32, so that what was sent before it stays positive. In all cases raw = (base + relative) mod 2^32.
 * Sources: RFC 9293 (MSS), RFC 7323 sections 2 (window scale) and 3 (timestamps), RFC 2018, RFC 3168, RFC 9768. */
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
    bool cut;   /* the capture cut options of that SYN off, so what is missing below may have been there */
    bool has_mss, has_wscale, has_timestamps, sack_permitted; /* options of its SYN */
    uint8_t syn_ace;                                          /* NC_TCP_ACE of its SYN */
    bool echoes, counts; /* packets other than SYNs had ECE or CWR; AE or an AccECN option */
    uint16_t mss;
    uint8_t wscale;          /* at most 14 */
    uint32_t base;           /* raw sequence number of relative 0 */
    uint64_t last;           /* relative number near which the next one is placed */
    uint64_t packets, bytes; /* that it sent; bytes of payload */
    uint32_t window_most; /* the largest window that it has offered so far, where it is known how windows are scaled */
    uint64_t cut_packets; /* of these, those whose options the capture has cut off */
    int64_t first_ns;     /* its first packet; meaningful when packets > 0 */
};

struct pl_flow {
    uint8_t ip_version;
    struct pl_side side[2];
    int64_t first_ns, last_ns;
    int64_t third_ns; /* when side 0 answered the SYN+ACK; 0: not seen */
    bool asked_once;  /* one SYN alone came before the SYN+ACK */
    uint32_t older;   /* the flow before it with the same addresses and ports, plus 1; 0: none */
};

struct pl_flows {
    struct pl_flow *at;
    uint32_t n;
    uint32_t room;
    uint32_t *slots; /* hash table with open addressing: the newest flow of each 5-tuple, plus 1; 0: empty */
    uint32_t slot_n; /* a power of two, more than twice the number of 5-tuples */
    uint32_t used;
    uint32_t recent; /* the flow of the last packet, because the next one is often of the same */
    uint64_t seed;   /* key of the hash, so that nobody can make a capture whose flows collide */
};

/* Returns 0, or -1 without memory. */
int pl_flows_init(struct pl_flows *flows);
void pl_flows_free(struct pl_flows *flows);

/* Finds the flow of a TCP packet, or makes it, and the packet's direction. Returns NULL without memory. The pointer is
 * valid until the next call. */
struct pl_flow *pl_flows_find(struct pl_flows *flows, const struct nc_packet *packet, unsigned *dir);

/* The newest flow with the 5-tuple of `like`; UINT32_MAX when there is none. *flipped is set when its direction 0 is
 * direction 1 of `like`. */
uint32_t pl_flows_lookup(const struct pl_flows *flows, const struct pl_flow *like, bool *flipped);

/* The same for the flow before `flow` with its addresses and ports. */
uint32_t pl_flows_older(const struct pl_flows *flows, uint32_t flow, const struct pl_flow *like, bool *flipped);

/* The relative number of `raw` in the side's sequence space. With `move` it becomes the last number of the space. */
uint64_t pl_unwrap(struct pl_side *side, uint32_t raw, bool move);

/* Learns from a packet in direction `dir` what it says about the connection. Call it before unwrapping the packet's
 * numbers. */
void pl_flow_learn(struct pl_flow *flow, unsigned dir, const struct nc_tcp *tcp);

/* False for a packet that says nothing of it, as most. */
static inline bool pl_flow_teaches(const struct nc_tcp *tcp)
{
    return tcp->flags & NC_TCP_SYN || NC_TCP_ACE(tcp->flags) || tcp->has_accecn;
}

/* How the ends tell each other of marks: not at all, by RFC 3168 or by RFC 9768. Both SYNs say it, or else what the
 * packets hold. */
enum pl_ecn_mode { PL_ECN_UNKNOWN, PL_ECN_NONE, PL_ECN_CLASSIC, PL_ECN_ACCURATE };
enum pl_ecn_mode pl_flow_ecn(const struct pl_flow *flow);

/* The side whose machine the capture was taken near, by its handshake: it answers at once, and the other side a round
 * trip later. -1: not known, as in the middle of a path. */
int pl_flow_near(const struct pl_flow *flow);

/* True when both SYNs were captured and both offered window scaling. */
bool pl_flow_scaled(const struct pl_flow *flow);

/* True when the SYNs that were captured say whether windows are scaled (RFC 7323, 2.2), and by how much. */
bool pl_flow_scale_known(const struct pl_flow *flow);

/* True when both SYNs were captured and both had timestamps. */
bool pl_flow_timestamps(const struct pl_flow *flow);

/* The payload of a full wire packet in either direction: the smaller MSS option, less 12 where timestamps are in use. 0
 * when no SYN has the option. */
uint32_t pl_flow_mss(const struct pl_flow *flow);

/* The smaller MSS option; 0 when no SYN has it. */
uint32_t pl_flow_mss_option(const struct pl_flow *flow);

/* The payload of each wire packet but the last that a super-packet stands for, with `options` bytes of TCP options in
 * its header: they are in each of them, and the MSS counts them (RFC 6691). A flow's packets differ: SACK blocks and
 * AccECN's counters come and go. */
uint32_t pl_part_len(uint32_t mss_option, uint32_t options);

/* The MSS option that the packets of direction `dir` keep to now: pl_flow_mss_option, or less. A sender waits for no more
 * than half of the largest window that its peer has offered (RFC 9293, 3.8.6.2.1: Fs = 1/2), for else a segment that is
 * longer than that would find the window too small each time. Linux cuts its segments so
 * (tcp_bound_to_half_wnd): an MSS without varying options is at most half of the largest window, or all of one up to 536
 * octets. Its first window is that of the packet that answered it: the SYN+ACK's, which is not scaled, or the third
 * packet's. It matters where a window is less than two segments: small buffers on paths with jumbo frames, and loopback.
 * 0 when no SYN has the option. */
uint32_t pl_flow_bound_mss(const struct pl_flow *flow, unsigned dir);

/* The bytes of options that all packets of a flow have: the time stamp option's. */
uint32_t pl_flow_fixed_options(const struct pl_flow *flow);

enum { PL_MSS_FLOOR = 48, PL_DEFAULT_MSS = 536 };

/* The same, with these options, for the largest window so far; 0: not known. */
static inline uint32_t pl_bound_mss(uint32_t mss, uint32_t fixed_options, uint32_t window_most)
{
    uint32_t bound = window_most > PL_DEFAULT_MSS ? window_most / 2 : window_most;
    if (!bound || mss <= bound + fixed_options)
        return mss;
    return (bound > PL_MSS_FLOOR ? bound : PL_MSS_FLOOR) + fixed_options;
}

#endif
