#include "harmonizer.h"

#include <assert.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "random.h"

_Static_assert(UINT64_MAX / HARMONIZER_PACKET_MAX / 8 / NC_NS_PER_S > HARMONIZER_FLOWS, "a packet's cost fits 64 bits");
_Static_assert(HARMONIZER_FLOWS < UINT16_MAX, "places are 16 bits");

/* The bucket of a hash. The hash is mixed again, because the caller's may be weak. */
static uint16_t *bucket(struct harmonizer *h, uint64_t hash)
{
    return &h->buckets[random_mix(hash) % HARMONIZER_BUCKETS];
}

static void deactivate(struct harmonizer *h, uint16_t place)
{
    struct harmonizer_flow *flow = &h->flows[place];
    if (!flow->active)
        return;
    if (h->oldest_active == place)
        h->oldest_active = flow->newer;
    flow->active = false;
    h->active--;
}

/* Removes the share of flows that have been silent for long enough. */
static void expire(struct harmonizer *h, uint64_t active_ns, uint64_t now_ns)
{
    while (h->oldest_active && now_ns - h->flows[h->oldest_active].seen_ns >= active_ns)
        deactivate(h, h->oldest_active);
}

static void unlink_by_age(struct harmonizer *h, uint16_t place)
{
    struct harmonizer_flow *flow = &h->flows[place];
    *(flow->older ? &h->flows[flow->older].newer : &h->oldest) = flow->newer;
    *(flow->newer ? &h->flows[flow->newer].older : &h->newest) = flow->older;
}

static void link_as_newest(struct harmonizer *h, uint16_t place)
{
    struct harmonizer_flow *flow = &h->flows[place];
    flow->older = h->newest;
    flow->newer = 0;
    *(h->newest ? &h->flows[h->newest].newer : &h->oldest) = place;
    h->newest = place;
    if (!h->oldest_active)
        h->oldest_active = place;
    flow->active = true;
    h->active++;
}

static uint16_t find(struct harmonizer *h, uint64_t hash)
{
    uint16_t place = *bucket(h, hash);
    while (place && h->flows[place].hash != hash)
        place = h->flows[place].chain;
    return place;
}

/* Replaces the flow seen least recently. */
static uint16_t evict(struct harmonizer *h)
{
    uint16_t place = h->oldest, *link;
    struct harmonizer_flow *flow = &h->flows[place];
    deactivate(h, place);
    unlink_by_age(h, place);
    for (link = bucket(h, flow->hash); *link != place; link = &h->flows[*link].chain)
        assert(*link);
    *link = flow->chain;
    if (flow->departure_ns > h->evicted_ns)
        h->evicted_ns = flow->departure_ns;
    return place;
}

static uint16_t insert(struct harmonizer *h, uint64_t hash)
{
    uint16_t place = h->used < HARMONIZER_FLOWS ? ++h->used : evict(h), *first = bucket(h, hash);
    h->flows[place] = (struct harmonizer_flow){
        .hash = hash, .chain = *first, .departure_ns = h->evicted_ns, .spacing.next_ns = h->evicted_ns};
    *first = place;
    return place;
}

/* The flow of an arriving packet, which becomes the newest, and active. */
static struct harmonizer_flow *arrive(struct harmonizer *h, uint64_t hash, uint64_t now_ns)
{
    uint16_t place = find(h, hash);
    if (place) {
        deactivate(h, place);
        unlink_by_age(h, place);
    } else {
        place = insert(h, hash);
    }
    h->flows[place].seen_ns = now_ns;
    link_as_newest(h, place);
    return &h->flows[place];
}

uint64_t harmonizer_send(struct harmonizer *h, const struct harmonizer_params *params, uint64_t arrival_ns,
                         uint64_t hash, uint32_t bytes)
{
    assert(bytes <= HARMONIZER_PACKET_MAX);
    expire(h, params->active_ns, arrival_ns);
    struct harmonizer_flow *flow = arrive(h, hash, arrival_ns);
    uint64_t departure = spacing_departure(&flow->spacing, arrival_ns);
    if (params->rate_bps)
        spacing_take(&flow->spacing, arrival_ns, (uint64_t)bytes * 8 * NC_NS_PER_S * h->active, params->rate_bps);
    else /* the rate was set to 0: earlier packets go first */
        departure = nc_max(arrival_ns, flow->departure_ns);
    flow->departure_ns = departure;
    return departure;
}
