/* The decoder on frames written by hand: extension headers, fragments, other links, contradictions, checksums. */
#include "frame_bytes.h"
#include "seeded.h"

static void ipv6_extension_headers(void)
{
    struct bytes frame = ethernet(0x86dd);
    struct nc_packet packet;
    add_ipv6(&frame, 8 + 24 + 8 + 16 + 8 + 20 + 3, 0);
    ADD(&frame, 43, 0, 1, 4, 0, 0, 0, 0);                                                 /* hop-by-hop */
    ADD(&frame, 60, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* routing, 24 bytes */
    ADD(&frame, 51, 0, 1, 4, 0, 0, 0, 0);                                                 /* destination options */
    ADD(&frame, 44, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9, 9, 9);                         /* AH, 16 bytes */
    ADD(&frame, 6, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef);                                      /* atomic fragment */
    add_tcp(&frame, 5, NC_TCP_ACK);
    ADD(&frame, 1, 2, 3);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.ip_version, 6);
    CHECK_EQ(packet.ecn, 2);
    CHECK_EQ(packet.ttl, 61);
    CHECK_EQ(packet.ip_proto, 6);
    CHECK_EQ(packet.l4, NC_L4_TCP);
    CHECK_EQ(packet.ip_id, 0xdeadbeef);
    CHECK(!packet.fragment);
    CHECK_EQ(packet.l4_offset, 14 + 40 + 64);
    CHECK_EQ(packet.payload_len, 3);
    CHECK_EQ(packet.dst[15], 2);
    frame.at[14 + 40 + 1] = 200; /* a hop-by-hop header longer than the packet */
    CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
    CHECK_EQ(packet.ip_version, 6);
    CHECK_EQ(packet.payload_offset, 54);
}

static void endless_extension_headers(void)
{
    struct bytes frame = ethernet(0x86dd);
    struct nc_packet packet;
    add_ipv6(&frame, 100 * 8, 60);
    for (int i = 0; i < 100; i++)
        ADD(&frame, 60, 0, 1, 4, 0, 0, 0, 0);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_OTHER);
    CHECK_EQ(packet.ip_proto, 60);
}

static void fragments(void)
{
    struct nc_packet packet;
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 28, 17);
    ADD(&frame, 0, 53, 0, 54, 0x10, 0, 0, 0); /* UDP's length is that of the whole datagram */
    frame.at[20] = 0x20;                      /* more to come */
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK(packet.fragment);
    CHECK_EQ(packet.l4, NC_L4_UDP);
    CHECK_EQ(packet.payload_len, 0);
    frame.at[20] = 0x00;
    frame.at[21] = 0x05; /* a later fragment: these octets are not ports */
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK(packet.fragment);
    CHECK_EQ(packet.l4, NC_L4_NONE);
    CHECK_EQ(packet.l4_offset, 0);
    CHECK_EQ(packet.payload_len, 8);
    frame = ethernet(0x86dd);
    add_ipv6(&frame, 16, 44);
    ADD(&frame, 6, 0, 0, 8, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK(packet.fragment);
    CHECK_EQ(packet.ip_id, 7);
    CHECK_EQ(packet.l4, NC_L4_NONE);
    CHECK_EQ(packet.payload_len, 8);
}

static void esp_and_udp(void)
{
    struct nc_packet packet;
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 12, 50);
    ADD(&frame, 0, 0, 1, 0, 0, 0, 0, 9, 1, 2, 3, 4);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.l4, NC_L4_ESP);
    CHECK_EQ(packet.esp_spi, 256);
    CHECK_EQ(packet.esp_seq, 9);
    CHECK_EQ(packet.payload_len, 4);
    frame = ethernet(0x0800);
    add_ipv4(&frame, 20 + 12, 17);
    ADD(&frame, 0, 1, 0, 2, 0, 10, 0, 0, 1, 2, 3, 4); /* UDP shorter than IP */
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.payload_len, 2);
    frame.at[14 + 20 + 5] = 13; /* longer than IP */
    CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
    CHECK_EQ(packet.l4, NC_L4_NONE);
    frame.at[14 + 20 + 5] = 7; /* shorter than itself */
    CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
}

