/* Implements usual.h. The bounds of the headers are checked before anything behind the first octets is read. */
#include "usual.h"

#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "nc_bytes.h"

enum { IPV4_HEADER = 20, IPV6_HEADER = 40, TCP_HEADER = 20, IPV4_ENDS = 12, IPV4_ENDS_AT = 12, IPV6_ENDS_AT = 8 };
enum { TIMESTAMPS = 12, SACK_HEAD = 4, SACK_BLOCK = 8, SACK_MOST = 3 };
#define NOP_NOP_TIMESTAMPS 0x0101080au
#define NOP_NOP_SACK 0x010105u

static inline size_t slot_of(const uint8_t *ends, uint8_t ip_version)
{
    uint64_t hash = 0, word;
    uint32_t last;
    size_t at = 0, n = ip_version == 4 ? IPV4_ENDS : PL_USUAL_ENDS;
    for (; at + 8 <= n; at += 8) {
        memcpy(&word, ends + at, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    }
    memcpy(&last, ends + at, sizeof last);
    hash = (hash ^ hash >> 32 ^ last) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 32 & (PL_USUAL_SLOTS - 1);
}

static void put(struct pl_usual *usual, const struct nc_packet *packet, bool back, uint32_t flow, unsigned dir)
{
    struct pl_usual_slot slot = {.ip_version = packet->ip_version, .dir = (uint8_t)dir, .flow = flow};
    size_t address = packet->ip_version == 4 ? 4 : 16;
    memcpy(slot.ends, back ? packet->dst : packet->src, address);
    memcpy(slot.ends + address, back ? packet->src : packet->dst, address);
    nc_put16(slot.ends + 2 * address, back ? packet->dst_port : packet->src_port);
    nc_put16(slot.ends + 2 * address + 2, back ? packet->src_port : packet->dst_port);
    usual->slots[slot_of(slot.ends, slot.ip_version)] = slot;
}

void pl_usual_note(struct pl_usual *usual, const struct nc_packet *packet, uint32_t flow, unsigned dir)
{
    put(usual, packet, true, flow, !dir);
    put(usual, packet, false, flow, dir);
}

/* The headers of a packet, and the octets from TCP on that it had and that were captured. */
struct cursor {
    const uint8_t *ip, *ends, *tcp;
    size_t segment, captured;
};

static inline bool read_ipv4(struct cursor *cursor, size_t captured, size_t wire, struct nc_packet *out)
{
    const uint8_t *ip = cursor->ip;
    if (captured < IPV4_HEADER + TCP_HEADER || ip[0] != 0x45 || ip[9] != IPPROTO_TCP)
        return false;
    size_t total = nc_get16(ip + 2);
    if (total < IPV4_HEADER + TCP_HEADER || total > wire || nc_get16(ip + 6) & 0x3fff)
        return false;
    out->ip_version = 4;
    out->ecn = ip[1] & 3;
    out->ip_id = nc_get16(ip + 4);
    cursor->ends = ip + IPV4_ENDS_AT;
    cursor->tcp = ip + IPV4_HEADER;
    cursor->segment = total - IPV4_HEADER;
    cursor->captured = captured - IPV4_HEADER;
    return true;
}

static inline bool read_ipv6(struct cursor *cursor, size_t captured, size_t wire, struct nc_packet *out)
{
    const uint8_t *ip = cursor->ip;
    if (captured < IPV6_HEADER + TCP_HEADER || ip[0] >> 4 != 6 || ip[6] != IPPROTO_TCP)
        return false;
    size_t payload = nc_get16(ip + 4);
    if (payload < TCP_HEADER || IPV6_HEADER + payload > wire)
        return false;
    out->ip_version = 6;
    out->ecn = (ip[1] >> 4) & 3;
    out->ip_id = 0;
    cursor->ends = ip + IPV6_ENDS_AT;
    cursor->tcp = ip + IPV6_HEADER;
    cursor->segment = payload;
    cursor->captured = captured - IPV6_HEADER;
    return true;
}

static inline bool read_ip(struct cursor *cursor, const struct pl_frame *frame, struct nc_packet *out)
{
    size_t captured = frame->captured, wire = frame->wire;
    cursor->ip = frame->data;
    uint16_t type = captured && cursor->ip[0] >> 4 == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP;
    if (frame->link == NC_LINK_ETHERNET) {
        if (captured < ETHER_HDR_LEN)
            return false;
        type = nc_get16(frame->data + 12);
        cursor->ip += ETHER_HDR_LEN;
        captured -= ETHER_HDR_LEN;
        wire -= ETHER_HDR_LEN;
    } else if (frame->link != NC_LINK_RAW_IP)
        return false;
    if (type == ETHERTYPE_IP)
        return read_ipv4(cursor, captured, wire, out);
    return type == ETHERTYPE_IPV6 && read_ipv6(cursor, captured, wire, out);
}

static inline bool read_options(const uint8_t *at, size_t len, struct nc_tcp *tcp)
{
    tcp->has_timestamps = len > 0;
    if (len == 0)
        return true;
    if (len < TIMESTAMPS || nc_get32(at) != NOP_NOP_TIMESTAMPS)
        return false;
    tcp->tsval = nc_get32(at + 4);
    tcp->tsecr = nc_get32(at + 8);
    at += TIMESTAMPS;
    len -= TIMESTAMPS;
    if (len == 0)
        return true;
    if (len < SACK_HEAD + SACK_BLOCK || (len - SACK_HEAD) % SACK_BLOCK || len > SACK_HEAD + SACK_MOST * SACK_BLOCK ||
        nc_get32(at) != (NOP_NOP_SACK << 8 | (uint32_t)(len - 2)))
        return false;
    for (at += SACK_HEAD, len -= SACK_HEAD; len; at += SACK_BLOCK, len -= SACK_BLOCK)
        tcp->sack[tcp->sack_n++] = (struct nc_sack){nc_get32(at), nc_get32(at + 4)};
    return true;
}

static inline bool read_tcp(const struct cursor *cursor, struct nc_packet *out)
{
    const uint8_t *at = cursor->tcp;
    struct nc_tcp *tcp = &out->tcp;
    size_t header = (size_t)(at[12] >> 4) * 4;
    uint16_t flags = nc_get16(at + 12) & 0x1ff;
    if (header < TCP_HEADER || header > cursor->segment || header > cursor->captured || flags & NC_TCP_SYN)
        return false;
    tcp->seq = nc_get32(at + 4);
    tcp->ack = nc_get32(at + 8);
    tcp->flags = flags;
    tcp->window = nc_get16(at + 14);
    tcp->options_len = (uint8_t)(header - TCP_HEADER);
    tcp->sack_n = 0;
    tcp->cut = tcp->has_accecn = false;
    tcp->accecn = 0;
    tcp->ee0b = tcp->eceb = tcp->ee1b = 0;
    out->payload_len = (uint32_t)(cursor->segment - header);
    return read_options(at + TCP_HEADER, header - TCP_HEADER, tcp);
}

bool pl_usual_read(const struct pl_usual *usual, const struct pl_frame *frame, struct nc_packet *out, uint32_t *flow,
                   unsigned *dir)
{
    struct cursor cursor;
    if (!read_ip(&cursor, frame, out) || !read_tcp(&cursor, out))
        return false;
    const struct pl_usual_slot *slot = &usual->slots[slot_of(cursor.ends, out->ip_version)];
    if (slot->ip_version != out->ip_version ||
        (out->ip_version == 4 ? memcmp(slot->ends, cursor.ends, IPV4_ENDS)
                              : memcmp(slot->ends, cursor.ends, PL_USUAL_ENDS)) != 0)
        return false;
    *flow = slot->flow;
    *dir = slot->dir;
    return true;
}
