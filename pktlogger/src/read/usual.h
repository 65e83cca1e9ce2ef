/* Fast path for packets of the usual form: IPv4 without options or IPv6 without extension headers, over Ethernet or
 * without a link header, and TCP without a SYN, with no option or with the time stamp option, perhaps followed by SACK
 * blocks. Nearly all packets of a transfer have this form. Reading them takes a fraction of the instructions of
 * nc_packet.h, and one comparison finds their connection. The general decoder handles every other packet, and also
 * packets with contradictory lengths. After the first octets, nothing is read before the bounds of the headers are
 * checked. Everything is inline, so that the values of a packet stay in registers.
 * Invariant: the results equal those of the general decoder and of pl_flows_find(). */
#ifndef PL_USUAL_H
#define PL_USUAL_H

#include <string.h>

#include "flows.h"
#include "nc_bytes.h"
#include "reader.h"
#include "row.h"

enum { PL_USUAL_SLOTS = 512, PL_USUAL_ENDS = 36 };

/* Addresses and ports as they are in a packet, and the connection and direction of such packets. */
struct pl_usual_slot {
    uint8_t ends[PL_USUAL_ENDS];
    uint8_t ip_version; /* 0: an empty slot */
    uint8_t dir;
    uint8_t shift; /* scale of the window */
    uint32_t flow;
    uint32_t mss_option;   /* pl_flow_mss_option() */
    uint8_t fixed_options; /* pl_flow_fixed_options() */
    bool scale_known;      /* pl_flow_scale_known() */
};

struct pl_usual {
    struct pl_usual_slot slots[PL_USUAL_SLOTS]; /* when two connections have the same slot, the later one keeps it */
};

/* Stores the connection of a packet, for both directions. Needed for a new connection, and after a packet that may have
 * changed what is known of one. `number`: number of the flow. */
void pl_usual_note(struct pl_usual *usual, const struct nc_packet *packet, const struct pl_flow *flow, uint32_t number,
                   unsigned dir);

enum { PL_ETHERNET_HEADER = 14, PL_TYPE_IPV4 = 0x0800, PL_TYPE_IPV6 = 0x86dd, PL_PROTOCOL_TCP = 6 };
enum {
    PL_IPV4_HEADER = 20,
    PL_IPV6_HEADER = 40,
    PL_TCP_HEADER = 20,
    PL_IPV4_ENDS = 12,
    PL_IPV4_ENDS_AT = 12,
    PL_IPV6_ENDS_AT = 8
};
enum { PL_TIMESTAMPS = 12, PL_SACK_HEAD = 4, PL_SACK_BLOCK = 8, PL_SACK_MOST = 3 };
#define PL_NOP_NOP_TIMESTAMPS 0x0101080au
#define PL_NOP_NOP_SACK 0x010105u

static inline uint64_t pl_usual_get64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline size_t pl_usual_slot_of(const uint8_t *ends, uint8_t ip_version)
{
    uint64_t hash = pl_usual_get64(ends);
    size_t n = ip_version == 4 ? PL_IPV4_ENDS : PL_USUAL_ENDS;
    uint32_t last;
    for (size_t at = 8; at + 8 <= n; at += 8)
        hash = hash * UINT64_C(0x9e3779b97f4a7c15) ^ pl_usual_get64(ends + at);
    memcpy(&last, ends + n - sizeof last, sizeof last);
    hash = (hash ^ last * UINT64_C(0xbf58476d1ce4e5b9)) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 55; /* PL_USUAL_SLOTS */
}

_Static_assert(PL_USUAL_SLOTS == 1 << (64 - 55), "a hash is the number of a slot");

/* Pointers to the headers of a packet; and two lengths counted from the TCP header on: that of the packet, and how much
 * of it was captured. */
struct pl_usual_cursor {
    const uint8_t *ends, *tcp;
    size_t segment, captured;
};

static inline bool pl_usual_ipv4(struct pl_usual_cursor *cursor, const uint8_t *ip, size_t captured, size_t wire,
                                 struct pl_row *row)
{
    if (captured < PL_IPV4_HEADER + PL_TCP_HEADER || ip[0] != 0x45 || ip[9] != PL_PROTOCOL_TCP)
        return false;
    size_t total = nc_get16(ip + 2);
    if (total < PL_IPV4_HEADER + PL_TCP_HEADER || total > wire || nc_get16(ip + 6) & 0x3fff)
        return false;
    row->ecn = ip[1] & 3;
    row->ip_id = nc_get16(ip + 4);
    *cursor = (struct pl_usual_cursor){ip + PL_IPV4_ENDS_AT, ip + PL_IPV4_HEADER, total - PL_IPV4_HEADER,
                                       captured - PL_IPV4_HEADER};
    return true;
}

static inline bool pl_usual_ipv6(struct pl_usual_cursor *cursor, const uint8_t *ip, size_t captured, size_t wire,
                                 struct pl_row *row)
{
    if (captured < PL_IPV6_HEADER + PL_TCP_HEADER || ip[0] >> 4 != 6 || ip[6] != PL_PROTOCOL_TCP)
        return false;
    size_t payload = nc_get16(ip + 4);
    if (payload < PL_TCP_HEADER || PL_IPV6_HEADER + payload > wire)
        return false;
    row->ecn = (ip[1] >> 4) & 3;
    row->ip_id = 0;
    *cursor = (struct pl_usual_cursor){ip + PL_IPV6_ENDS_AT, ip + PL_IPV6_HEADER, payload, captured - PL_IPV6_HEADER};
    return true;
}

