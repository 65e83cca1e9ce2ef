#include "direction.h"

#include <assert.h>
#include <string.h>

#include "random.h"

enum { STAGE_LOSS_BEFORE = 0 }; /* numbers for random_key: never reused, so that a seed keeps its meaning */

int direction_init(struct direction *d, unsigned index, const struct params *params, uint64_t seed,
                   uint64_t granularity_ns, uint64_t memory)
{
    memset(d, 0, sizeof *d);
    d->index = index;
    d->params = *params;
    d->granularity_ns = granularity_ns;
    d->loss_key = random_key(seed, index, STAGE_LOSS_BEFORE);
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

/* One wire packet through all stages, in the order of the pipeline. */
static enum fate offer(struct direction *d, struct wire_packet *packet)
{
    enum fate fate;
    if ((fate = stage_access(&d->access, &d->params, packet)) != FATE_PASS ||
        (fate = stage_loss(d->loss_key, &d->params, packet)) != FATE_PASS ||
        (fate = stage_bottleneck(&d->bottleneck, &d->params, packet)) != FATE_PASS ||
        (fate = stage_delay(&d->delay_last_ns, &d->params, packet)) != FATE_PASS)
        return fate;
    return FATE_PASS;
}

/* Offers every part and pushes the runs that remain. Returns how many. */
static uint32_t offer_parts(struct direction *d, const struct nc_super *super, struct stored *packet, uint64_t now_ns)
{
    struct due run = {.packet = packet};
    uint64_t run_start_ns = 0;
    uint32_t runs = 0;
    for (uint32_t i = 0; i < super->parts; i++) {
        struct wire_packet part = {.number = d->stats.in_packets++,
                                   .time_ns = now_ns,
                                   .l2_bytes = nc_super_wire_len(super, i),
                                   .ip_bytes = nc_super_ip_len(super, i)};
        d->stats.in_bytes += part.l2_bytes;
        enum fate fate = offer(d, &part);
        d->stats.drops[fate]++;
        bool extends = fate == FATE_PASS && run.parts && part.time_ns - run_start_ns <= d->granularity_ns;
        if (run.parts && !extends) {
            schedule_push(&d->schedule, run);
            runs++;
            run.parts = 0;
        }
        if (fate != FATE_PASS)
            continue;
        if (run.parts++ == 0) {
            run.first = i;
            run_start_ns = part.time_ns;
        }
        run.time_ns = part.time_ns;
    }
    if (run.parts) {
        schedule_push(&d->schedule, run);
        runs++;
    }
    return runs;
}

void direction_take(struct direction *d, struct stored *packet, uint32_t len, uint64_t now_ns)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (d->stats.in_frames == 1)
        d->stats.first_in_ns = now_ns;
    if (nc_super_read(packet->data, len, &super) != NC_SUPER_OK || super.parts > DIRECTION_PARTS_MAX) {
        d->stats.drops_malformed++;
        return;
    }
    if (!schedule_reserve(&d->schedule, super.parts)) {
        d->stats.in_packets += super.parts;
        d->stats.drops_memory += super.parts;
        return;
    }
    packet->len = len;
    uint32_t runs = offer_parts(d, &super, packet, now_ns);
    if (runs)
        store_commit(&d->store, packet, runs);
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
    struct due *due = schedule_first(&d->schedule);
    if (!due || due->time_ns > now_ns)
        return NULL;
    struct nc_super super;
    enum nc_super_status status = nc_super_read(due->packet->data, due->packet->len, &super);
    assert(status == NC_SUPER_OK); /* it was when it came in */
    nc_super_run(&super, due->packet->data + NC_VNET_LEN, due->first, due->parts, run);
    d->due_bytes = run->head_len + run->payload_len - NC_VNET_LEN + (uint64_t)super.header_len * (due->parts - 1);
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
    store_release(&d->store, due->packet);
    schedule_pop(&d->schedule);
}

uint64_t direction_next_ns(struct direction *d)
{
    struct due *due = schedule_first(&d->schedule);
    return due ? due->time_ns : UINT64_MAX;
}

json_t *direction_json(struct direction *d, uint64_t receive_ring_drops, uint64_t now_ns)
{
    const struct direction_stats *s = &d->stats;
    json_t *drops = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "loss", (json_int_t)s->drops[FATE_LOSS], "queue",
                              (json_int_t)s->drops[FATE_QUEUE], "memory", (json_int_t)s->drops_memory, "malformed",
                              (json_int_t)s->drops_malformed, "receive_ring", (json_int_t)receive_ring_drops, "write",
                              (json_int_t)s->drops_write);
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "in_packets", (json_int_t)s->in_packets, "in_bytes", (json_int_t)s->in_bytes,
        "in_frames", (json_int_t)s->in_frames, "out_packets", (json_int_t)s->out_packets, "out_bytes",
        (json_int_t)s->out_bytes, "out_frames", (json_int_t)s->out_frames, "drops", drops);
    json_t *held = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "queue_bytes", (json_int_t)bottleneck_occupancy(&d->bottleneck, now_ns),
        "queue_peak_bytes", (json_int_t)d->bottleneck.peak_bytes, "held_bytes", (json_int_t)d->store.held_bytes,
        "held_peak_bytes", (json_int_t)d->store.held_peak_bytes, "first_in_ns", (json_int_t)s->first_in_ns, "last_out_ns",
        (json_int_t)s->last_out_ns, "lateness", histogram_json(&s->lateness));
    json_object_update_new(object, held);
    return object;
}
