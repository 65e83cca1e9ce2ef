/* The decoder against frames written out by hand, octet by octet. */
#include "check.h"
#include "nc_packet.h"
#include "seeded.h"

static const uint8_t mac[12] = {2, 0, 0, 0, 0, 11, 2, 0, 0, 0, 0, 10};

struct bytes {
    uint8_t at[2048];
    size_t len;
};

static void add(struct bytes *bytes, const void *data, size_t len)
{
    CHECK(bytes->len + len <= sizeof bytes->at);
    memcpy(bytes->at + bytes->len, data, len);
    bytes->len += len;
}
#define ADD(bytes, ...) add(bytes, (uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static struct bytes ethernet(uint16_t type)
{
    struct bytes frame = {.len = 0};
    add(&frame, mac, sizeof mac);
    ADD(&frame, (uint8_t)(type >> 8), (uint8_t)type);
    return frame;
}

static void add_ipv4(struct bytes *frame, uint16_t total, uint8_t proto)
{
    ADD(frame, 0x45, 0x03, (uint8_t)(total >> 8), (uint8_t)total, 0x12, 0x34, 0x40, 0, 63, proto, 0, 0, 10, 1, 2, 3, 10,
        4, 5, 6);
}

static void add_ipv6(struct bytes *frame, uint16_t payload, uint8_t next)
{
    ADD(frame, 0x60, 0x20, 0, 1, (uint8_t)(payload >> 8), (uint8_t)payload, next, 61);
    ADD(frame, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2);
}

static void add_tcp(struct bytes *frame, uint8_t words, uint16_t flags)
{
    ADD(frame, 0x13, 0x89, 0x13, 0x92, 1, 2, 3, 4, 5, 6, 7, 8, (uint8_t)(words << 4 | flags >> 8), (uint8_t)flags, 0x20, 0,
        0, 0, 0, 0);
}

static enum nc_decoded decode(const struct bytes *frame, struct nc_packet *out)
{
    return nc_packet_decode(NC_LINK_ETHERNET, frame->at, frame->len, frame->len, out);
}

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

/* The same packet, of which a capture kept less: each layer is there or not, and lengths are the packet's. */
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
        uint8_t *exact = malloc(rows[i].captured + 1); /* so that a sanitizer sees one byte too far */
        memcpy(exact + 1, frame.at, rows[i].captured);
        CHECK_EQ(nc_packet_decode(NC_LINK_ETHERNET, exact + 1, rows[i].captured, 1514, &packet), rows[i].status);
        CHECK_EQ(packet.ip_version, rows[i].ip_version);
        CHECK_EQ(packet.l4, rows[i].l4);
        CHECK_EQ(packet.payload_offset, rows[i].payload_offset);
        CHECK_EQ(packet.payload_len, rows[i].payload_len);
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

static void bad_options_end_the_options_only(void)
{
    static const uint8_t bad[][8] = {
        {3, 3, 7, 8, 1, 0, 0, 0},  /* length 1 */
        {3, 3, 7, 8, 0, 0, 0, 0},  /* length 0 */
        {3, 3, 7, 8, 10, 0, 0, 0}, /* beyond the header */
        {3, 3, 7, 1, 1, 1, 1, 8},  /* no length at all */
        {3, 3, 7, 0, 2, 4, 5, 6},  /* behind the end of options */
        {3, 3, 7, 2, 3, 0, 1, 1},  /* MSS of the wrong size */
        {3, 3, 7, 5, 5, 1, 1, 1},  /* SACK that is no multiple of 8 */
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
    frame.len = 20; /* the inner tag ends in the middle: what was whole stays */
    CHECK_EQ(decode(&frame, &packet), NC_MALFORMED);
    CHECK_EQ(packet.vlan_n, 1);
    CHECK_EQ(packet.ether_type, 0x8100);
    CHECK_EQ(packet.l3_offset, 18);
}

static void three_tags_are_not_looked_into(void)
{
    struct bytes frame = ethernet(0x8100);
    struct nc_packet packet;
    ADD(&frame, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3, 0x08, 0);
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK_EQ(packet.vlan_n, 2);
    CHECK_EQ(packet.ether_type, 0x8100);
    CHECK_EQ(packet.ip_version, 0);
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

static void ipv6_extension_headers(void)
{
    struct bytes frame = ethernet(0x86dd);
    struct nc_packet packet;
    add_ipv6(&frame, 8 + 24 + 8 + 16 + 8 + 20 + 3, 0);
    ADD(&frame, 43, 0, 1, 4, 0, 0, 0, 0);                                             /* hop-by-hop */
    ADD(&frame, 60, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0); /* routing, 24 bytes */
    ADD(&frame, 51, 0, 1, 4, 0, 0, 0, 0);                                             /* destination options */
    ADD(&frame, 44, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9, 9, 9);                     /* AH, 16 bytes */
    ADD(&frame, 6, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef);                                  /* atomic fragment */
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
    ADD(&frame, 0, 53, 0, 54, 0x10, 0, 0, 0); /* UDP's length is of the whole datagram */
    frame.at[20] = 0x20;                      /* more to come */
    CHECK_EQ(decode(&frame, &packet), NC_DECODED);
    CHECK(packet.fragment);
    CHECK_EQ(packet.l4, NC_L4_UDP);
    CHECK_EQ(packet.payload_len, 0);
    frame.at[20] = 0x00;
    frame.at[21] = 0x05; /* a later part: these are not ports */
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
    static const struct { size_t at; uint8_t value; int ip_version; } rows[] = {
        {14, 0x65, 0}, /* version 6 under IPv4's type */
        {14, 0x44, 0}, /* header of 16 bytes */
        {14, 0x4f, 0}, /* header longer than the packet */
        {17, 19, 0},   /* total length less than the header */
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

/* RFC 1071, 3: the example; then pieces, odd ends and the empty sum. */
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
    RUN(tcp_over_ipv4_padded);
    RUN(short_captures);
    RUN(tcp_options);
    RUN(sack_blocks);
    RUN(bad_options_end_the_options_only);
    RUN(vlan_tags);
    RUN(three_tags_are_not_looked_into);
    RUN(other_protocols);
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