static inline bool pl_usual_options(const uint8_t *at, size_t len, struct pl_row *row)
{
    row->tsval = row->tsecr = 0;
    row->sack_n = 0;
    for (unsigned i = 0; i < NC_SACK_MAX; i++) /* a memset is a loop here (CMakeLists.txt) */
        row->sack_left[i] = row->sack_right[i] = 0;
    if (len == 0)
        return true;
    if (len < PL_TIMESTAMPS || nc_get32(at) != PL_NOP_NOP_TIMESTAMPS)
        return false;
    row->tsval = nc_get32(at + 4);
    row->tsecr = nc_get32(at + 8);
    if (len == PL_TIMESTAMPS)
        return true;
    at += PL_TIMESTAMPS;
    len -= PL_TIMESTAMPS;
    if (len < PL_SACK_HEAD + PL_SACK_BLOCK || (len - PL_SACK_HEAD) % PL_SACK_BLOCK ||
        len > PL_SACK_HEAD + PL_SACK_MOST * PL_SACK_BLOCK ||
        nc_get32(at) != (PL_NOP_NOP_SACK << 8 | (uint32_t)(len - 2)))
        return false;
    for (at += PL_SACK_HEAD, len -= PL_SACK_HEAD; len; at += PL_SACK_BLOCK, len -= PL_SACK_BLOCK, row->sack_n++) {
        row->sack_left[row->sack_n] = nc_get32(at);
        row->sack_right[row->sack_n] = nc_get32(at + 4);
    }
    return true;
}

static inline bool pl_usual_tcp(const struct pl_usual_cursor *cursor, struct pl_row *row)
{
    const uint8_t *at = cursor->tcp;
    uint32_t word = nc_get32(at + 12); /* length of the header, flags, window */
    size_t header = (size_t)(word >> 28) * 4;
    if (header < PL_TCP_HEADER || header > cursor->segment || header > cursor->captured ||
        word & (uint32_t)NC_TCP_SYN << 16)
        return false;
    row->seq = nc_get32(at + 4);
    row->ack = nc_get32(at + 8);
    row->flags = word >> 16 & 0x1ff;
    row->window = word & 0xffff;
    row->options = (uint8_t)(header - PL_TCP_HEADER);
    row->len = (uint32_t)(cursor->segment - header);
    row->accecn = 0;
    row->ee0b = row->eceb = row->ee1b = 0;
    return pl_usual_options(at + PL_TCP_HEADER, header - PL_TCP_HEADER, row);
}

/* Compares word by word, because memcmp would be a function call. */
static inline bool pl_usual_same(const uint8_t *a, const uint8_t *b, uint8_t ip_version)
{
    size_t n = ip_version == 4 ? PL_IPV4_ENDS : PL_USUAL_ENDS;
    uint64_t differ = pl_get32(a + n - 4, false) ^ pl_get32(b + n - 4, false);
    for (size_t at = 0; at + 8 <= n; at += 8)
        differ |= pl_usual_get64(a + at) ^ pl_usual_get64(b + at);
    return differ == 0;
}

static inline const struct pl_usual_slot *pl_usual_find(const struct pl_usual *usual, const uint8_t *ends,
                                                        uint8_t ip_version)
{
    const struct pl_usual_slot *slot = &usual->slots[pl_usual_slot_of(ends, ip_version)];
    return slot->ip_version == ip_version && pl_usual_same(slot->ends, ends, ip_version) ? slot : NULL;
}

/* Reads a packet of the usual form whose connection was stored. Sets those members of the row that follow from the
 * headers: flags, len, tsval, tsecr, ip_id, ecn, options, sack_n; AccECN's members become 0, because such a packet has
 * none. Sequence numbers, SACK blocks and window are as in the packet; the caller converts them and sets the other
 * members. Returns NULL if the general decoder must read the packet; the row may have changed then. */
static inline __attribute__((always_inline)) const struct pl_usual_slot *pl_usual_read(const struct pl_usual *usual,
                                                                                       const struct pl_frame *frame,
                                                                                       struct pl_row *row)
{
    struct pl_usual_cursor cursor;
    const uint8_t *ip = frame->data;
    size_t captured = frame->captured, wire = frame->wire;
    uint16_t type = PL_TYPE_IPV4;
    if (frame->link == NC_LINK_ETHERNET) {
        if (captured < PL_ETHERNET_HEADER)
            return NULL;
        type = nc_get16(ip + 12);
        ip += PL_ETHERNET_HEADER;
        captured -= PL_ETHERNET_HEADER;
        wire -= PL_ETHERNET_HEADER;
    } else if (frame->link != NC_LINK_RAW_IP)
        return NULL;
    else if (captured && ip[0] >> 4 == 6)
        type = PL_TYPE_IPV6;
    if (type == PL_TYPE_IPV4 && pl_usual_ipv4(&cursor, ip, captured, wire, row))
        return pl_usual_tcp(&cursor, row) ? pl_usual_find(usual, cursor.ends, 4) : NULL;
    if (type == PL_TYPE_IPV6 && pl_usual_ipv6(&cursor, ip, captured, wire, row))
        return pl_usual_tcp(&cursor, row) ? pl_usual_find(usual, cursor.ends, 6) : NULL;
    return NULL;
}

#endif
