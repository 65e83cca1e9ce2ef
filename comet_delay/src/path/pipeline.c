#include "pipeline.h"

#include <string.h>

#include "direction_state.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "random.h"

/* A flow that has been silent for this time has no share of the harmonizer's rate. */
#define HARMONIZER_ACTIVE_NS (100 * NC_NS_PER_MS)

/* One stage: advances the packet's time, marks the packet, or returns why it is dropped. */
typedef enum fate stage_function(struct direction *d, struct wire_packet *packet);

static bool chance(const struct direction *d, enum random_stage stage, const struct wire_packet *packet, uint64_t ppb)
{
    return !packet->exempt && random_hit(d->keys[stage], packet->number, ppb);
}

/* `exit_ns`: when the packet left the bottleneck; 0: it did not. */
static void record_fate(const struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, enum fate fate,
                        bool copy)
{
    if (packet->buffer->recorded)
        recorder_decided(d->recorder, packet->number, exit_ns, packet->time_ns, fate, packet->edits, copy);
}

static void drop(struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, enum fate fate)
{
    record_fate(d, packet, exit_ns, fate, false);
    d->stats.drops[fate]++;
    packet_pool_release(&d->pool, packet->buffer, 1);
}

static void schedule_packet(struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, bool copy)
{
    if (!schedule_add(&d->schedule, packet, d->granularity_ns)) {
        record_fate(d, packet, exit_ns, FATE_MEMORY, copy);
        d->stats.drops[FATE_MEMORY]++;
        packet_pool_release(&d->pool, packet->buffer, 1);
        return;
    }
    record_fate(d, packet, exit_ns, FATE_PASS, copy);
}

uint64_t pipeline_flow(const struct nc_packet *p)
{
    uint64_t words[4], hash = ((uint64_t)p->src_port << 32) | ((uint64_t)p->dst_port << 16) | p->ip_proto;
    memcpy(words, p->src, 16);
    memcpy(words + 2, p->dst, 16);
    for (int i = 0; i < 4; i++)
        hash = random_mix(hash ^ words[i]) + RANDOM_WEYL;
    return hash;
}

/* Payload bytes of one part. In a packet of one part, Ethernet's padding does not count. */
static uint32_t payload_of(const struct nc_super *super, uint32_t part)
{
    return super->parts == 1 ? super->packet.payload_len
                             : nc_super_wire_len(super, part) - super->packet.payload_offset;
}

/* TCP flags of one part: only the last part has FIN. */
static uint16_t flags_of(const struct nc_super *super, uint32_t part)
{
    uint16_t flags = super->packet.tcp.flags;
    return part + 1 == super->parts ? flags : flags & (uint16_t)~NC_TCP_FIN;
}

/* The TCP fields of one part, set as the kernel's segmentation would set them. */
static struct loss_tcp tcp_of(const struct nc_super *super, uint32_t part)
{
    uint16_t flags = flags_of(super, part);
    bool syn = flags & NC_TCP_SYN, fin = flags & NC_TCP_FIN;
    return (struct loss_tcp){.flow = pipeline_flow(&super->packet),
                             .seq = super->packet.tcp.seq + part * super->part_len,
                             .len = payload_of(super, part) + syn + fin,
                             .syn = syn};
}

bool pipeline_ack_only(const struct nc_super *super)
{
    const struct nc_packet *packet = &super->packet;
    return packet->l4 == NC_L4_TCP && super->parts == 1 && packet->payload_len == 0 &&
           packet->tcp.flags == NC_TCP_ACK && packet->tcp.sack_n == 0 && !packet->tcp.cut;
}

bool pipeline_exempts(const struct filter *only, const struct nc_super *super, uint32_t part)
{
    const struct filter_packet packet = {.headers = &super->packet,
                                         .l2_bytes = nc_super_wire_len(super, part),
                                         .payload_bytes = payload_of(super, part),
                                         .tcp_flags = flags_of(super, part)};
    return !filter_matches(only, &packet);
}

/* Whether a loss model drops the packet. Its headers are decoded again for the few models that depend on TCP. */
static bool is_lost(struct loss_state *state, const struct loss_model *model, uint64_t key,
                    const struct wire_packet *packet)
{
    struct nc_super super;
    struct loss_tcp tcp;
    struct loss_packet offered = {.number = packet->number, .time_ns = packet->time_ns};
    if (loss_model_wants_tcp(model) &&
        nc_super_read(packet->buffer->data, packet->buffer->len, &super) == NC_SUPER_OK &&
        super.packet.l4 == NC_L4_TCP) {
        tcp = tcp_of(&super, packet->part);
        offered.tcp = &tcp;
    }
    if (packet->exempt) {
        loss_model_watch(state, model, &offered);
        return false;
    }
    return loss_model_hit(state, model, key, &offered);
}

