#include "direction.h"

#include <assert.h>
#include <string.h>

#include "achieved.h"
#include "edit.h"
#include "nc_clock.h"
#include "random.h"

/* A flow that has been silent for so long has no share of the harmonizer's rate. */
#define HARMONIZER_ACTIVE_NS (100 * NC_NS_PER_MS)

int direction_init(struct direction *d, unsigned index, uint64_t seed, uint64_t granularity_ns, uint64_t memory,
                   uint64_t prefault)
{
    memset(d, 0, sizeof *d);
    d->index = index;
    d->granularity_ns = granularity_ns;
    for (unsigned stage = 0; stage < RANDOM_STAGES; stage++)
        d->keys[stage] = random_key(seed, index, stage);
    bottleneck_init(&d->bottleneck, d->keys[RANDOM_AQM]);
    schedule_init(&d->schedule);
    loss_state_init(&d->loss, 0);
    loss_state_init(&d->loss_after, 0);
    rate_trace_init(&d->bottleneck.trace, 0);
    return store_init(&d->store, memory, prefault < memory ? prefault : memory);
}

void direction_free(struct direction *d)
{
    bottleneck_free(&d->bottleneck);
    schedule_free(&d->schedule);
    pacer_free(&d->pacer);
    models_free(&d->models);
    store_free(&d->store);
}

void direction_set(struct direction *d, const struct params *params, const struct models *models, uint64_t now_ns)
{
    achieved_restart(d, params);
    /* what a model remembers stays while its text does, so that changing one parameter does not disturb another */
    if (strcmp(params->loss, d->params.loss) != 0)
        loss_state_restart(&d->loss, now_ns);
    if (strcmp(params->loss_after, d->params.loss_after) != 0)
        loss_state_restart(&d->loss_after, now_ns);
    if (strcmp(params->rate_trace, d->params.rate_trace) != 0)
        rate_trace_restart(&d->bottleneck.trace, now_ns);
    models_free(&d->models);
    d->models = *models;
    d->params = *params;
}

struct stored *direction_reserve(struct direction *d)
{
    return store_reserve(&d->store, NC_VNET_LEN + DIRECTION_FRAME_MAX);
}

static bool hit(const struct direction *d, enum random_stage stage, const struct wire_packet *packet, uint64_t ppb)
{
    return random_hit(d->keys[stage], packet->number, ppb);
}

_Static_assert((int)FATE_PASS == NC_FATE_PASS && (int)FATE_LOSS == NC_FATE_LOSS && (int)FATE_QUEUE == NC_FATE_QUEUE &&
                   (int)FATE_AQM == NC_FATE_AQM && (int)FATE_PACE == NC_FATE_PACE && (int)EDIT_CE == NC_EDIT_CE &&
                   (int)EDIT_CORRUPT == NC_EDIT_CORRUPT && (int)EDIT_FORGE == NC_EDIT_FORGE,
               "the record says the same");

/* Tells the recorder what becomes of a packet. `exit_ns`: when it left the bottleneck; 0: it did not. */
static void decided(const struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, enum nc_fate fate,
                    bool copy)
{
    if (packet->stored->recorded)
        record_decided(d->record, packet->number, exit_ns, packet->time_ns, fate, packet->edits, copy);
}

static void drop(struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, enum fate fate)
{
    decided(d, packet, exit_ns, (enum nc_fate)fate, false);
    d->stats.drops[fate]++;
    store_release(&d->store, packet->stored, 1);
}

static void schedule(struct direction *d, const struct wire_packet *packet, uint64_t exit_ns, bool copy)
{
    bool ok = schedule_add(&d->schedule, packet, d->granularity_ns);
    decided(d, packet, exit_ns, ok ? NC_FATE_PASS : NC_FATE_MEMORY, copy);
    if (ok)
        return;
    d->stats.drops_memory++;
    store_release(&d->store, packet->stored, 1);
}