static void contradictions(void)
{
    static const struct {
        size_t at;
        uint8_t value;
        int ip_version;
    } rows[] = {
        {14, 0x65, 0}, /* version 6 under IPv4's type */
        {14, 0x44, 0}, /* header of 16 bytes */
        {14, 0x4f, 0}, /* header longer than the packet */
        {17, 19, 0},   /* total length shorter than the header */
        {17, 41, 0},   /* more than the frame had */
        {17, 39, 4},   /* no room for TCP */
        {46, 0x40, 4}, /* TCP of 16 bytes */
        {46, 0x60, 4}, /* TCP options beyond the packet */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct bytes frame = ethernet(0x0800);
        struct nc_packet packet;
        add_ipv4(&frame, 40, 6);
        add_tcp(&frame, 5, NC_TCP_ACK);
        frame.at[rows[i].at] = rows[i].value;
        CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
        CHECK_EQ(packet.ip_version, rows[i].ip_version);
        CHECK_EQ(packet.l4, NC_L4_NONE);
    }
}

static void length_zero_is_a_super_packet(void)
{
    struct nc_packet packet;
    struct bytes frame = ethernet(0x0800);
    add_ipv4(&frame, 0, 6);
    add_tcp(&frame, 5, NC_TCP_ACK);
    CHECK_EQ(nc_packet_decode(NC_LINK_ETHERNET, frame.at, frame.len, 100054, &packet), NC_DECODED);
    CHECK_EQ(packet.payload_len, 100000);
    frame = ethernet(0x86dd);
    add_ipv6(&frame, 0, 6);
    add_tcp(&frame, 5, NC_TCP_ACK);
    CHECK_EQ(nc_packet_decode(NC_LINK_ETHERNET, frame.at, frame.len, 100074, &packet), NC_DECODED);
    CHECK_EQ(packet.payload_len, 100000);
}

static void raw_ip_links(void)
{
    struct nc_packet packet;
    struct bytes frame = {.len = 0};
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, frame.at, 0, 0, &packet), NC_MALFORMED);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, frame.at, 0, 40, &packet), NC_TRUNCATED);
    add_ipv6(&frame, 20, 6);
    add_tcp(&frame, 5, NC_TCP_SYN);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, frame.at, frame.len, frame.len, &packet), NC_DECODED);
    CHECK_EQ(packet.ether_type, 0);
    CHECK_EQ(packet.ip_version, 6);
    CHECK_EQ(packet.l4_offset, 40);
    frame.len = 0;
    add_ipv4(&frame, 40, 6);
    add_tcp(&frame, 5, NC_TCP_SYN);
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, frame.at, frame.len, frame.len, &packet), NC_DECODED);
    CHECK_EQ(packet.ip_version, 4);
    CHECK_EQ(packet.l3_offset, 0);
    CHECK_EQ(packet.l4_offset, 20);
    frame.at[0] = 0x15;
    CHECK_EQ(nc_packet_decode(NC_LINK_RAW_IP, frame.at, frame.len, frame.len, &packet), NC_MALFORMED);
}

/* The example of RFC 1071, 3; then sums in pieces, with an odd end, and the empty sum. */
static void checksums(void)
{
    static const uint8_t example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    uint8_t stored[2];
    uint16_t sum = nc_csum_fold(nc_csum_add(0, example, sizeof example));
    memcpy(stored, &sum, 2);
    CHECK_EQ(stored[0] << 8 | stored[1], 0x220d); /* ~0xddf2 */
    CHECK_EQ(nc_csum_fold(nc_csum_add(nc_csum_add(0, example, 2), example + 2, 6)), sum);
    CHECK_EQ(nc_csum_fold(0), 0xffff);
    struct seeded seeded = seeded_start();
    static uint8_t data[65536];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)seeded_next(&seeded);
    for (int i = 0; i < 300; i++) {
        size_t len = seeded_below(&seeded, sizeof data);
        uint32_t slow = 0;
        for (size_t j = 0; j < len; j++)
            slow += j % 2 ? data[j] : (uint32_t)data[j] << 8;
        slow = (slow & 0xffff) + (slow >> 16);
        slow = ~((slow & 0xffff) + (slow >> 16)) & 0xffff;
        sum = nc_csum_fold(nc_csum_add(0, data, len));
        memcpy(stored, &sum, 2);
        CHECK_EQ(stored[0] << 8 | stored[1], slow);
    }
}

int main(void)
{
    RUN(ipv6_extension_headers);
    RUN(endless_extension_headers);
    RUN(fragments);
    RUN(esp_and_udp);
    RUN(contradictions);
    RUN(length_zero_is_a_super_packet);
    RUN(raw_ip_links);
    RUN(checksums);
    return 0;
}
