/* One function per layer: it checks that the header is complete, fills in its part of the result and calls the next
 * layer. */
#include "nc_packet.h"

#include <net/ethernet.h>
#include <netinet/in.h>

#include "nc_bytes.h"

enum { ETHERTYPE_8021AD = 0x88a8, ETHERTYPE_QINQ_OLD = 0x9100, IPV6_EXTENSIONS_MAX = 16 };
enum {
    TCPOPT_EOL = 0,
    TCPOPT_NOP = 1,
    TCPOPT_MSS = 2,
    TCPOPT_WSCALE = 3,
    TCPOPT_SACK_OK = 4,
    TCPOPT_SACK = 5,
    TCPOPT_TIMESTAMPS = 8,
    TCPOPT_ACCECN0 = 172,
    TCPOPT_ACCECN1 = 174
};

/* Invariant: at <= captured and at <= end; a header is read only after need() has accepted its length. */
struct walk {
    const uint8_t *frame;
    size_t at;       /* where the next header begins */
    size_t captured; /* bytes that may be read */
    size_t end;      /* length of the packet, according to the headers decoded so far */
};

static enum nc_decoded need(const struct walk *walk, size_t len)
{
    if (len > walk->end - walk->at)
        return NC_MALFORMED;
    return len > walk->captured - walk->at ? NC_TRUNCATED : NC_DECODED;
}

/* Skips the `len` bytes of a header that need() has accepted; the payload begins after them. */
static void pass(struct walk *walk, size_t len, struct nc_packet *out)
{
    walk->at += len;
    out->payload_offset = (uint32_t)walk->at;
    out->payload_len = (uint32_t)(walk->end - walk->at);
}

/* Ends the decoding where the packet's own length says, which also excludes padding. */
static enum nc_decoded limit(struct walk *walk, size_t len)
{
    if (len > walk->end - walk->at)
        return NC_MALFORMED;
    walk->end = walk->at + len;
    return NC_DECODED;
}

static void read_sack(const uint8_t *option, uint8_t len, struct nc_tcp *tcp)
{
    for (uint8_t at = 2; at + 8 <= len && tcp->sack_n < NC_SACK_MAX; at += 8)
        tcp->sack[tcp->sack_n++] = (struct nc_sack){nc_get32(option + at), nc_get32(option + at + 4)};
}

/* One option has the 24-bit counters in the order EE0B, ECEB, EE1B, the other one in the reverse order. The last
 * counters may be absent. */
static void read_accecn(const uint8_t *option, uint8_t len, struct nc_tcp *tcp)
{
    uint32_t *const counters[3] = {&tcp->ee0b, &tcp->eceb, &tcp->ee1b};
    tcp->has_accecn = true;
    for (unsigned i = 0; i < 3 && 2 + 3 * (i + 1) <= len; i++) {
        unsigned which = option[0] == TCPOPT_ACCECN0 ? i : 2 - i;
        const uint8_t *at = option + 2 + (size_t)3 * i;
        *counters[which] = (uint32_t)at[0] << 16 | nc_get16(at + 1);
        tcp->accecn |= (uint8_t)(NC_ACCECN_EE0B << which);
    }
}

static void read_tcp_option(const uint8_t *option, uint8_t len, struct nc_tcp *tcp)
{
    if (option[0] == TCPOPT_TIMESTAMPS && len == 10) {
        tcp->has_timestamps = true;
        tcp->tsval = nc_get32(option + 2);
        tcp->tsecr = nc_get32(option + 6);
    } else if (option[0] == TCPOPT_SACK && (len - 2) % 8 == 0) {
        read_sack(option, len, tcp);
    } else if (option[0] == TCPOPT_MSS && len == 4) {
        tcp->has_mss = true;
        tcp->mss = nc_get16(option + 2);
    } else if (option[0] == TCPOPT_WSCALE && len == 3) {
        tcp->has_wscale = true;
        tcp->wscale = option[2];
    } else if (option[0] == TCPOPT_SACK_OK && len == 2) {
        tcp->sack_permitted = true;
    } else if ((option[0] == TCPOPT_ACCECN0 || option[0] == TCPOPT_ACCECN1) && (len - 2) % 3 == 0 && len <= 11) {
        read_accecn(option, len, tcp);
    }
}