static void damage(struct direction *d, struct wire_packet *packet)
{
    if (hit(d, RANDOM_CORRUPT, packet, d->params.corrupt_ppb)) {
        packet->edits |= EDIT_CORRUPT;
        d->stats.corrupted++;
    } else if (hit(d, RANDOM_FORGE, packet, d->params.forge_ppb)) {
        packet->edits |= EDIT_FORGE;
        d->stats.forged++;
    }
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The pacer in front of the receiver. False: its buffer is full. */
static bool pace(struct direction *d, struct wire_packet *packet)
{
    bool by_packets = d->params.pace_packets > 0;
    const struct pacer_params pacing = {.rate = by_packets ? d->params.pace_packets : d->params.pace_bps,
                                        .unit = by_packets ? PACER_PACKETS : PACER_BITS,
                                        .buffer_bytes = d->params.pace_buffer_bytes};
    return pacer_send(&d->pacer, &pacing, packet->time_ns, stage_line_bytes(&d->params, packet), &packet->time_ns);
}

static void harmonize(struct direction *d, struct wire_packet *packet)
{
    const struct harmonizer_params harmony = {.rate_bps = d->params.harmonize_bps, .active_ns = HARMONIZER_ACTIVE_NS};
    if (harmony.rate_bps) /* with no bound on the wait it takes every packet */
        harmonizer_send(&d->harmonizer, &harmony, packet->time_ns, packet->flow, stage_line_bytes(&d->params, packet),
                        &packet->time_ns);
}

/* Both directions of a connection need not agree; packets of one flow must. */
static uint64_t flow_of(const struct nc_packet *p)
{
    uint64_t words[4], hash = ((uint64_t)p->src_port << 32) | ((uint64_t)p->dst_port << 16) | p->ip_proto;
    memcpy(words, p->src, 16);
    memcpy(words + 2, p->dst, 16);
    for (int i = 0; i < 4; i++)
        hash = random_mix(hash ^ words[i]) + RANDOM_WEYL;
    return hash;
}

/* The TCP fields of one part, as the kernel's segmentation would set them. */
static struct loss_tcp tcp_of(const struct nc_super *super, uint32_t part, uint64_t flow)
{
    const struct nc_tcp *tcp = &super->packet.tcp;
    uint32_t payload = nc_super_wire_len(super, part) - super->packet.payload_offset;
    if (super->parts == 1)
        payload = super->packet.payload_len;
    bool last = part + 1 == super->parts, syn = tcp->flags & NC_TCP_SYN;
    return (struct loss_tcp){.flow = flow,
                             .seq = tcp->seq + part * super->part_len,
                             .len = payload + syn + (last && (tcp->flags & NC_TCP_FIN)),
                             .syn = syn};
}

/* The TCP fields of a packet behind the bottleneck, where only some loss models want them: read again. NULL: none, or not wanted. */
static const struct loss_tcp *tcp_behind(const struct direction *d, const struct wire_packet *packet, struct loss_tcp *tcp)
{
    struct nc_super super;
    if (!loss_model_wants_tcp(&d->models.loss_after) ||
        nc_super_read(packet->stored->data, packet->stored->len, &super) != NC_SUPER_OK || super.packet.l4 != NC_L4_TCP)
        return NULL;
    *tcp = tcp_of(&super, packet->part, flow_of(&super.packet));
    return tcp;
}

/* What comes behind the bottleneck. */
static void propagate(struct direction *d, struct wire_packet *packet)
{
    uint64_t exit_ns = packet->time_ns;
    d->stats.marked += (packet->edits & EDIT_CE) != 0;
    int64_t jitter = jitter_ns(&d->jitter, &d->models.jitter, d->keys[RANDOM_JITTER], packet->number, d->params.delay_ns);
    bool overtake = d->params.jitter_order == JITTER_REORDERS;
    int64_t came_ns = (int64_t)packet->time_ns;
    stage_delay(&d->delay_last_ns, d->params.delay_ns + (overtake ? 0 : (uint64_t)jitter), packet);
    jitter_added(&d->jitter, &d->models.jitter, packet->number,
                 (int64_t)packet->time_ns - came_ns - (int64_t)d->params.delay_ns + (overtake ? jitter : 0));
    struct loss_tcp tcp;
    const struct loss_packet lossy = {
        .number = packet->number, .time_ns = packet->time_ns, .tcp = tcp_behind(d, packet, &tcp)};
    if (loss_model_hit(&d->loss_after, &d->models.loss_after, d->keys[RANDOM_LOSS_AFTER], &lossy)) {
        drop(d, packet, exit_ns, FATE_LOSS);
        return;
    }
    if (!pace(d, packet)) {
        drop(d, packet, exit_ns, FATE_PACE);
        return;
    }
    harmonize(d, packet);
    damage(d, packet);
    if (overtake)
        packet->time_ns += (uint64_t)jitter; /* never below where it came: the delay is in it */
    if (hit(d, RANDOM_REORDER, packet, d->params.reorder_ppb)) {
        packet->time_ns += d->params.reorder_by_ns;
        d->stats.reordered++;
    }
    bool twice = hit(d, RANDOM_DUPLICATE, packet, d->params.duplicate_ppb);
    if (twice)
        store_retain(&d->store, packet->stored);
    schedule(d, packet, exit_ns, false);
    if (twice) {
        d->stats.duplicated++;
        schedule(d, packet, exit_ns, true);
    }
}

/* Everything at the bottleneck that is settled by `until_ns` moves on. */
static void run_bottleneck(struct direction *d, uint64_t until_ns)
{
    struct wire_packet packet;
    enum fate fate;
    while (bottleneck_next(&d->bottleneck, &d->params, &d->models, until_ns, &packet, &fate)) {
        if (fate == FATE_PASS)
            propagate(d, &packet);
        else
            drop(d, &packet, 0, fate);
    }
}

/* One wire packet into the pipeline. `tcp` may be NULL. */
static void offer(struct direction *d, struct wire_packet *packet, const struct loss_tcp *tcp)
{
    stage_access(&d->access, &d->params, packet);
    const struct loss_packet lossy = {.number = packet->number, .time_ns = packet->time_ns, .tcp = tcp};
    if (loss_model_hit(&d->loss, &d->models.loss, d->keys[RANDOM_LOSS_BEFORE], &lossy)) {
        drop(d, packet, 0, FATE_LOSS);
        return;
    }
    run_bottleneck(d, packet->time_ns);
    if (!models_limit_rate(&d->models) && bottleneck_turn_ns(&d->bottleneck) == UINT64_MAX) {
        packet->time_ns = later(packet->time_ns, d->bottleneck.line.exit_ns); /* those from before the rate went away go first */
        propagate(d, packet);
        return;
    }
    enum fate fate = bottleneck_offer(&d->bottleneck, &d->params, &d->models, packet);
    if (fate != FATE_PASS)
        drop(d, packet, 0, fate);
    run_bottleneck(d, packet->time_ns);
}

static void offer_parts(struct direction *d, const struct nc_super *super, struct stored *stored, uint64_t now_ns)
{
    bool want_tcp = super->packet.l4 == NC_L4_TCP && loss_model_wants_tcp(&d->models.loss);
    uint64_t flow = want_tcp || d->params.harmonize_bps ? flow_of(&super->packet) : 0;
    for (uint32_t i = 0; i < super->parts; i++) {
        struct wire_packet packet = {.number = d->stats.in_packets++,
                                     .time_ns = now_ns,
                                     .stored = stored,
                                     .flow = flow,
                                     .part = i,
                                     .l2_bytes = nc_super_wire_len(super, i),
                                     .ip_bytes = nc_super_ip_len(super, i),
                                     .ect = super->packet.ecn != 0};
        d->stats.in_bytes += packet.l2_bytes;
        struct loss_tcp tcp;
        if (want_tcp)
            tcp = tcp_of(super, i, flow);
        offer(d, &packet, want_tcp ? &tcp : NULL);
    }
}

void direction_take(struct direction *d, struct stored *stored, uint32_t len, uint64_t now_ns)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (d->stats.in_frames == 1)
        d->stats.first_in_ns = now_ns;
    if (nc_super_read(stored->data, len, &super) != NC_SUPER_OK || super.parts > DIRECTION_PARTS_MAX) {
        d->stats.drops_malformed++;
        return;
    }
    stored->len = len;
    stored->recorded = d->record && record_frame(d->record, stored->data, &super, d->stats.in_packets, now_ns);
    store_commit(&d->store, stored, super.parts + 1); /* one more, so that it lives until all parts are offered */
    offer_parts(d, &super, stored, now_ns);
    store_release(&d->store, stored, 1);
}