/* The line on which packets arrive: serialises, never drops. */
static enum fate access_line(struct direction *d, struct wire_packet *packet)
{
    uint64_t rate_bps = d->params.access_rate_bps;
    if (rate_bps)
        packet->time_ns =
            serial_line_send(&d->access, rate_bps, packet->time_ns, wire_packet_line_bytes(packet, &d->params));
    else /* packets from before the rate was set to 0 go first */
        packet->time_ns = nc_max(packet->time_ns, d->access.exit_ns);
    return FATE_PASS;
}

/* The fate by this model. With a filter it is not an outage: the path stays up for the packets that the filter
 * excludes. */
static enum fate lost_by(const struct direction *d, const struct loss_model *model)
{
    return loss_model_is_outage(model) && !d->models.only.n ? FATE_OUTAGE : FATE_LOSS;
}

static enum fate lose_before(struct direction *d, struct wire_packet *packet)
{
    return is_lost(&d->loss, &d->models.loss, d->keys[RANDOM_LOSS_BEFORE], packet) ? lost_by(d, &d->models.loss)
                                                                                   : FATE_PASS;
}

/* The conversion between LAN and WAN PHY, which releases packets in bunches. */
static enum fate bunch(struct direction *d, struct wire_packet *packet)
{
    if (!d->params.bunch_ns && !d->buncher.opening_ns) /* off, and has always been off: costs one comparison */
        return FATE_PASS;
    const struct buncher_params bunching = {.period_ns = d->params.bunch_ns, .packets = d->params.bunch_packets};
    packet->time_ns = buncher_send(&d->buncher, &bunching, packet->time_ns);
    return FATE_PASS;
}

static enum fate lose_behind(struct direction *d, struct wire_packet *packet)
{
    return is_lost(&d->loss_after, &d->models.loss_after, d->keys[RANDOM_LOSS_AFTER], packet)
               ? lost_by(d, &d->models.loss_after)
               : FATE_PASS;
}

/* Propagation delay and jitter. Jitter that may let packets overtake is added later: see wire_packet.h. */
static enum fate delay(struct direction *d, struct wire_packet *packet)
{
    uint64_t delay_ns = d->params.delay_ns, arrival_ns = packet->time_ns;
    if (packet->exempt) {
        packet->time_ns = delay_line_send(&d->delay, delay_ns, arrival_ns);
        return FATE_PASS;
    }
    int64_t jitter = jitter_ns(&d->jitter, &d->models.jitter, d->keys[RANDOM_JITTER], packet->number, delay_ns);
    bool overtake = d->params.jitter_order == JITTER_REORDERS;
    packet->overtake_ns = overtake ? (uint64_t)jitter : 0; /* may wrap below 0; the sum with the delay does not */
    packet->time_ns = delay_line_send(&d->delay, delay_ns + (overtake ? 0 : (uint64_t)jitter), arrival_ns);
    jitter_added(&d->jitter, &d->models.jitter, packet->number,
                 (int64_t)(packet->time_ns + packet->overtake_ns - arrival_ns - delay_ns));
    return FATE_PASS;
}

/* The pacer before the receiver drops packets for which its buffer has no room. */
static enum fate pace(struct direction *d, struct wire_packet *packet)
{
    bool by_packets = d->params.pace_packets > 0;
    const struct pacer_params pacing = {.rate = by_packets ? d->params.pace_packets : d->params.pace_bps,
                                        .unit = by_packets ? PACER_PACKETS : PACER_BITS,
                                        .buffer_bytes = d->params.pace_buffer_bytes};
    uint32_t bytes = wire_packet_line_bytes(packet, &d->params);
    return pacer_send(&d->pacer, &pacing, packet->time_ns, bytes, &packet->time_ns) ? FATE_PASS : FATE_PACE;
}

