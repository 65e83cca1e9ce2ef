/* The decoder on frames written by hand: TCP over Ethernet, its options, VLAN tags. */
#include "frame_bytes.h"

static void tcp_over_ipv4_padded(void)
{
    struct bytes frame = ethernet(0x0800);
    struct nc_packet packet;
    add_ipv4(&frame, 20 + 20 + 2, 6);
    add_tcp(&frame, 5, NC_TCP_ACK | NC_TCP_AE | NC_TCP_CWR);
    ADD(&frame, 'h', 'i', 0, 0, 0, 0); /* Ethernet's padding to 60 */
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.ether_type, 0x0800);
    CHECK_EQ(packet.vlan_n, 0);
    CHECK_EQ(packet.ip_version, 4);
    CHECK_EQ(packet.ip_proto, 6);
    CHECK_EQ(packet.ttl, 63);
    CHECK_EQ(packet.ecn, 3);
    CHECK_EQ(packet.ip_id, 0x1234);
    CHECK(!packet.fragment);
    CHECK(memcmp(packet.src, "\x0a\x01\x02\x03\0\0\0\0\0\0\0\0\0\0\0\0", 16) == 0);
    CHECK(memcmp(packet.dst, "\x0a\x04\x05\x06", 4) == 0);
    CHECK_EQ(packet.l4, NC_L4_TCP);
    CHECK_EQ(packet.src_port, 5001);
    CHECK_EQ(packet.dst_port, 5010);
    CHECK_EQ(packet.tcp.seq, 0x01020304);
    CHECK_EQ(packet.tcp.ack, 0x05060708);
    CHECK_EQ(packet.tcp.flags, NC_TCP_ACK | NC_TCP_AE | NC_TCP_CWR);
    CHECK_EQ(packet.tcp.window, 0x2000);
    CHECK_EQ(packet.l3_offset, 14);
    CHECK_EQ(packet.l4_offset, 34);
    CHECK_EQ(packet.payload_offset, 54);
    CHECK_EQ(packet.payload_len, 2);
}

/* The same packet, of which a capture kept less. Each layer is there or not, but lengths remain those of the whole
 * packet. */
static void short_captures(void)
{
    static const struct {
        size_t captured;
        enum nc_decoded status;
        int ip_version;
        enum nc_l4 l4;
        uint32_t payload_offset, payload_len;
    } rows[] = {
        {1514, NC_DECODED, 4, NC_L4_TCP, 54, 1460},  {54, NC_DECODED, 4, NC_L4_TCP, 54, 1460},
        {53, NC_TRUNCATED, 4, NC_L4_NONE, 34, 1480}, {34, NC_TRUNCATED, 4, NC_L4_NONE, 34, 1480},
        {33, NC_TRUNCATED, 0, NC_L4_NONE, 14, 1500}, {14, NC_TRUNCATED, 0, NC_L4_NONE, 14, 1500},
        {13, NC_TRUNCATED, 0, NC_L4_NONE, 0, 0},     {0, NC_TRUNCATED, 0, NC_L4_NONE, 0, 0},
    };
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 1500, 6);
    add_tcp(&frame, 5, NC_TCP_ACK);
    frame.len = 1514;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nc_packet packet;
        uint8_t *exact = malloc(rows[i].captured + 1); /* so that a sanitizer sees a read beyond its end */
        memcpy(exact + 1, frame.at, rows[i].captured);
        CHECK_EQ(nc_packet_decode(NC_LINK_ETHERNET, exact + 1, rows[i].captured, 1514, &packet), rows[i].status);
        CHECK_EQ(packet.ip_version, rows[i].ip_version);
        CHECK_EQ(packet.l4, rows[i].l4);
        CHECK_EQ(packet.payload_offset, rows[i].payload_offset);
        CHECK_EQ(packet.payload_len, rows[i].payload_len);
        free(exact);
    }
}

/* The capture cuts the options. Those before the cut are read, and numbers and lengths remain those of the whole
 * packet. */