void direction_refuse(struct direction *d, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (nc_super_read(data, len, &super) != NC_SUPER_OK) {
        d->stats.drops_malformed++;
        return;
    }
    if (d->record && record_frame(d->record, data, &super, d->stats.in_packets, now_ns))
        for (uint32_t i = 0; i < super.parts; i++)
            record_decided(d->record, d->stats.in_packets + i, 0, now_ns, NC_FATE_MEMORY, 0, false);
    d->stats.in_packets += super.parts;
    d->stats.drops_memory += super.parts;
}

const struct due *direction_due(struct direction *d, uint64_t now_ns, struct nc_run *run)
{
    run_bottleneck(d, now_ns);
    if (d->record)
        record_flush(d->record);
    struct due *due = schedule_first(&d->schedule);
    if (!due || due->time_ns > now_ns)
        return NULL;
    struct nc_super super;
    enum nc_super_status status = nc_super_read(due->packet->data, due->packet->len, &super);
    assert(status == NC_SUPER_OK); /* it was when it came in */
    nc_super_run(&super, due->packet->data + NC_VNET_LEN, due->first, due->parts, run);
    d->due_bytes = run->head_len + run->payload_len - NC_VNET_LEN + (uint64_t)super.header_len * (due->parts - 1);
    if (due->edits)
        edit_run(&super, due->edits, random_u64(d->keys[RANDOM_BIT], due->number), run, d->scratch);
    return due;
}