/* As hosts do (RFC 9293, 3.1), ignores all options after one with an impossible length, and accepts the segment. */
static void read_tcp_options(const uint8_t *at, const uint8_t *end, struct nc_tcp *tcp)
{
    while (at < end && *at != TCPOPT_EOL) {
        if (*at == TCPOPT_NOP) {
            at++;
            continue;
        }
        if (end - at < 2 || at[1] < 2 || at[1] > end - at)
            return;
        read_tcp_option(at, at[1], tcp);
        at += at[1];
    }
}

static enum nc_decoded read_tcp(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, 20);
    if (status != NC_DECODED)
        return status;
    const uint8_t *header = walk->frame + walk->at;
    size_t len = (size_t)(header[12] >> 4) * 4;
    if (len < 20)
        return NC_MALFORMED;
    status = need(walk, len);
    if (status == NC_MALFORMED)
        return status;
    size_t there = status == NC_DECODED ? len : walk->captured - walk->at;
    out->l4 = NC_L4_TCP;
    out->l4_offset = (uint32_t)walk->at;
    out->src_port = nc_get16(header);
    out->dst_port = nc_get16(header + 2);
    out->tcp.seq = nc_get32(header + 4);
    out->tcp.ack = nc_get32(header + 8);
    out->tcp.flags = nc_get16(header + 12) & 0x1ff;
    out->tcp.window = nc_get16(header + 14);
    out->tcp.cut = status != NC_DECODED;
    out->tcp.options_len = (uint8_t)(len - 20);
    read_tcp_options(header + 20, header + there, &out->tcp);
    pass(walk, there, out);
    out->payload_len -= (uint32_t)(len - there);
    return status;
}

static enum nc_decoded read_udp(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, 8);
    if (status != NC_DECODED)
        return status;
    const uint8_t *header = walk->frame + walk->at;
    size_t len = nc_get16(header + 4);
    /* 0: a jumbogram (RFC 2675, 4). In the first of several fragments this is the length of the whole datagram. */
    if (len != 0 && !out->fragment && (len < 8 || limit(walk, len) != NC_DECODED))
        return NC_MALFORMED;
    out->l4 = NC_L4_UDP;
    out->l4_offset = (uint32_t)walk->at;
    out->src_port = nc_get16(header);
    out->dst_port = nc_get16(header + 2);
    pass(walk, 8, out);
    return NC_DECODED;
}

static enum nc_decoded read_esp(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, 8);
    if (status != NC_DECODED)
        return status;
    out->l4 = NC_L4_ESP;
    out->l4_offset = (uint32_t)walk->at;
    out->esp_spi = nc_get32(walk->frame + walk->at);
    out->esp_seq = nc_get32(walk->frame + walk->at + 4);
    pass(walk, 8, out);
    return NC_DECODED;
}

static enum nc_decoded read_l4(struct walk *walk, struct nc_packet *out)
{
    switch (out->ip_proto) {
    case IPPROTO_TCP:
        return read_tcp(walk, out);
    case IPPROTO_UDP:
        return read_udp(walk, out);
    case IPPROTO_ESP:
        return read_esp(walk, out);
    case IPPROTO_NONE:
        return NC_DECODED;
    default:
        out->l4 = NC_L4_OTHER;
        out->l4_offset = (uint32_t)walk->at;
        return NC_DECODED;
    }
}

static enum nc_decoded read_ipv4(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, 20);
    if (status != NC_DECODED)
        return status;
    const uint8_t *header = walk->frame + walk->at;
    size_t header_len = (size_t)(header[0] & 0x0f) * 4, total = nc_get16(header + 2);
    if (header[0] >> 4 != 4 || header_len < 20 ||
        (total != 0 && (total < header_len || limit(walk, total) != NC_DECODED)))
        return NC_MALFORMED;
    status = need(walk, header_len);
    if (status != NC_DECODED)
        return status;
    uint16_t fragment = nc_get16(header + 6);
    out->ip_version = 4;
    out->ecn = header[1] & 3;
    out->ip_id = nc_get16(header + 4);
    out->fragment = (fragment & 0x3fff) != 0; /* more to come, or not the first */
    out->ttl = header[8];
    out->ip_proto = header[9];
    memcpy(out->src, header + 12, 4);
    memcpy(out->dst, header + 16, 4);
    pass(walk, header_len, out);
    return (fragment & 0x1fff) != 0 ? NC_DECODED : read_l4(walk, out);
}

