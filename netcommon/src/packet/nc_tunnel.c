/* Implements nc_tunnel.h. A function for each kind of tunnel reads its header at a cursor and moves the cursor to the
 * inner packet. */
#include "nc_tunnel.h"

#include <netinet/in.h>

#include "nc_bytes.h"

enum { PORT_GTP_U = 2152, PORT_VXLAN = 4789, PORT_GENEVE = 6081, PORT_VXLAN_LINUX = 8472 };
enum {
    TYPE_IPV4 = 0x0800,
    TYPE_IPV6 = 0x86dd,
    TYPE_ETHERNET = 0x6558,
    TYPE_ERSPAN3 = 0x22eb,
    TYPE_ERSPAN = 0x88be,
    TYPE_MPLS = 0x8847,
    TYPE_MPLS_MULTICAST = 0x8848
};
enum { TYPE_PPPOE_SESSION = 0x8864, PPP_IPV4 = 0x0021, PPP_IPV6 = 0x0057, PPP_MPLS = 0x0281 };
enum { PROTO_IPV4 = 4, PROTO_IPV6 = 41, PROTO_MPLS = 137 };
enum { GRE_CHECKSUM = 0x8000, GRE_KEY = 0x2000, GRE_SEQUENCE = 0x1000, GRE_REFUSED = 0x4007 /* routing, version */ };

/* Invariant: at <= captured and at <= end, offsets from the start of the carrying packet. */
struct cursor {
    const uint8_t *frame;
    size_t at, captured, end;
    enum nc_link link; /* of what is inside */
};

enum found { NOT_A_TUNNEL, INSIDE, CUT_OFF, CONTRADICTORY };

/* Skips a header of `len` bytes and returns its address; NULL when it is incomplete. */
static const uint8_t *pass(struct cursor *cursor, size_t len, enum found *why)
{
    if (len > cursor->end - cursor->at || len > cursor->captured - cursor->at) {
        *why = len > cursor->end - cursor->at ? CONTRADICTORY : CUT_OFF;
        return NULL;
    }
    cursor->at += len;
    return cursor->frame + cursor->at - len;
}

static enum found raw_ip(struct cursor *cursor)
{
    cursor->link = NC_LINK_RAW_IP;
    return INSIDE;
}

/* MPLS: a stack of labels ends with the label that has the bottom-of-stack bit. The first four bits after the stack
 * show which protocol follows (RFC 4928). */
static enum found read_mpls(struct cursor *cursor)
{
    enum found why = NOT_A_TUNNEL;
    const uint8_t *label;
    do {
        label = pass(cursor, 4, &why);
        if (!label)
            return why;
    } while (!(label[2] & 1));
    if (cursor->at >= cursor->captured)
        return cursor->at >= cursor->end ? CONTRADICTORY : CUT_OFF;
    uint8_t version = cursor->frame[cursor->at] >> 4;
    return version == 4 || version == 6 ? raw_ip(cursor) : NOT_A_TUNNEL;
}

static enum found read_type(struct cursor *cursor, uint16_t ether_type)
{
    switch (ether_type) {
    case TYPE_IPV4:
    case TYPE_IPV6:
        return raw_ip(cursor);
    case TYPE_ETHERNET:
        cursor->link = NC_LINK_ETHERNET;
        return INSIDE;
    case TYPE_MPLS:
    case TYPE_MPLS_MULTICAST:
        return read_mpls(cursor);
    default:
        return NOT_A_TUNNEL;
    }
}

/* ERSPAN (draft-foschiano-erspan). Type I has no header and no sequence number in GRE. Type II has a header of 8
 * octets. Type III has a header of 12 octets and perhaps 8 more. */
static enum found read_erspan(struct cursor *cursor, uint16_t type, bool numbered)
{
    enum found why = NOT_A_TUNNEL;
    cursor->link = NC_LINK_ETHERNET;
    if (type == TYPE_ERSPAN)
        return !numbered || pass(cursor, 8, &why) ? INSIDE : why;
    const uint8_t *header = pass(cursor, 12, &why);
    if (!header)
        return why;
    return !(header[11] & 1) || pass(cursor, 8, &why) ? INSIDE : why;
}

static enum found read_gre(struct cursor *cursor)
{
    enum found why = NOT_A_TUNNEL;
    const uint8_t *header = pass(cursor, 4, &why);
    if (!header)
        return why;
    uint16_t flags = nc_get16(header), type = nc_get16(header + 2);
    if (flags & GRE_REFUSED)
        return NOT_A_TUNNEL;
    size_t options = ((flags & GRE_CHECKSUM) != 0) + ((flags & GRE_KEY) != 0) + ((flags & GRE_SEQUENCE) != 0);
    if (!pass(cursor, 4 * options, &why))
        return why;
    if (type == TYPE_ERSPAN || type == TYPE_ERSPAN3)
        return read_erspan(cursor, type, flags & GRE_SEQUENCE);
    return read_type(cursor, type);
}