static void cut_options(void)
{
    static const uint8_t options[20] = {2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7, 1, 3, 3, 7};
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 40 + 1000, 6);
    add_tcp(&frame, 10, NC_TCP_ACK);
    memcpy(frame.at + 54, options, sizeof options);
    for (size_t captured = 54; captured <= 74; captured++) {
        struct nc_packet packet;
        uint8_t *exact = malloc(captured); /* so that a sanitizer sees a read beyond its end */
        memcpy(exact, frame.at, captured);
        bool whole = captured == 74;
        CHECK_EQ(nc_packet_decode(NC_LINK_ETHERNET, exact, captured, 1074, &packet), whole ? NC_DECODED : NC_TRUNCATED);
        CHECK_EQ(packet.l4, NC_L4_TCP);
        CHECK_EQ(packet.tcp.cut, !whole);
        CHECK_EQ(packet.tcp.options_len, 20);
        CHECK_EQ(packet.payload_offset, captured);
        CHECK_EQ(packet.payload_len, 1000);
        CHECK_EQ(packet.tcp.has_mss, captured >= 58);
        CHECK_EQ(packet.tcp.has_timestamps, captured >= 70);
        CHECK_EQ(packet.tcp.has_wscale, whole);
        free(exact);
    }
}

static void tcp_options(void)
{
    struct bytes frame = ethernet(0x0800);
    struct nc_packet packet;
    add_ipv4(&frame, 20 + 20 + 20, 6);
    add_tcp(&frame, 10, NC_TCP_SYN);
    ADD(&frame, 2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4, 1, 3, 3, 14);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK(packet.tcp.has_mss && packet.tcp.has_wscale && packet.tcp.has_timestamps && packet.tcp.sack_permitted);
    CHECK_EQ(packet.tcp.mss, 1460);
    CHECK_EQ(packet.tcp.wscale, 14);
    CHECK_EQ(packet.tcp.tsval, 0x102);
    CHECK_EQ(packet.tcp.tsecr, 0x304);
    CHECK_EQ(packet.tcp.sack_n, 0);
}

static void sack_blocks(void)
{
    struct bytes frame = ethernet(0x0800);
    struct nc_packet packet;
    add_ipv4(&frame, 20 + 20 + 36, 6);
    add_tcp(&frame, 14, NC_TCP_ACK);
    ADD(&frame, 1, 1, 5, 34);
    for (uint8_t i = 0; i < 4; i++)
        ADD(&frame, 0, 0, i, 1, 0, 0, i, 2);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.tcp.sack_n, 4);
    CHECK_EQ(packet.tcp.sack[3].left, 0x301);
    CHECK_EQ(packet.tcp.sack[3].right, 0x302);
}

/* Decodes an ACK with one option of `len` octets. */
static struct nc_tcp with_option(const uint8_t *option, size_t len)
{
    struct bytes frame = ethernet(0x0800);
    struct nc_packet packet;
    add_ipv4(&frame, (uint16_t)(20 + 20 + 12), 6);
    add_tcp(&frame, 8, NC_TCP_ACK);
    for (size_t i = 0; i < 12; i++)
        ADD(&frame, i < len ? option[i] : 1);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    return packet.tcp;
}