static bool is_extension(uint8_t proto)
{
    return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
           proto == IPPROTO_FRAGMENT || proto == IPPROTO_AH;
}

/* Length of an extension header of which at least 8 bytes were captured (RFC 8200, 4; RFC 4302, 2.2). */
static size_t extension_len(uint8_t proto, const uint8_t *header)
{
    if (proto == IPPROTO_FRAGMENT)
        return 8;
    return proto == IPPROTO_AH ? ((size_t)header[1] + 2) * 4 : ((size_t)header[1] + 1) * 8;
}

/* The final destination of a packet that has not reached it yet (RFC 8200, 8.1): the first entry of the list for
 * segment routing (type 4, RFC 8754, 2) and mobile IPv6 (type 2, RFC 6275), the last entry for type 0 (RFC 2460). */
static void read_routing(const uint8_t *header, size_t len, struct nc_packet *out)
{
    enum { TYPE_SOURCE = 0, TYPE_HOME = 2, TYPE_SEGMENT = 4 };
    if (header[3] == 0 || len < 24)
        return; /* no segment is left: the address is the final one */
    if (header[2] == TYPE_SEGMENT || header[2] == TYPE_HOME)
        memcpy(out->dst, header + 8, 16);
    else if (header[2] == TYPE_SOURCE)
        memcpy(out->dst, header + len - 16, 16);
}

/* Skips the extension headers. After IPV6_EXTENSIONS_MAX of them the rest counts as an unknown transport. */
static enum nc_decoded read_extensions(struct walk *walk, struct nc_packet *out)
{
    for (int i = 0; i < IPV6_EXTENSIONS_MAX && is_extension(out->ip_proto); i++) {
        enum nc_decoded status = need(walk, 8);
        if (status != NC_DECODED)
            return status;
        const uint8_t *header = walk->frame + walk->at;
        size_t len = extension_len(out->ip_proto, header);
        status = need(walk, len);
        if (status != NC_DECODED)
            return status;
        bool later_part = false;
        if (out->ip_proto == IPPROTO_FRAGMENT) {
            uint16_t fragment = nc_get16(header + 2);
            later_part = (fragment & 0xfff8) != 0;
            out->fragment = (fragment & 0xfff9) != 0; /* an atomic fragment is whole (RFC 6946) */
            out->ip_id = nc_get32(header + 4);
        }
        if (out->ip_proto == IPPROTO_ROUTING)
            read_routing(header, len, out);
        out->ip_proto = header[0];
        pass(walk, len, out);
        if (later_part)
            return NC_DECODED;
    }
    return read_l4(walk, out);
}

static enum nc_decoded read_ipv6(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, 40);
    if (status != NC_DECODED)
        return status;
    const uint8_t *header = walk->frame + walk->at;
    size_t payload_len = nc_get16(header + 4);
    bool jumbo = payload_len == 0 && header[6] != IPPROTO_NONE; /* RFC 2675; Linux super-packets beyond 64 KiB */
    if (header[0] >> 4 != 6 || (!jumbo && limit(walk, 40 + payload_len) != NC_DECODED))
        return NC_MALFORMED;
    out->ip_version = 6;
    out->ecn = (header[1] >> 4) & 3;
    out->ip_proto = header[6];
    out->ttl = header[7];
    memcpy(out->src, header + 8, 16);
    memcpy(out->dst, header + 24, 16);
    pass(walk, 40, out);
    return read_extensions(walk, out);
}

static bool is_tag(uint16_t ether_type)
{
    return ether_type == ETHERTYPE_VLAN || ether_type == ETHERTYPE_8021AD || ether_type == ETHERTYPE_QINQ_OLD;
}