/* The receiver's NIC drops packets for which its buffer has no room. */
static enum fate drain(struct direction *d, struct wire_packet *packet)
{
    if (!d->params.drain_rate_bps && !d->drain.bus.exit_ns) /* off, and never was on */
        return FATE_PASS;
    const struct drain_params params = {.rate_bps = d->params.drain_rate_bps,
                                        .buffer_bytes = d->params.drain_buffer_bytes};
    uint32_t bytes = wire_packet_line_bytes(packet, &d->params);
    return drain_send(&d->drain, &params, packet->time_ns, bytes, &packet->time_ns) ? FATE_PASS : FATE_DRAIN;
}

static enum fate harmonize(struct direction *d, struct wire_packet *packet)
{
    const struct harmonizer_params harmony = {.rate_bps = d->params.harmonize_bps, .active_ns = HARMONIZER_ACTIVE_NS};
    if (harmony.rate_bps)
        packet->time_ns = harmonizer_send(&d->harmonizer, &harmony, packet->time_ns, packet->flow,
                                          wire_packet_line_bytes(packet, &d->params));
    return FATE_PASS;
}

static enum fate corrupt(struct direction *d, struct wire_packet *packet)
{
    if (chance(d, RANDOM_CORRUPT, packet, d->params.corrupt_ppb)) {
        packet->edits |= EDIT_CORRUPT;
        d->stats.corrupted++;
    } else if (chance(d, RANDOM_FORGE, packet, d->params.forge_ppb)) {
        packet->edits |= EDIT_FORGE;
        d->stats.forged++;
    }
    return FATE_PASS;
}

static enum fate overtake(struct direction *d, struct wire_packet *packet)
{
    (void)d;
    packet->time_ns += packet->overtake_ns;
    return FATE_PASS;
}

static enum fate reorder(struct direction *d, struct wire_packet *packet)
{
    if (chance(d, RANDOM_REORDER, packet, d->params.reorder_ppb)) {
        packet->time_ns += d->params.reorder_by_ns;
        d->stats.reordered++;
    }
    return FATE_PASS;
}

static stage_function *const before_bottleneck[] = {access_line, lose_before};
static stage_function *const behind_bottleneck[] = {delay,     bunch,   lose_behind, pace,   drain,
                                                    harmonize, corrupt, overtake,    reorder};
enum {
    BEFORE = sizeof before_bottleneck / sizeof before_bottleneck[0],
    BEHIND = sizeof behind_bottleneck / sizeof behind_bottleneck[0],
};

/* From the bottleneck's exit to the schedule. */
static void leave_bottleneck(struct direction *d, struct wire_packet *packet)
{
    uint64_t exit_ns = packet->time_ns;
    d->stats.marked += (packet->edits & EDIT_CE) != 0;
    for (int i = 0; i < BEHIND; i++) {
        enum fate fate = behind_bottleneck[i](d, packet);
        if (fate != FATE_PASS) {
            drop(d, packet, exit_ns, fate);
            return;
        }
    }
    bool twice = chance(d, RANDOM_DUPLICATE, packet, d->params.duplicate_ppb);
    if (twice)
        packet_pool_retain(&d->pool, packet->buffer);
    schedule_packet(d, packet, exit_ns, false);
    if (twice) {
        d->stats.duplicated++;
        schedule_packet(d, packet, exit_ns, true);
    }
}

void pipeline_advance(struct direction *d, uint64_t until_ns)
{
    struct wire_packet packet;
    enum fate fate;
    while (channels_next(&d->channels, &d->params, &d->models, until_ns, &packet, &fate)) {
        if (fate == FATE_PASS)
            leave_bottleneck(d, &packet);
        else
            drop(d, &packet, 0, fate);
    }
}

void pipeline_offer(struct direction *d, struct wire_packet *packet)
{
    for (int i = 0; i < BEFORE; i++) {
        enum fate fate = before_bottleneck[i](d, packet);
        if (fate != FATE_PASS) {
            drop(d, packet, 0, fate);
            return;
        }
    }
    pipeline_advance(d, packet->time_ns);
    if (!models_use_bottleneck(&d->models) && channels_turn_ns(&d->channels) == UINT64_MAX) {
        /* packets from before the rate was set to 0 go first */
        packet->time_ns = nc_max(packet->time_ns, channels_exit_ns(&d->channels));
        leave_bottleneck(d, packet);
        return;
    }
    enum fate fate = channels_offer(&d->channels, &d->params, &d->models, packet);
    if (fate != FATE_PASS)
        drop(d, packet, 0, fate);
    pipeline_advance(d, packet->time_ns);
}
