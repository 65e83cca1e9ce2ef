/* Implements usual.h. */
#include "usual.h"

static void put(struct pl_usual *usual, const struct nc_packet *packet, bool back, const struct pl_usual_slot *known)
{
    struct pl_usual_slot slot = *known;
    size_t address = packet->ip_version == 4 ? 4 : 16;
    memcpy(slot.ends, back ? packet->dst : packet->src, address);
    memcpy(slot.ends + address, back ? packet->src : packet->dst, address);
    nc_put16(slot.ends + 2 * address, back ? packet->dst_port : packet->src_port);
    nc_put16(slot.ends + 2 * address + 2, back ? packet->src_port : packet->dst_port);
    usual->slots[pl_usual_slot_of(slot.ends, slot.ip_version)] = slot;
}

void pl_usual_note(struct pl_usual *usual, const struct nc_packet *packet, const struct pl_flow *flow, uint32_t number,
                   unsigned dir)
{
    struct pl_usual_slot slot = {.ip_version = packet->ip_version,
                                 .flow = number,
                                 .mss_option = pl_flow_mss_option(flow),
                                 .fixed_options = (uint8_t)pl_flow_fixed_options(flow),
                                 .scale_known = pl_flow_scale_known(flow)};
    for (int back = 1; back >= 0; back--) {
        slot.dir = (uint8_t)(back ? !dir : dir);
        slot.shift = pl_flow_scaled(flow) ? flow->side[slot.dir].wscale : 0;
        put(usual, packet, back, &slot);
    }
}