/* Skips VLAN tags and decodes the network layer after them. */
static enum nc_decoded read_ether_type(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = NC_DECODED;
    while (is_tag(out->ether_type) && out->vlan_n < NC_VLAN_MAX) {
        status = need(walk, 4);
        if (status != NC_DECODED)
            break;
        out->vlan[out->vlan_n++] = nc_get16(walk->frame + walk->at);
        out->ether_type = nc_get16(walk->frame + walk->at + 2);
        pass(walk, 4, out);
    }
    out->l3_offset = (uint32_t)walk->at;
    if (status != NC_DECODED)
        return status;
    if (out->ether_type == ETHERTYPE_IP)
        return read_ipv4(walk, out);
    return out->ether_type == ETHERTYPE_IPV6 ? read_ipv6(walk, out) : NC_DECODED;
}

/* l3_offset stays 0 when not even addresses and type were captured. */
static enum nc_decoded read_ethernet(struct walk *walk, struct nc_packet *out)
{
    enum nc_decoded status = need(walk, ETHER_HDR_LEN);
    if (status != NC_DECODED)
        return status;
    out->ether_type = nc_get16(walk->frame + walk->at + 12);
    pass(walk, ETHER_HDR_LEN, out);
    return read_ether_type(walk, out);
}

static enum nc_decoded read_raw_ip(struct walk *walk, struct nc_packet *out)
{
    pass(walk, 0, out);
    out->l3_offset = (uint32_t)walk->at;
    enum nc_decoded status = need(walk, 1);
    if (status != NC_DECODED)
        return status;
    return walk->frame[walk->at] >> 4 == 6 ? read_ipv6(walk, out) : read_ipv4(walk, out);
}

/* Linux captures a cooked packet with two tags in this way: the header names the protocol after the tags, and the last
 * four octets of the tags precede that protocol's packet. */
static void pass_stray_tag(struct walk *walk, struct nc_packet *out)
{
    unsigned version = out->ether_type == ETHERTYPE_IP ? 4 : 6;
    if ((out->ether_type != ETHERTYPE_IP && out->ether_type != ETHERTYPE_IPV6) || need(walk, 4) != NC_DECODED)
        return;
    const uint8_t *at = walk->frame + walk->at;
    if (at[0] >> 4 == version || nc_get16(at + 2) != out->ether_type)
        return;
    out->vlan[out->vlan_n++] = nc_get16(at);
    pass(walk, 4, out);
}

enum nc_decoded nc_packet_decode(enum nc_link link, const uint8_t *frame, size_t captured, size_t wire,
                                 struct nc_packet *out)
{
    struct walk walk = {.frame = frame, .captured = captured, .end = wire > captured ? wire : captured};
    memset(out, 0, sizeof *out);
    if (link == NC_LINK_ETHERNET)
        return read_ethernet(&walk, out);
    if (link == NC_LINK_RAW_IP)
        return read_raw_ip(&walk, out);
    struct nc_link_header header;
    enum nc_decoded status = nc_link_read(link, frame, captured, walk.end, &header);
    if (status != NC_DECODED)
        return status;
    pass(&walk, header.bytes, out);
    out->if_index = header.if_index;
    out->ether_type = header.ether_type;
    out->l3_offset = (uint32_t)walk.at;
    switch (header.next) {
    case NC_NEXT_ETHERNET:
        return read_ethernet(&walk, out);
    case NC_NEXT_TYPE:
        if (link == NC_LINK_SLL || link == NC_LINK_SLL2)
            pass_stray_tag(&walk, out);
        return read_ether_type(&walk, out);
    case NC_NEXT_IP:
        return read_raw_ip(&walk, out);
    default:
        return NC_DECODED;
    }
}

uint64_t nc_csum_add(uint64_t sum, const uint8_t *data, size_t len)
{
    /* a 32-bit word counts as two 16-bit words, whose carries the fold adds up */
    for (; len >= 4; data += 4, len -= 4) {
        uint32_t word;
        memcpy(&word, data, sizeof word);
        sum += word;
    }
    uint32_t rest = 0;
    memcpy(&rest, data, len);
    return sum + rest;
}

uint16_t nc_csum_fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}
