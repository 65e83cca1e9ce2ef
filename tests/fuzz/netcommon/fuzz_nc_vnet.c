/* A vnet header and a frame as a port delivers them; then every run of the super-packet. Each run is read and split
 * again. */
#include <linux/virtio_net.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nc_vnet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) ((condition) ? (void)0 : abort())
enum { PARTS_MAX = 24 }; /* the limit on all runs of a packet: the square of its parts */

/* The run in one piece, allocated exactly, so that a sanitizer sees a read beyond its end. */
static uint8_t *join(const struct nc_run *run)
{
    REQUIRE(run->head_len <= sizeof run->head);
    uint8_t *joined = malloc(run->head_len + run->payload_len);
    memcpy(joined, run->head, run->head_len);
    memcpy(joined + run->head_len, run->payload, run->payload_len);
    return joined;
}

static void check_run(const struct nc_super *super, const uint8_t *frame, size_t frame_len, uint32_t first, uint32_t n)
{
    struct nc_run run;
    struct nc_super again;
    nc_super_run(super, frame, first, n, &run);
    REQUIRE(run.payload >= frame && run.payload + run.payload_len <= frame + frame_len);
    uint32_t want = super->header_len;
    for (uint32_t i = first; i < first + n; i++)
        want += nc_super_wire_len(super, i) - super->header_len;
    REQUIRE(run.head_len + run.payload_len == NC_VNET_LEN + want);

    uint8_t *joined = join(&run);
    REQUIRE(nc_super_read(joined, run.head_len + run.payload_len, &again) == NC_SUPER_OK);
    REQUIRE(again.parts == n);
    if (super->vnet.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
        REQUIRE(again.packet.l4 == super->packet.l4);
        REQUIRE(again.packet.payload_offset == super->header_len);
        REQUIRE(again.packet.payload_offset + again.packet.payload_len == again.frame_len);
        REQUIRE(memcmp(joined + NC_VNET_LEN + super->header_len, frame + super->header_len + first * super->part_len,
                       again.packet.payload_len) == 0);
    }
    free(joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nc_super super;
    if (nc_super_read(data, size, &super) != NC_SUPER_OK)
        return 0;
    const uint8_t *frame = data + NC_VNET_LEN;
    REQUIRE(super.frame_len == size - NC_VNET_LEN);
    REQUIRE(super.parts >= 1);
    REQUIRE(super.header_len + super.payload_len == super.frame_len);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < super.parts; i++) {
        REQUIRE(nc_super_ip_len(&super, i) <= nc_super_wire_len(&super, i));
        sum += nc_super_wire_len(&super, i);
    }
    REQUIRE(sum == (uint64_t)super.parts * super.header_len + super.payload_len);
    uint32_t parts = super.parts < PARTS_MAX ? super.parts : PARTS_MAX;
    for (uint32_t first = 0; first < parts; first++)
        for (uint32_t n = 1; n <= parts - first; n++)
            check_run(&super, frame, size - NC_VNET_LEN, first, n);
    check_run(&super, frame, size - NC_VNET_LEN, super.parts - 1, 1);
    return 0;
}
