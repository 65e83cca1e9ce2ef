/* Implements place.h. */
#include "place.h"

#include <string.h>

static bool has(const struct pl_place *place, const uint8_t address[16])
{
    for (size_t i = 0; i < place->n; i++)
        if (memcmp(place->address[i], address, 16) == 0)
            return true;
    return false;
}

static void add(struct pl_place *place, const uint8_t address[16])
{
    if (place->n < PL_PLACE_ADDRESSES && !has(place, address))
        memcpy(place->address[place->n++], address, 16);
}

struct pl_place pl_place_of(const struct pl_flows *flows, bool at_sender)
{
    struct pl_place place = {.n = 0};
    const struct pl_flow *largest = NULL;
    uint64_t most = 0;
    for (uint32_t i = 0; i < flows->n; i++) {
        const struct pl_flow *flow = &flows->at[i];
        int near = pl_flow_near(flow);
        if (near >= 0)
            add(&place, flow->side[near].address);
        for (int side = 0; side < 2; side++)
            if (flow->side[side].bytes > most) {
                most = flow->side[side].bytes;
                largest = flow;
            }
    }
    if (!place.n && largest) {
        unsigned sender = largest->side[1].bytes > largest->side[0].bytes;
        add(&place, largest->side[at_sender ? sender : !sender].address);
    }
    return place;
}

int pl_place_near(const struct pl_place *place, const struct pl_flow *flow)
{
    int near = pl_flow_near(flow);
    bool here[2] = {has(place, flow->side[0].address), has(place, flow->side[1].address)};
    return near >= 0 ? near : here[0] == here[1] ? -1 : here[1];
}
