/* Packets of the usual form must be read as the general decoder reads them; other packets must be left to it. The
 * packets are random. Most of them are damaged in a few octets, or cut. */
#include "usual.h"

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "nc_bytes.h"

enum { ROOM = 200, DRAWS = 400000 };

static uint64_t state = 20;

static uint32_t draw(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* Options as Linux writes them: none; time stamps; or time stamps and SACK blocks. */
static size_t put_options(uint8_t *at, unsigned kind)
{
    unsigned blocks = kind > 1 ? kind - 1 : 0;
    static const uint8_t stamps[] = {1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4};
    if (kind == 0)
        return 0;
    memcpy(at, stamps, sizeof stamps);
    if (!blocks)
        return sizeof stamps;
    const uint8_t head[] = {1, 1, 5, (uint8_t)(2 + 8 * blocks)};
    memcpy(at + sizeof stamps, head, sizeof head);
    for (unsigned i = 0; i < 2 * blocks; i++)
        nc_put32(at + sizeof stamps + sizeof head + (size_t)4 * i, draw(UINT32_MAX));
    return sizeof stamps + sizeof head + (size_t)8 * blocks;
}

/* Makes a packet. Returns the octets of its headers; *wire is its length. */
static size_t put_packet(uint8_t *frame, bool ipv6, bool ethernet, uint32_t *wire)
{
    uint8_t *at = frame;
    memset(frame, 0, ROOM);
    if (ethernet) {
        nc_put16(at + 12, ipv6 ? 0x86dd : 0x0800);
        at += 14;
    }
    size_t header = ipv6 ? 40 : 20;
    uint8_t *tcp = at + header;
    size_t options = put_options(tcp + 20, draw(5));
    uint32_t payload = draw(3) ? draw(60000) : 0;
    size_t segment = 20 + options + payload;
    at[0] = ipv6 ? 0x60 : 0x45;
    at[1] = (uint8_t)draw(256);
    nc_put16(at + (ipv6 ? 4 : 2), (uint16_t)(ipv6 ? segment : header + segment));
    if (!ipv6)
        nc_put16(at + 4, (uint16_t)draw(65536));
    at[ipv6 ? 6 : 9] = 6;
    at[ipv6 ? 8 : 12] = 10;
    at[ipv6 ? 24 : 16] = 11;
    nc_put16(tcp, 1000);
    nc_put16(tcp + 2, 2000);
    nc_put32(tcp + 4, draw(UINT32_MAX));
    nc_put32(tcp + 8, draw(UINT32_MAX));
    nc_put16(tcp + 12, (uint16_t)((20 + options) / 4 << 12 | (draw(8) ? 0x10 : draw(0x200))));
    nc_put16(tcp + 14, (uint16_t)draw(65536));
    *wire = (uint32_t)(at - frame) + (uint32_t)(header + segment);
    return (size_t)(at - frame) + header + 20 + options;
}

static void check_equal(const struct pl_row *row, const struct nc_packet *general)
{
    const struct nc_tcp *tcp = &general->tcp;
    CHECK_EQ(row->ecn, general->ecn);
    CHECK_EQ(row->ip_id, general->ip_version == 4 ? general->ip_id : 0);
    CHECK_EQ(row->len, general->payload_len);
    CHECK(row->seq == tcp->seq && row->ack == tcp->ack && row->flags == tcp->flags && row->window == tcp->window);
    CHECK_EQ(row->tsval, tcp->has_timestamps ? tcp->tsval : 0);
    CHECK_EQ(row->tsecr, tcp->has_timestamps ? tcp->tsecr : 0);
    CHECK_EQ(row->options, tcp->options_len);
    CHECK_EQ(row->sack_n, tcp->sack_n);
    for (unsigned i = 0; i < NC_SACK_MAX; i++) {
        CHECK_EQ(row->sack_left[i], i < tcp->sack_n ? tcp->sack[i].left : 0);
        CHECK_EQ(row->sack_right[i], i < tcp->sack_n ? tcp->sack[i].right : 0);
    }
    CHECK(!row->accecn && !row->ee0b && !row->eceb && !row->ee1b);
    CHECK(!tcp->cut && !tcp->has_accecn && !tcp->accecn);
}

static void what_is_read_is_what_the_general_decoder_reads(void)
{
    static struct pl_usual usual;
    static const struct pl_flow flow = {.ip_version = 4};
    struct nc_packet general;
    struct pl_row read;
    uint8_t frame[ROOM];
    uint32_t wire, seen = 0, whole = 0;
    for (int ipv6 = 0; ipv6 < 2; ipv6++) { /* the connections are known */
        size_t captured = put_packet(frame, ipv6, true, &wire);
        nc_packet_decode(NC_LINK_ETHERNET, frame, captured, wire, &general);
        pl_usual_note(&usual, &general, &flow, (uint32_t)(7 + ipv6), 1);
    }
    for (int i = 0; i < DRAWS; i++) {
        bool ipv6 = draw(2), ethernet = draw(3);
        size_t captured = put_packet(frame, ipv6, ethernet, &wire);
        unsigned damage = draw(4);
        for (unsigned j = 0; j + 1 < damage; j++)
            frame[draw((uint32_t)captured)] = (uint8_t)draw(256);
        if (draw(8) == 0)
            captured = draw((uint32_t)captured + 1);
        if (draw(16) == 0)
            wire = draw(wire + 1);
        captured = captured < wire ? captured : wire;
        const struct pl_frame given = {.captured = (uint32_t)captured,
                                       .wire = wire,
                                       .link = ethernet ? NC_LINK_ETHERNET : NC_LINK_RAW_IP,
                                       .data = frame};
        enum nc_decoded decoded = nc_packet_decode(given.link, frame, captured, wire, &general);
        whole += damage < 2 && decoded == NC_DECODED && !(general.tcp.flags & NC_TCP_SYN);
        const struct pl_usual_slot *slot = pl_usual_read(&usual, &given, &read);
        if (!slot)
            continue;
        seen++;
        CHECK_EQ(decoded, NC_DECODED);
        CHECK(general.l4 == NC_L4_TCP && !general.fragment && !(general.tcp.flags & NC_TCP_SYN));
        CHECK(general.src_port == 1000 && general.dst_port == 2000);
        CHECK_EQ(slot->flow, ipv6 ? 8 : 7);
        CHECK_EQ(slot->dir, 1);
        check_equal(&read, &general);
    }
    printf("%u of %d packets were of the usual form\n", seen, DRAWS);
    CHECK(seen >= whole); /* what was not damaged is */
}

static void a_new_connection_of_the_same_ends_replaces_the_old_one_both_ways(void)
{
    static struct pl_usual usual;
    static const struct pl_flow flow = {.ip_version = 4};
    struct nc_packet packet;
    struct pl_row read;
    uint8_t frame[ROOM];
    uint32_t wire;
    size_t captured = put_packet(frame, false, true, &wire);
    nc_put16(frame + 14 + 20 + 12, 0x5010);
    nc_packet_decode(NC_LINK_ETHERNET, frame, captured, wire, &packet);
    pl_usual_note(&usual, &packet, &flow, 1, 0);
    struct nc_packet back = packet;
    memcpy(back.src, packet.dst, 16);
    memcpy(back.dst, packet.src, 16);
    back.src_port = packet.dst_port;
    back.dst_port = packet.src_port;
    pl_usual_note(&usual, &back, &flow, 2, 0);
    const struct pl_frame given = {
        .captured = (uint32_t)captured, .wire = wire, .link = NC_LINK_ETHERNET, .data = frame};
    const struct pl_usual_slot *slot = pl_usual_read(&usual, &given, &read);
    CHECK(slot);
    CHECK_EQ(slot->flow, 2);
    CHECK_EQ(slot->dir, 1);
}

int main(void)
{
    RUN(what_is_read_is_what_the_general_decoder_reads);
    RUN(a_new_connection_of_the_same_ends_replaces_the_old_one_both_ways);
    return 0;
}