void direction_sent(struct direction *d, uint64_t now_ns, bool ok)
{
    struct due *due = schedule_first(&d->schedule);
    assert(due);
    if (ok) {
        d->stats.out_packets += due->parts;
        d->stats.out_bytes += d->due_bytes;
        d->stats.out_frames++;
        d->stats.last_out_ns = now_ns;
        histogram_add(&d->stats.lateness, now_ns - due->time_ns, due->parts);
    } else {
        d->stats.drops_write += due->parts;
    }
    if (due->packet->recorded)
        record_sent(d->record, due->number, due->parts, now_ns, ok ? NC_FATE_PASS : NC_FATE_WRITE);
    store_release(&d->store, due->packet, due->parts);
    schedule_pop(&d->schedule);
}

uint64_t direction_next_ns(struct direction *d)
{
    struct due *due = schedule_first(&d->schedule);
    uint64_t turn_ns = bottleneck_turn_ns(&d->bottleneck);
    return due && due->time_ns < turn_ns ? due->time_ns : turn_ns;
}

static json_t *drops_json(const struct direction_stats *s, uint64_t receive_ring_drops)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "loss", (json_int_t)s->drops[FATE_LOSS], "queue",
                     (json_int_t)s->drops[FATE_QUEUE], "aqm", (json_int_t)s->drops[FATE_AQM], "pace",
                     (json_int_t)s->drops[FATE_PACE], "memory", (json_int_t)s->drops_memory, "malformed",
                     (json_int_t)s->drops_malformed, "receive_ring", (json_int_t)receive_ring_drops, "write",
                     (json_int_t)s->drops_write);
}

json_t *direction_json(struct direction *d, uint64_t receive_ring_drops, uint64_t now_ns)
{
    const struct direction_stats *s = &d->stats;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "in_packets", (json_int_t)s->in_packets, "in_bytes",
        (json_int_t)s->in_bytes, "in_frames", (json_int_t)s->in_frames, "out_packets", (json_int_t)s->out_packets,
        "out_bytes", (json_int_t)s->out_bytes, "out_frames", (json_int_t)s->out_frames, "duplicated",
        (json_int_t)s->duplicated, "corrupted", (json_int_t)s->corrupted, "forged", (json_int_t)s->forged, "reordered",
        (json_int_t)s->reordered, "marked", (json_int_t)s->marked, "jitter_clamped", (json_int_t)d->jitter.clamped, "drops", drops_json(s, receive_ring_drops));
    json_t *held = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "queue_bytes", (json_int_t)bottleneck_occupancy(&d->bottleneck, now_ns),
        "queue_peak_bytes", (json_int_t)d->bottleneck.peak_bytes, "held_bytes", (json_int_t)d->store.held_bytes,
        "held_peak_bytes", (json_int_t)d->store.held_peak_bytes, "first_in_ns", (json_int_t)s->first_in_ns, "last_out_ns",
        (json_int_t)s->last_out_ns, "lateness", histogram_json(&s->lateness));
    json_object_update_new(object, held);
    if (d->record)
        json_object_set_new(object, "record", record_json(d->record));
    json_object_set_new(object, "achieved", achieved_json(d));
    return object;
}
