/* Implements anonymise.h. Each function appends one header to the output. */
#include "anonymise.h"

#include <string.h>

#include "nc_bytes.h"
#include "nc_tunnel.h"

enum { SLL2 = 20, IPV4 = 20, IPV6 = 40, TCP = 20, TTL_AT_IPV4 = 8, DONT_FRAGMENT = 0x4000 };
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, NO_HARDWARE = 0xfffe, PROTO_TCP = 6 };

/* The TCP options that stay, with their lengths; 0: any. */
static const struct {
    uint8_t kind, len;
} kept_options[] = {
    {2, 4},             /* MSS */
    {3, 3},             /* window scale */
    {4, 2},             /* SACK permitted */
    {5, 0},             /* SACK */
    {8, 10},            /* timestamps */
    {172, 0}, {174, 0}, /* AccECN */
};

static bool is_kept(uint8_t kind, uint8_t len)
{
    for (size_t i = 0; i < sizeof kept_options / sizeof *kept_options; i++)
        if (kept_options[i].kind == kind && (!kept_options[i].len || kept_options[i].len == len))
            return true;
    return false;
}

/* Copies the options that stay to their old positions, and fills the rest with NOPs. After an option with an impossible
 * length nothing is read, as in nc_packet.h. */
static void copy_options(const uint8_t *from, size_t n, uint8_t *out)
{
    enum { EOL, NOP };
    memset(out, NOP, n);
    for (size_t at = 0; at < n && from[at] != EOL;) {
        if (from[at] == NOP) {
            at++;
            continue;
        }
        if (n - at < 2 || from[at + 1] < 2 || from[at + 1] > n - at)
            return;
        if (is_kept(from[at], from[at + 1]))
            memcpy(out + at, from + at, from[at + 1]);
        at += from[at + 1];
    }
}

static void write_link(uint8_t *out, unsigned ip_version, uint32_t interface)
{
    memset(out, 0, SLL2);
    nc_put16(out, ip_version == 4 ? TYPE_IPV4 : TYPE_IPV6);
    nc_put32(out + 4, interface);
    nc_put16(out + 8, NO_HARDWARE);
}

/* `len`: octets after the header. A length above the field's range is written as 0, as in a super-packet. */
static void write_ipv4(uint8_t *out, const struct pl_frame *frame, const struct nc_packet *packet, uint64_t len)
{
    memset(out, 0, IPV4);
    uint16_t fragment = nc_get16(frame->data + packet->l3_offset + 6);
    out[0] = 0x45;
    out[1] = packet->ecn;
    nc_put16(out + 2, IPV4 + len <= UINT16_MAX ? (uint16_t)(IPV4 + len) : 0);
    nc_put16(out + 4, (uint16_t)packet->ip_id);
    nc_put16(out + 6, fragment & DONT_FRAGMENT);
    out[TTL_AT_IPV4] = packet->ttl;
    out[9] = PROTO_TCP;
}

static void write_ipv6(uint8_t *out, const struct nc_packet *packet, uint64_t len)
{
    memset(out, 0, IPV6);
    out[0] = 0x60;
    out[1] = (uint8_t)(packet->ecn << 4);
    nc_put16(out + 4, len <= UINT16_MAX ? (uint16_t)len : 0);
    out[6] = PROTO_TCP;
    out[7] = packet->ttl;
}

static void write_addresses(struct pl_pan *pan, const struct nc_packet *packet, uint8_t *out)
{
    uint8_t address[16];
    size_t n = packet->ip_version == 4 ? 4 : 16, at = packet->ip_version == 4 ? 12 : 8;
    pl_pan_address(pan, packet->ip_version, packet->src, address);
    memcpy(out + at, address, n);
    pl_pan_address(pan, packet->ip_version, packet->dst, address);
    memcpy(out + at + n, address, n);
}

