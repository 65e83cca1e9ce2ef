/* Any bytes as frames of a capture that is anonymised. The result must decode to the same packets, except for addresses
 * and ports, and must have no octet after the TCP header. */
#include <stdlib.h>
#include <string.h>

#include "anonymise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
    if (!good)
        abort();
}

/* What analysis looks at. */
static void check_alike(const struct nc_packet *one, const struct nc_packet *other)
{
    check(other->l4 == NC_L4_TCP && !other->fragment);
    check(one->ip_version == other->ip_version && one->ttl == other->ttl && one->ecn == other->ecn);
    check(one->ip_version == 6 || one->ip_id == other->ip_id);
    check(memcmp(&one->tcp, &other->tcp, sizeof one->tcp) == 0);
    check(one->payload_len == other->payload_len);
    check(one->payload_offset - one->l4_offset == other->payload_offset - other->l4_offset);
}

static void look(struct pl_pan *pan, const struct pl_frame *frame)
{
    uint8_t out[PL_ANONYMOUS_MAX];
    uint32_t wire;
    struct nc_packet packet, again;
    enum nc_link link = (enum nc_link)frame->link;
    if (frame->link == PL_LINK_UNKNOWN)
        return;
    enum nc_decoded decoded = nc_packet_decode(link, frame->data, frame->captured, frame->wire, &packet);
    if (packet.l4 != NC_L4_TCP || packet.fragment || (decoded != NC_DECODED && !packet.tcp.cut))
        return;
    size_t n = pl_anonymous_packet(pan, frame, &packet, out, &wire);
    check(n <= sizeof out && wire >= n);
    check(nc_packet_decode(NC_LINK_SLL2, out, n, wire, &again) == decoded);
    check(again.payload_offset == n);
    check_alike(&packet, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pl_pan *pan;
    static const uint8_t key[PL_PAN_KEY] = {1};
    struct pl_reader reader;
    struct pl_frame frame;
    if (!pan)
        pan = pl_pan_create(key);
    if (pl_reader_open(&reader, data, size) == 0)
        while (pl_reader_next(&reader, &frame) == PL_FRAME)
            look(pan, &frame);
    pl_reader_close(&reader);
    return 0;
}
