/* The decoder of tunnels. Input: link type (1 byte), bytes that the capture cut off (1 byte), the captured frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nc_tunnel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    enum nc_link link = (enum nc_link)(data[0] % NC_LINK_N);
    size_t captured = size - 2, wire = captured + data[1];
    struct nc_packet packet, outer;
    unsigned depth;
    enum nc_decoded status = nc_tunnel_decode(link, data + 2, captured, wire, &packet, &depth);
    REQUIRE(status < NC_DECODED_N && depth <= NC_TUNNEL_DEPTH);
    REQUIRE(packet.l3_offset <= packet.payload_offset && packet.payload_offset <= captured);
    REQUIRE((uint64_t)packet.payload_offset + packet.payload_len <= wire);
    REQUIRE(packet.l4 == NC_L4_NONE || packet.l4_offset <= packet.payload_offset);

    /* Without a tunnel the result must be the plain decoder's. */
    enum nc_decoded plain = nc_packet_decode(link, data + 2, captured, wire, &outer);
    if (depth == 0)
        REQUIRE(memcmp(&packet, &outer, sizeof packet) == 0 && (status == plain || plain == NC_DECODED));
    else
        REQUIRE(packet.payload_offset >= outer.payload_offset);
    return 0;
}
