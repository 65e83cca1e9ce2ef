/* Packets inside tunnels: every kind of tunnel around the same TCP segment; nested; cut off at every byte; and
 * contradictory. */
#include "frame_bytes.h"
#include "nc_tunnel.h"

enum { PAYLOAD = 3, TCP_BYTES = 20 + PAYLOAD };

static void add_inner4(struct bytes *frame)
{
    add_ipv4(frame, 20 + TCP_BYTES, 6);
    add_tcp(frame, 5, NC_TCP_ACK);
    ADD(frame, 1, 2, 3);
}

static void add_inner6(struct bytes *frame)
{
    add_ipv6(frame, TCP_BYTES, 6);
    add_tcp(frame, 5, NC_TCP_ACK);
    ADD(frame, 1, 2, 3);
}

static void add_ethernet(struct bytes *frame, uint16_t type)
{
    struct bytes header = ethernet(type);
    add(frame, header.at, header.len);
}

static struct bytes gre(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 4 + 43, 47);
    ADD(&frame, 0, 0, 0x08, 0x00);
    add_inner4(&frame);
    return frame;
}

static struct bytes gre_with_key_and_sequence_around_ipv6(void)
{
    struct bytes frame = ethernet(0x86dd);
    add_ipv6(&frame, 16 + 63, 47);
    ADD(&frame, 0xb0, 0, 0x86, 0xdd, 1, 1, 0, 0, 2, 2, 2, 2, 3, 3, 3, 3);
    add_inner6(&frame);
    return frame;
}

static struct bytes gre_around_ethernet(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 4 + 18 + 43, 47);
    ADD(&frame, 0, 0, 0x65, 0x58);
    add_ethernet(&frame, 0x8100);
    ADD(&frame, 0, 5, 0x08, 0x00);
    add_inner4(&frame);
    return frame;
}

static struct bytes ip_in_ip(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 43, 4);
    add_inner4(&frame);
    return frame;
}

static struct bytes ipv6_in_ipv4(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 63, 41);
    add_inner6(&frame);
    return frame;
}

static struct bytes mpls_of_two_labels(void)
{
    struct bytes frame = ethernet(0x8847);
    ADD(&frame, 0, 1, 0x00, 64, 0, 2, 0x01, 63);
    add_inner6(&frame);
    return frame;
}

static struct bytes mpls_in_ip(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 4 + 43, 137);
    ADD(&frame, 0, 1, 0x01, 64);
    add_inner4(&frame);
    return frame;
}

static struct bytes pppoe(void)
{
    struct bytes frame = ethernet(0x8864);
    ADD(&frame, 0x11, 0, 0, 9, 0, 2 + 43, 0x00, 0x21);
    add_inner4(&frame);
    ADD(&frame, 0, 0, 0, 0); /* the frame's own padding */
    return frame;
}

static struct bytes vxlan(void)
{
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 8 + 8 + 14 + 43, 17);
    ADD(&frame, 0xc0, 0, 0x12, 0xb5, 0, 8 + 8 + 14 + 43, 0, 0);
    ADD(&frame, 0x08, 0, 0, 0, 0, 0, 42, 0);
    add_ethernet(&frame, 0x0800);
    add_inner4(&frame);
    return frame;
}

/* As providers use it: PPPoE carries MPLS labels, and these carry GRE. */
static struct bytes nested(void)
{
    struct bytes frame = ethernet(0x8864);
    ADD(&frame, 0x11, 0, 0, 9, 0, 2 + 4 + 20 + 4 + 43, 0x02, 0x81, 0, 1, 0x01, 64);
    add_ipv4(&frame, 20 + 4 + 43, 47);
    ADD(&frame, 0, 0, 0x08, 0x00);
    add_inner4(&frame);
    return frame;
}

static const struct {
    const char *name;
    struct bytes (*make)(void);
    unsigned depth;
    uint8_t ip_version;
} kinds[] = {
    {"gre", gre, 1, 4},
    {"gre with key and sequence number", gre_with_key_and_sequence_around_ipv6, 1, 6},
    {"gre around ethernet", gre_around_ethernet, 1, 4},
    {"ip in ip", ip_in_ip, 1, 4},
    {"ipv6 in ipv4", ipv6_in_ipv4, 1, 6},
    {"mpls", mpls_of_two_labels, 1, 6},
    {"mpls in ip", mpls_in_ip, 1, 4},
    {"pppoe", pppoe, 1, 4},
    {"vxlan", vxlan, 1, 4},
    {"nested", nested, 2, 4},
};