/* `n`: the number of octets of the header that the capture has; it may end within the options. */
static void write_tcp(struct pl_pan *pan, const struct nc_packet *packet, const uint8_t *from, size_t n, uint8_t *out)
{
    size_t whole = TCP + packet->tcp.options_len;
    memset(out, 0, TCP);
    nc_put16(out, pl_pan_port(pan, packet->src_port));
    nc_put16(out + 2, pl_pan_port(pan, packet->dst_port));
    nc_put32(out + 4, packet->tcp.seq);
    nc_put32(out + 8, packet->tcp.ack);
    nc_put16(out + 12, (uint16_t)(whole / 4 << 12 | packet->tcp.flags));
    nc_put16(out + 14, packet->tcp.window);
    copy_options(from + TCP, n - TCP, out + TCP);
}

size_t pl_anonymous_packet(struct pl_pan *pan, const struct pl_frame *frame, const struct nc_packet *packet,
                           uint8_t out[PL_ANONYMOUS_MAX], uint32_t *wire)
{
    size_t there = packet->payload_offset - packet->l4_offset, ip_len = packet->ip_version == 4 ? IPV4 : IPV6;
    uint64_t len = (uint64_t)TCP + packet->tcp.options_len + packet->payload_len;
    uint8_t *ip = out + SLL2;
    write_link(out, packet->ip_version, packet->if_index ? packet->if_index : frame->interface + 1);
    if (packet->ip_version == 4)
        write_ipv4(ip, frame, packet, len);
    else
        write_ipv6(ip, packet, len);
    write_addresses(pan, packet, ip);
    if (packet->ip_version == 4) {
        uint16_t sum = nc_csum_fold(nc_csum_add(0, ip, IPV4));
        memcpy(ip + 10, &sum, sizeof sum);
    }
    write_tcp(pan, packet, frame->data + packet->l4_offset, there, ip + ip_len);
    uint64_t whole = SLL2 + ip_len + len;
    *wire = whole < UINT32_MAX ? (uint32_t)whole : UINT32_MAX;
    return SLL2 + ip_len + there;
}

static bool is_tcp(const struct pl_frame *frame, bool tunnels, struct nc_packet *packet)
{
    unsigned depth;
    enum nc_link link = (enum nc_link)frame->link;
    if (frame->link == PL_LINK_UNKNOWN || frame->t_ns < 0)
        return false;
    enum nc_decoded decoded = tunnels
                                  ? nc_tunnel_decode(link, frame->data, frame->captured, frame->wire, packet, &depth)
                                  : nc_packet_decode(link, frame->data, frame->captured, frame->wire, packet);
    bool whole = decoded == NC_DECODED || (decoded == NC_TRUNCATED && packet->tcp.cut);
    return whole && packet->l4 == NC_L4_TCP && !packet->fragment;
}

int pl_anonymise(struct pl_reader *reader, struct pl_writer *writer, struct pl_pan *pan, bool tunnels,
                 struct pl_anonymised *done, struct nc_error *error)
{
    struct pl_frame frame;
    struct nc_packet packet;
    enum pl_next next;
    uint8_t headers[PL_ANONYMOUS_MAX];
    *done = (struct pl_anonymised){.first_ns = INT64_MAX};
    while ((next = pl_reader_next(reader, &frame)) == PL_FRAME) {
        uint32_t wire;
        done->frames++;
        if (!is_tcp(&frame, tunnels, &packet))
            continue;
        size_t n = pl_anonymous_packet(pan, &frame, &packet, headers, &wire);
        pl_writer_packet(writer, frame.t_ns, headers, (uint32_t)n, wire);
        done->packets++;
        done->first_ns = frame.t_ns < done->first_ns ? frame.t_ns : done->first_ns;
        done->last_ns = frame.t_ns > done->last_ns ? frame.t_ns : done->last_ns;
    }
    return next == PL_END ? 0 : nc_fail(error, NC_EXIT_FAILED, "damaged at %s", reader->why);
}