static enum found read_pppoe(struct cursor *cursor)
{
    enum found why = NOT_A_TUNNEL;
    const uint8_t *header = pass(cursor, 8, &why);
    if (!header)
        return why;
    size_t length = nc_get16(header + 4); /* from the PPP protocol on */
    if (header[0] != 0x11 || header[1] != 0)
        return NOT_A_TUNNEL;
    if (length < 2 || length - 2 > cursor->end - cursor->at)
        return CONTRADICTORY;
    cursor->end = cursor->at + length - 2;
    cursor->captured = cursor->captured < cursor->end ? cursor->captured : cursor->end;
    uint16_t protocol = nc_get16(header + 6);
    if (protocol == PPP_MPLS)
        return read_mpls(cursor);
    return protocol == PPP_IPV4 || protocol == PPP_IPV6 ? raw_ip(cursor) : NOT_A_TUNNEL;
}

static enum found read_vxlan(struct cursor *cursor)
{
    enum found why = NOT_A_TUNNEL;
    const uint8_t *header = pass(cursor, 8, &why);
    if (!header)
        return why;
    cursor->link = NC_LINK_ETHERNET;
    return header[0] & 0x08 ? INSIDE : NOT_A_TUNNEL; /* the network identifier is valid */
}

static enum found read_geneve(struct cursor *cursor)
{
    enum found why = NOT_A_TUNNEL;
    const uint8_t *header = pass(cursor, 8, &why);
    if (!header)
        return why;
    if (header[0] >> 6) /* another version */
        return NOT_A_TUNNEL;
    uint16_t type = nc_get16(header + 2);
    return pass(cursor, (size_t)(header[0] & 0x3f) * 4, &why) ? read_type(cursor, type) : why;
}

/* Decodes a G-PDU of version 1, perhaps with extension headers. */
static enum found read_gtp_u(struct cursor *cursor)
{
    enum { VERSION_MASK = 0xf0, VERSION = 0x30, OPTIONAL = 7, EXTENDED = 4, G_PDU = 255 };
    enum found why = NOT_A_TUNNEL;
    const uint8_t *header = pass(cursor, 8, &why);
    if (!header)
        return why;
    if ((header[0] & VERSION_MASK) != VERSION || header[1] != G_PDU)
        return NOT_A_TUNNEL;
    if (!(header[0] & OPTIONAL))
        return raw_ip(cursor);
    const uint8_t *optional = pass(cursor, 4, &why);
    uint8_t next = optional && header[0] & EXTENDED ? optional[3] : 0;
    while (optional && next) {
        size_t len = cursor->at < cursor->captured ? (size_t)cursor->frame[cursor->at] * 4 : 4;
        if (len == 0)
            return CONTRADICTORY;
        optional = pass(cursor, len, &why);
        next = optional ? optional[len - 1] : 0;
    }
    return optional ? raw_ip(cursor) : why;
}

static enum found read_udp(struct cursor *cursor, uint16_t port)
{
    switch (port) {
    case PORT_GTP_U:
        return read_gtp_u(cursor);
    case PORT_GENEVE:
        return read_geneve(cursor);
    case PORT_VXLAN:
    case PORT_VXLAN_LINUX:
        return read_vxlan(cursor);
    default:
        return NOT_A_TUNNEL;
    }
}

static enum found enter(struct cursor *cursor, const struct nc_packet *packet)
{
    if (packet->fragment)
        return NOT_A_TUNNEL;
    if (!packet->ip_version)
        return packet->ether_type == TYPE_PPPOE_SESSION                                       ? read_pppoe(cursor)
               : packet->ether_type == TYPE_MPLS || packet->ether_type == TYPE_MPLS_MULTICAST ? read_mpls(cursor)
                                                                                              : NOT_A_TUNNEL;
    if (packet->l4 == NC_L4_UDP)
        return read_udp(cursor, packet->dst_port);
    switch (packet->ip_proto) {
    case PROTO_IPV4:
    case PROTO_IPV6:
        return raw_ip(cursor);
    case PROTO_MPLS:
        return read_mpls(cursor);
    case IPPROTO_GRE:
        return read_gre(cursor);
    default:
        return NOT_A_TUNNEL;
    }
}

static void shift(struct nc_packet *packet, uint32_t by)
{
    packet->l3_offset += by;
    packet->payload_offset += by;
    if (packet->l4 != NC_L4_NONE)
        packet->l4_offset += by;
}

enum nc_decoded nc_tunnel_decode(enum nc_link link, const uint8_t *frame, size_t captured, size_t wire,
                                 struct nc_packet *out, unsigned *depth)
{
    size_t base = 0;
    enum nc_decoded decoded = nc_packet_decode(link, frame, captured, wire, out);
    uint32_t if_index = out->if_index;
    for (*depth = 0; *depth < NC_TUNNEL_DEPTH && decoded == NC_DECODED && out->l4 != NC_L4_TCP; ++*depth) {
        size_t end = (size_t)out->payload_offset + out->payload_len;
        struct cursor cursor = {
            .frame = frame, .at = out->payload_offset, .captured = captured < end ? captured : end, .end = end};
        enum found found = enter(&cursor, out);
        if (found == NOT_A_TUNNEL)
            return decoded;
        if (found != INSIDE)
            return found == CUT_OFF ? NC_TRUNCATED : NC_MALFORMED;
        base = cursor.at;
        decoded = nc_packet_decode(cursor.link, frame + base, cursor.captured - base, cursor.end - base, out);
        shift(out, (uint32_t)base);
        out->if_index = if_index; /* the inner packet keeps the interface index of the whole frame */
    }
    return decoded;
}