/* RFC 9768, 3.2.3: three counters in either of two orders; the last counters may be absent. */
static void accecn_counters(void)
{
    const uint8_t order0[] = {172, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order1[] = {174, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    const uint8_t two[] = {174, 8, 0xff, 0xff, 0xff, 0, 0, 7}, none[] = {172, 2}, odd[] = {172, 6, 1, 2, 3, 4};
    struct nc_tcp tcp = with_option(order0, sizeof order0);
    CHECK_EQ(tcp.accecn, NC_ACCECN_EE0B | NC_ACCECN_ECEB | NC_ACCECN_EE1B);
    CHECK(tcp.ee0b == 0x010203 && tcp.eceb == 0x040506 && tcp.ee1b == 0x070809);
    tcp = with_option(order1, sizeof order1);
    CHECK(tcp.ee1b == 0x010203 && tcp.eceb == 0x040506 && tcp.ee0b == 0x070809);
    tcp = with_option(two, sizeof two);
    CHECK_EQ(tcp.accecn, NC_ACCECN_ECEB | NC_ACCECN_EE1B);
    CHECK(tcp.ee1b == 0xffffff && tcp.eceb == 7);
    tcp = with_option(none, sizeof none);
    CHECK(tcp.has_accecn && tcp.accecn == 0);
    CHECK(!with_option(odd, sizeof odd).has_accecn);
}

static void bad_options_end_the_options_only(void)
{
    static const uint8_t bad[][8] = {
        {3, 3, 7, 8, 1, 0, 0, 0},  /* length 1 */
        {3, 3, 7, 8, 0, 0, 0, 0},  /* length 0 */
        {3, 3, 7, 8, 10, 0, 0, 0}, /* beyond the header */
        {3, 3, 7, 1, 1, 1, 1, 8},  /* no length at all */
        {3, 3, 7, 0, 2, 4, 5, 6},  /* behind the end of options */
        {3, 3, 7, 2, 3, 0, 1, 1},  /* MSS of the wrong size */
        {3, 3, 7, 5, 5, 1, 1, 1},  /* a length that is impossible for SACK */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct bytes frame = ethernet(0x0800);
        struct nc_packet packet;
        add_ipv4(&frame, 20 + 28, 6);
        add_tcp(&frame, 7, NC_TCP_ACK);
        add(&frame, bad[i], 8);
        CHECK_EQ(decode(&frame, &packet), NC_DECODED);
        CHECK_EQ(packet.l4, NC_L4_TCP);
        CHECK(packet.tcp.has_wscale && packet.tcp.wscale == 7);
        CHECK(!packet.tcp.has_timestamps && !packet.tcp.has_mss && packet.tcp.sack_n == 0);
        CHECK_EQ(packet.payload_len, 0);
    }
}

static void vlan_tags(void)
{
    struct bytes frame = ethernet(0x88a8);
    struct nc_packet packet;
    ADD(&frame, 0x20, 100, 0x81, 0, 0, 200, 0x08, 0);
    add_ipv4(&frame, 28, 17);
    ADD(&frame, 0, 53, 0, 54, 0, 8, 0, 0);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.vlan_n, 2);
    CHECK_EQ(packet.vlan[0], 0x2064);
    CHECK_EQ(packet.vlan[1], 200);
    CHECK_EQ(packet.l3_offset, 22);
    CHECK_EQ(packet.l4, NC_L4_UDP);
    CHECK_EQ(packet.src_port, 53);
    CHECK_EQ(packet.payload_len, 0);
    frame.len = 20; /* the inner tag ends in the middle; the layers before it are kept */
    CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
    CHECK_EQ(packet.vlan_n, 1);
    CHECK_EQ(packet.ether_type, 0x8100);
    CHECK_EQ(packet.l3_offset, 18);
}

static void as_many_tags_as_there_are_are_passed(void)
{
    struct bytes frame = ethernet(0x8100);
    struct nc_packet packet;
    ADD(&frame, 0, 1, 0x91, 0, 0, 2, 0x88, 0xa8, 0, 3, 0x08, 6);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.vlan_n, 3);
    CHECK_EQ(packet.vlan[2], 3);
    CHECK_EQ(packet.ether_type, 0x806);
    CHECK_EQ(packet.l3_offset, 26);
}

static void other_protocols(void)
{
    struct bytes frame = ethernet(0x0806);
    struct nc_packet packet;
    ADD(&frame, 1, 2, 3);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.ip_version, 0);
    CHECK_EQ(packet.l4, NC_L4_NONE);
    CHECK_EQ(packet.payload_offset, 14);
    CHECK_EQ(packet.payload_len, 3);
    frame = ethernet(0x0800); /* ICMP */
    add_ipv4(&frame, 28, 1);
    ADD(&frame, 8, 0, 0, 0, 0, 0, 0, 0);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_OTHER);
    CHECK_EQ(packet.l4_offset, 34);
    CHECK_EQ(packet.payload_len, 8);
    frame = ethernet(0x86dd); /* no next header */
    add_ipv6(&frame, 0, 59);
    ADD(&frame, 0, 0, 0, 0);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_NONE);
    CHECK_EQ(packet.payload_len, 0);
}

int main(void)
{
    RUN(tcp_over_ipv4_padded);
    RUN(short_captures);
    RUN(cut_options);
    RUN(tcp_options);
    RUN(sack_blocks);
    RUN(accecn_counters);
    RUN(bad_options_end_the_options_only);
    RUN(vlan_tags);
    RUN(as_many_tags_as_there_are_are_passed);
    RUN(other_protocols);
    return 0;
}
