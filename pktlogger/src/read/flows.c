/* Implements flows.h, which has the rules and sources. */
#include "flows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { FIRST_SLOTS = 256, WSCALE_MAX = 14, TIMESTAMP_OPTION = 12, MSS_FLOOR = PL_MSS_FLOOR };

struct key {
    uint8_t version;
    const uint8_t *address[2];
    uint16_t port[2];
};

/* Both directions of a connection have the same key, because the smaller end point comes first. */
static struct key key_of(uint8_t version, const uint8_t *a, uint16_t a_port, const uint8_t *b, uint16_t b_port)
{
    int order = memcmp(a, b, 16);
    if (order < 0 || (order == 0 && a_port <= b_port))
        return (struct key){version, {a, b}, {a_port, b_port}};
    return (struct key){version, {b, a}, {b_port, a_port}};
}

static struct key key_of_flow(const struct pl_flow *flow)
{
    const struct pl_side *s = flow->side;
    return key_of(flow->ip_version, s[0].address, s[0].port, s[1].address, s[1].port);
}

static bool same(const struct key *a, const struct key *b)
{
    return a->version == b->version && a->port[0] == b->port[0] && a->port[1] == b->port[1] &&
           memcmp(a->address[0], b->address[0], 16) == 0 && memcmp(a->address[1], b->address[1], 16) == 0;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_of(const struct key *key, uint64_t seed)
{
    uint64_t hash = mix(seed, (uint64_t)key->version << 32 | (uint64_t)key->port[0] << 16 | key->port[1]);
    for (int end = 0; end < 2; end++)
        for (int half = 0; half < 2; half++) {
            uint64_t word;
            memcpy(&word, key->address[end] + 8 * half, sizeof word);
            hash = mix(hash + seed, word);
        }
    return hash;
}

int pl_flows_init(struct pl_flows *flows)
{
    *flows = (struct pl_flows){.slot_n = FIRST_SLOTS};
    if (getrandom(&flows->seed, sizeof flows->seed, GRND_NONBLOCK) != sizeof flows->seed)
        flows->seed = (uintptr_t)flows; /* used early at boot, when random numbers are not yet available */
    flows->slots = calloc(flows->slot_n, sizeof *flows->slots);
    return flows->slots ? 0 : -1;
}

void pl_flows_free(struct pl_flows *flows)
{
    free(flows->at);
    free(flows->slots);
    *flows = (struct pl_flows){0};
}

/* The slot that holds the key, or the empty slot where the key belongs. */
static uint32_t *slot_of(const struct pl_flows *flows, const struct key *key)
{
    for (uint64_t i = hash_of(key, flows->seed);; i++) {
        uint32_t *slot = &flows->slots[i & (flows->slot_n - 1)];
        if (!*slot)
            return slot;
        struct key held = key_of_flow(&flows->at[*slot - 1]);
        if (same(&held, key))
            return slot;
    }
}

static int grow_slots(struct pl_flows *flows)
{
    struct pl_flows grown = *flows;
    grown.slot_n = flows->slot_n * 2;
    grown.slots = calloc(grown.slot_n, sizeof *grown.slots);
    if (!grown.slots)
        return -1;
    for (uint32_t i = 0; i < flows->slot_n; i++)
        if (flows->slots[i]) {
            struct key key = key_of_flow(&flows->at[flows->slots[i] - 1]);
            *slot_of(&grown, &key) = flows->slots[i];
        }
    free(flows->slots);
    *flows = grown;
    return 0;
}

static struct pl_flow *add(struct pl_flows *flows, const struct nc_packet *packet)
{
    if (flows->n == flows->room) {
        uint32_t room = flows->room ? flows->room * 2 : 64;
        struct pl_flow *grown = realloc(flows->at, room * sizeof *grown);
        if (!grown)
            return NULL;
        flows->at = grown;
        flows->room = room;
    }
    struct pl_flow *flow = &flows->at[flows->n++];
    *flow = (struct pl_flow){.ip_version = packet->ip_version};
    /* a SYN+ACK comes from side 1, because it answers the side that sent the SYN */
    unsigned from = (packet->tcp.flags & (NC_TCP_SYN | NC_TCP_ACK)) == (NC_TCP_SYN | NC_TCP_ACK);
    memcpy(flow->side[from].address, packet->src, 16);
    memcpy(flow->side[!from].address, packet->dst, 16);
    flow->side[from].port = packet->src_port;
    flow->side[!from].port = packet->dst_port;
    return flow;
}

/* True for a SYN that cannot belong to the known connection with the same 5-tuple. */
static bool reopens(const struct pl_side *side, const struct nc_tcp *tcp)
{
    if ((tcp->flags & (NC_TCP_SYN | NC_TCP_ACK)) != NC_TCP_SYN)
        return false;
    return side->syn ? side->base != tcp->seq : side->packets > 0;
}

static unsigned direction(const struct pl_flow *flow, const struct nc_packet *packet)
{
    const struct pl_side *side = &flow->side[0];
    return !(side->port == packet->src_port && memcmp(side->address, packet->src, 16) == 0);
}

static bool is_end(const struct pl_side *side, const uint8_t address[16], uint16_t port)
{
    return side->port == port && memcmp(side->address, address, 16) == 0;
}

/* The flow of the last packet if this packet belongs to it, too. It must be the newest flow of its 5-tuple. */
static struct pl_flow *find_recent(const struct pl_flows *flows, const struct nc_packet *packet, unsigned *dir)
{
    if (flows->recent >= flows->n)
        return NULL;
    struct pl_flow *flow = &flows->at[flows->recent];
    const struct pl_side *side = flow->side;
    *dir = direction(flow, packet);
    bool same_ends = is_end(&side[*dir], packet->src, packet->src_port) &&
                     is_end(&side[!*dir], packet->dst, packet->dst_port) && flow->ip_version == packet->ip_version;
    return same_ends && !reopens(&side[*dir], &packet->tcp) ? flow : NULL;
}

struct pl_flow *pl_flows_find(struct pl_flows *flows, const struct nc_packet *packet, unsigned *dir)
{
    struct pl_flow *recent = find_recent(flows, packet, dir);
    if (recent)
        return recent;
    struct key key = key_of(packet->ip_version, packet->src, packet->src_port, packet->dst, packet->dst_port);
    if (flows->used >= flows->slot_n / 2 && grow_slots(flows) < 0)
        return NULL;
    uint32_t *slot = slot_of(flows, &key);
    if (*slot) {
        struct pl_flow *flow = &flows->at[*slot - 1];
        *dir = direction(flow, packet);
        if (!reopens(&flow->side[*dir], &packet->tcp)) {
            flows->recent = *slot - 1;
            return flow;
        }
    }
    struct pl_flow *flow = add(flows, packet);
    if (!flow)
        return NULL;
    flow->older = *slot;
    flows->used += !*slot;
    *slot = flows->n;
    flows->recent = flows->n - 1;
    *dir = direction(flow, packet);
    return flow;
}

static uint32_t found(const struct pl_flows *flows, uint32_t slot, const struct pl_flow *like, bool *flipped)
{
    if (!slot)
        return UINT32_MAX;
    const struct pl_side *its = flows->at[slot - 1].side, *own = like->side;
    *flipped = its[0].port != own[0].port || memcmp(its[0].address, own[0].address, 16) != 0;
    return slot - 1;
}

uint32_t pl_flows_lookup(const struct pl_flows *flows, const struct pl_flow *like, bool *flipped)
{
    struct key key = key_of_flow(like);
    uint32_t slot = *slot_of(flows, &key);
    return found(flows, slot, like, flipped);
}

uint32_t pl_flows_older(const struct pl_flows *flows, uint32_t flow, const struct pl_flow *like, bool *flipped)
{
    return found(flows, flows->at[flow].older, like, flipped);
}

uint64_t pl_unwrap(struct pl_side *side, uint32_t raw, bool move)
{
    if (!side->based) {
        side->based = true;
        side->base = raw;
        side->last = PL_UNSEEN_BASE;
    }
    int32_t step = (int32_t)(raw - side->base - (uint32_t)side->last);
    if (step < 0 && side->last < (uint64_t)-(int64_t)step)
        return side->last + PL_UNSEEN_BASE - (uint64_t)-(int64_t)step; /* a stray number from before the SYN */
    uint64_t relative = side->last + (uint64_t)(int64_t)step;
    if (move)
        side->last = relative;
    return relative;
}

static void learn_syn(struct pl_side *side, const struct nc_tcp *tcp)
{
    if (side->syn)
        return; /* a repeated SYN has the same options */
    side->based = side->syn = true;
    side->base = tcp->seq;
    side->last = 0;
    side->cut = tcp->cut;
    side->has_mss = tcp->has_mss;
    side->mss = tcp->mss;
    side->has_wscale = tcp->has_wscale;
    side->wscale = tcp->wscale < WSCALE_MAX ? tcp->wscale : WSCALE_MAX;
    side->has_timestamps = tcp->has_timestamps;
    side->sack_permitted = tcp->sack_permitted;
    side->syn_ace = NC_TCP_ACE(tcp->flags);
}

void pl_flow_learn(struct pl_flow *flow, unsigned dir, const struct nc_tcp *tcp)
{
    struct pl_side *side = &flow->side[dir];
    if (tcp->flags & NC_TCP_SYN)
        learn_syn(side, tcp);
    else if (NC_TCP_ACE(tcp->flags) || tcp->has_accecn) {
        side->echoes = side->echoes || tcp->flags & (NC_TCP_ECE | NC_TCP_CWR);
        side->counts = side->counts || tcp->flags & NC_TCP_AE || tcp->has_accecn;
    }
}

/* RFC 9768, table 2. A SYN that asks for AccECN has all three flags. A SYN that asks for RFC 3168 has ECE and CWR. */
static enum pl_ecn_mode negotiated(uint8_t asked, uint8_t answer)
{
    enum { ECE = 1, CWR = 2, AE = 4 };
    if (asked == (AE | CWR | ECE) && (answer == CWR || answer == (CWR | ECE) || answer == AE || answer == (AE | CWR)))
        return PL_ECN_ACCURATE;
    bool classic = asked == (AE | CWR | ECE) || asked == (CWR | ECE);
    return classic && (answer & (CWR | ECE)) == ECE ? PL_ECN_CLASSIC : PL_ECN_NONE;
}

enum pl_ecn_mode pl_flow_ecn(const struct pl_flow *flow)
{
    const struct pl_side *side = flow->side;
    if (side[0].syn && side[1].syn)
        return negotiated(side[0].syn_ace, side[1].syn_ace);
    if (side[0].counts || side[1].counts)
        return PL_ECN_ACCURATE;
    return side[0].echoes || side[1].echoes ? PL_ECN_CLASSIC : PL_ECN_UNKNOWN;
}

int pl_flow_near(const struct pl_flow *flow)
{
    enum {
        FAR = 4,
        LEAST_NS = 200000
    }; /* the far side takes at least FAR times as long as the near one, and at least LEAST_NS */
    const struct pl_side *side = flow->side;
    if (!side[0].syn || !side[1].syn || !flow->asked_once || !flow->third_ns)
        return -1;
    int64_t far_ns[2] = {flow->third_ns - side[1].first_ns, side[1].first_ns - side[0].first_ns};
    for (int near = 0; near < 2; near++)
        if (far_ns[near] >= 0 && far_ns[!near] >= LEAST_NS && far_ns[!near] / FAR > far_ns[near])
            return near;
    return -1;
}

bool pl_flow_scaled(const struct pl_flow *flow)
{
    return flow->side[0].syn && flow->side[1].syn && flow->side[0].has_wscale && flow->side[1].has_wscale;
}

bool pl_flow_scale_known(const struct pl_flow *flow)
{
    for (int i = 0; i < 2; i++)
        if (flow->side[i].syn && !flow->side[i].cut && !flow->side[i].has_wscale)
            return true;
    return pl_flow_scaled(flow);
}

bool pl_flow_timestamps(const struct pl_flow *flow)
{
    return flow->side[0].syn && flow->side[1].syn && flow->side[0].has_timestamps && flow->side[1].has_timestamps;
}

uint32_t pl_flow_mss(const struct pl_flow *flow)
{
    uint32_t mss = pl_flow_mss_option(flow);
    return mss ? pl_part_len(mss, pl_flow_timestamps(flow) ? TIMESTAMP_OPTION : 0) : 0;
}

uint32_t pl_flow_mss_option(const struct pl_flow *flow)
{
    uint32_t mss = UINT32_MAX;
    for (int i = 0; i < 2; i++)
        if (flow->side[i].has_mss && flow->side[i].mss < mss)
            mss = flow->side[i].mss;
    return mss == UINT32_MAX ? 0 : mss > MSS_FLOOR ? mss : MSS_FLOOR;
}

uint32_t pl_flow_bound_mss(const struct pl_flow *flow, unsigned dir)
{
    return pl_bound_mss(pl_flow_mss_option(flow), pl_flow_fixed_options(flow), flow->side[!dir].window_most);
}

uint32_t pl_flow_fixed_options(const struct pl_flow *flow)
{
    return pl_flow_timestamps(flow) ? TIMESTAMP_OPTION : 0;
}

uint32_t pl_part_len(uint32_t mss_option, uint32_t options)
{
    return mss_option > options + MSS_FLOOR ? mss_option - options : MSS_FLOOR;
}
