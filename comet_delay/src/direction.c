#include "direction.h"

#include <assert.h>
#include <string.h>

#include "edit.h"
#include "random.h"

int direction_init(struct direction *d, unsigned index, const struct params *params, uint64_t seed,
                   uint64_t granularity_ns, uint64_t memory)
{
    memset(d, 0, sizeof *d);
    d->index = index;
    d->params = *params;
    d->granularity_ns = granularity_ns;
    for (unsigned stage = 0; stage < RANDOM_STAGES; stage++)
        d->keys[stage] = random_key(seed, index, stage);
    bottleneck_init(&d->bottleneck);
    schedule_init(&d->schedule);
    uint64_t held = params_held_bytes(params);
    return store_init(&d->store, memory, held < memory ? held : memory);
}

void direction_free(struct direction *d)
{
    bottleneck_free(&d->bottleneck);
    schedule_free(&d->schedule);
    store_free(&d->store);
}

struct stored *direction_reserve(struct direction *d)
{
    return store_reserve(&d->store, NC_VNET_LEN + DIRECTION_FRAME_MAX);
}

static bool hit(const struct direction *d, enum random_stage stage, const struct wire_packet *packet, uint64_t ppb)
{
    return random_hit(d->keys[stage], packet->number, ppb);
}

static void drop(struct direction *d, const struct wire_packet *packet, enum fate fate)
{
    d->stats.drops[fate]++;
    store_release(&d->store, packet->stored, 1);
}

static void schedule(struct direction *d, const struct wire_packet *packet)
{
    if (schedule_add(&d->schedule, packet, d->granularity_ns))
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

/* What comes behind the bottleneck. */
static void propagate(struct direction *d, struct wire_packet *packet)
{
    stage_delay(&d->delay_last_ns, &d->params, packet);
    if (hit(d, RANDOM_LOSS_AFTER, packet, d->params.loss_after_ppb)) {
        drop(d, packet, FATE_LOSS);
        return;
    }
    damage(d, packet);
    if (hit(d, RANDOM_REORDER, packet, d->params.reorder_ppb)) {
        packet->time_ns += d->params.reorder_by_ns;
        d->stats.reordered++;
    }
    bool twice = hit(d, RANDOM_DUPLICATE, packet, d->params.duplicate_ppb);
    if (twice)
        store_retain(&d->store, packet->stored);
    schedule(d, packet);
    if (twice) {
        d->stats.duplicated++;
        schedule(d, packet);
    }
}

/* Everything at the bottleneck that is settled by `until_ns` moves on. */
static void run_bottleneck(struct direction *d, uint64_t until_ns)
{
    struct wire_packet packet;
    enum fate fate;
    while (bottleneck_next(&d->bottleneck, &d->params, until_ns, &packet, &fate)) {
        if (fate == FATE_PASS)
            propagate(d, &packet);
        else
            drop(d, &packet, fate);
    }
}

/* One wire packet into the pipeline. */
static void offer(struct direction *d, struct wire_packet *packet)
{
    stage_access(&d->access, &d->params, packet);
    if (hit(d, RANDOM_LOSS_BEFORE, packet, d->params.loss_ppb)) {
        drop(d, packet, FATE_LOSS);
        return;
    }
    run_bottleneck(d, packet->time_ns);
    if (!d->params.rate_bps && bottleneck_turn_ns(&d->bottleneck) == UINT64_MAX) {
        if (packet->time_ns < d->bottleneck.line.exit_ns) /* the rate was just taken away: those before go first */
            packet->time_ns = d->bottleneck.line.exit_ns;
        propagate(d, packet);
        return;
    }
    enum fate fate = bottleneck_offer(&d->bottleneck, &d->params, packet);
    if (fate != FATE_PASS)
        drop(d, packet, fate);
    run_bottleneck(d, packet->time_ns);
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
    store_commit(&d->store, stored, super.parts + 1); /* one more, so that it lives until all parts are offered */
    for (uint32_t i = 0; i < super.parts; i++) {
        struct wire_packet packet = {.number = d->stats.in_packets++,
                                     .time_ns = now_ns,
                                     .stored = stored,
                                     .part = i,
                                     .l2_bytes = nc_super_wire_len(&super, i),
                                     .ip_bytes = nc_super_ip_len(&super, i),
                                     .ect = super.packet.ecn != 0};
        d->stats.in_bytes += packet.l2_bytes;
        offer(d, &packet);
    }
    store_release(&d->store, stored, 1);
}

void direction_refuse(struct direction *d, const uint8_t *data, uint32_t len)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (nc_super_read(data, len, &super) != NC_SUPER_OK) {
        d->stats.drops_malformed++;
        return;
    }
    d->stats.in_packets += super.parts;
    d->stats.drops_memory += super.parts;
}

const struct due *direction_due(struct direction *d, uint64_t now_ns, struct nc_run *run)
{
    run_bottleneck(d, now_ns);
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
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "in_packets", (json_int_t)s->in_packets, "in_bytes",
        (json_int_t)s->in_bytes, "in_frames", (json_int_t)s->in_frames, "out_packets", (json_int_t)s->out_packets,
        "out_bytes", (json_int_t)s->out_bytes, "out_frames", (json_int_t)s->out_frames, "duplicated",
        (json_int_t)s->duplicated, "corrupted", (json_int_t)s->corrupted, "forged", (json_int_t)s->forged, "reordered",
        (json_int_t)s->reordered, "marked", (json_int_t)s->marked, "drops", drops_json(s, receive_ring_drops));
    json_t *held = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "queue_bytes", (json_int_t)bottleneck_occupancy(&d->bottleneck, now_ns),
        "queue_peak_bytes", (json_int_t)d->bottleneck.peak_bytes, "held_bytes", (json_int_t)d->store.held_bytes,
        "held_peak_bytes", (json_int_t)d->store.held_peak_bytes, "first_in_ns", (json_int_t)s->first_in_ns, "last_out_ns",
        (json_int_t)s->last_out_ns, "lateness", histogram_json(&s->lateness));
    json_object_update_new(object, held);
    return object;
}