static enum nc_decoded decode_inner(const struct bytes *frame, size_t captured, struct nc_packet *out, unsigned *depth)
{
    uint8_t *exact = malloc(captured + 1); /* so that a sanitizer sees a read beyond the end */
    memcpy(exact, frame->at, captured);
    enum nc_decoded decoded = nc_tunnel_decode(NC_LINK_ETHERNET, exact, captured, frame->len, out, depth);
    free(exact);
    return decoded;
}

static void every_kind_is_opened(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bytes frame = kinds[i].make();
        struct nc_packet packet;
        unsigned depth;
        fprintf(stderr, "%s\n", kinds[i].name);
        CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_DECODED);
        CHECK_EQ(packet.l4, NC_L4_TCP);
        CHECK_EQ(depth, kinds[i].depth);
        CHECK_EQ(packet.ip_version, kinds[i].ip_version);
        CHECK_EQ(packet.payload_len, PAYLOAD);
        CHECK_EQ(packet.tcp.seq, 0x01020304);
        CHECK_EQ(frame.at[packet.payload_offset], 1);
        CHECK_EQ(frame.at[packet.l4_offset], 0x13);
        CHECK_EQ(frame.at[packet.l3_offset] >> 4, kinds[i].ip_version);
    }
}

static void a_capture_that_ends_in_a_header_says_so(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct bytes frame = kinds[i].make();
        struct nc_packet packet;
        unsigned depth;
        decode_inner(&frame, frame.len, &packet, &depth);
        size_t headers = packet.payload_offset;
        for (size_t captured = 0; captured < headers; captured++)
            CHECK_EQ(decode_inner(&frame, captured, &packet, &depth), NC_TRUNCATED);
        CHECK_EQ(decode_inner(&frame, headers, &packet, &depth), NC_DECODED);
        CHECK_EQ(packet.payload_len, PAYLOAD);
    }
}

static void what_contradicts_itself_is_malformed(void)
{
    struct nc_packet packet;
    unsigned depth;
    struct bytes frame = pppoe();
    frame.at[14 + 5] = 200; /* longer than the frame */
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_MALFORMED);
    frame.at[14 + 5] = 1; /* no room for the protocol */
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_MALFORMED);
    frame = mpls_of_two_labels();
    frame.at[14 + 6] = 0; /* the stack has no bottom: the packet's own bytes are read as labels */
    CHECK(decode_inner(&frame, frame.len, &packet, &depth) != NC_DECODED || packet.l4 != NC_L4_TCP);
    CHECK_EQ(depth, 0);
}

static void others_stay_what_they_are(void)
{
    struct nc_packet packet;
    unsigned depth;
    struct bytes frame = gre();
    frame.at[14 + 20 + 1] = 1; /* version 1 is PPTP's */
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_OTHER);
    CHECK_EQ(depth, 0);
    frame = ip_in_ip();
    frame.at[14 + 6] = 0x20; /* the first fragment of several */
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_DECODED);
    CHECK(packet.fragment);
    CHECK_EQ(depth, 0);
    frame = vxlan();
    frame.at[14 + 20 + 8] = 0; /* no network identifier */
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_UDP);
}

static void the_depth_is_bounded(void)
{
    struct bytes frame = ethernet(0x0800);
    struct nc_packet packet;
    unsigned depth;
    for (unsigned i = 0; i < 20; i++)
        add_ipv4(&frame, (uint16_t)((20 - i) * 20 + 43), 4);
    add_inner4(&frame);
    CHECK_EQ(decode_inner(&frame, frame.len, &packet, &depth), NC_DECODED);
    CHECK_EQ(depth, NC_TUNNEL_DEPTH);
    CHECK_EQ(packet.ip_proto, 4);
}

int main(void)
{
    RUN(every_kind_is_opened);
    RUN(a_capture_that_ends_in_a_header_says_so);
    RUN(what_contradicts_itself_is_malformed);
    RUN(others_stay_what_they_are);
    RUN(the_depth_is_bounded);
    return 0;
}
