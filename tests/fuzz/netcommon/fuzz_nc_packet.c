/* The packet decoder. Input: link type (1 byte), bytes that the capture cut off (1 byte), the captured frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nc_packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

static void check(const struct nc_packet *packet, size_t captured, size_t wire)
{
    REQUIRE(packet->vlan_n <= NC_VLAN_MAX);
    REQUIRE(packet->ip_version == 0 || packet->ip_version == 4 || packet->ip_version == 6);
    REQUIRE(packet->l4 < NC_L4_N);
    REQUIRE(packet->l3_offset <= packet->payload_offset && packet->payload_offset <= captured);
    REQUIRE(packet->l4 == NC_L4_NONE
                ? packet->l4_offset == 0
                : packet->l4_offset >= packet->l3_offset + 20 && packet->l4_offset <= packet->payload_offset);
    REQUIRE((uint64_t)packet->payload_offset + packet->payload_len <= wire);
    REQUIRE(packet->tcp.sack_n <= NC_SACK_MAX && packet->tcp.flags <= 0x1ff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum nc_link link = (enum nc_link)(data[0] % NC_LINK_N);
    size_t captured = size - 2, wire = captured + data[1];
    struct nc_packet packet, shorter;
    enum nc_decoded status = nc_packet_decode(link, data + 2, captured, wire, &packet);
    REQUIRE(status < NC_DECODED_N);
    check(&packet, captured, wire);

    /* If a capture has all headers, the result must not depend on how much more it has. */
    uint8_t *headers = malloc(packet.payload_offset + 1);
    memcpy(headers, data + 2, packet.payload_offset);
    enum nc_decoded status_shorter = nc_packet_decode(link, headers, packet.payload_offset, wire, &shorter);
    REQUIRE(memcmp(&packet, &shorter, sizeof packet) == 0);
    if (status == NC_DECODED)
        REQUIRE(status_shorter == NC_DECODED || link != NC_LINK_ETHERNET);
    free(headers);
    return 0;
}
