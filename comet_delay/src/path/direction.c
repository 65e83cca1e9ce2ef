#include "direction.h"

#include <assert.h>
#include <string.h>

#include "line_told.h"
#include "nc_range.h"
#include "packet_edit.h"
#include "pipeline.h"
#include "random.h"

int direction_init(struct direction *d, unsigned index, uint64_t seed, uint64_t granularity_ns, uint64_t memory,
                   uint64_t prefault)
{
    memset(d, 0, sizeof *d);
    d->index = index;
    d->granularity_ns = granularity_ns;
    for (unsigned stage = 0; stage < RANDOM_STAGES; stage++)
        d->keys[stage] = random_key(seed, index, stage);
    channels_init(&d->channels, d->keys[RANDOM_AQM]);
    schedule_init(&d->schedule);
    loss_state_init(&d->loss, 0);
    loss_state_init(&d->loss_after, 0);
    return packet_pool_init(&d->pool, memory, nc_min(prefault, memory));
}

void direction_free(struct direction *d)
{
    channels_free(&d->channels);
    schedule_free(&d->schedule);
    pacer_free(&d->pacer);
    drain_free(&d->drain);
    models_free(&d->models);
    packet_pool_free(&d->pool);
}

/* Restarts the counters of models whose parameters change. */
static void count_anew(struct direction *d, const struct params *params)
{
    const struct params *old = &d->params;
    bool other_packets = strcmp(params->only, old->only) != 0;
    if (other_packets)
        d->loss.count = d->loss_after.count = (struct loss_count){0};
    if (other_packets || strcmp(params->jitter, old->jitter) != 0 || params->jitter_order != old->jitter_order)
        jitter_count_anew(&d->jitter);
    if (params->rate_bps != old->rate_bps || strcmp(params->rate_trace, old->rate_trace) != 0 ||
        params->framing != old->framing)
        channels_count_anew(&d->channels);
}

void direction_set(struct direction *d, const struct params *params, const struct models *models, uint64_t now_ns)
{
    pipeline_advance(d, now_ns); /* packets already on the line are sent at the old rate */
    count_anew(d, params);
    /* a model keeps its state if its text is unchanged, so that a change of one parameter does not affect another */
    if (strcmp(params->loss, d->params.loss) != 0)
        loss_state_restart(&d->loss, now_ns);
    if (strcmp(params->loss_after, d->params.loss_after) != 0)
        loss_state_restart(&d->loss_after, now_ns);
    if (strcmp(params->rate_trace, d->params.rate_trace) != 0)
        channels_restart_trace(&d->channels, d->trace_origin_ns = now_ns);
    models_free(&d->models);
    d->models = *models;
    d->params = *params;
    direction_tell_line(d, now_ns);
}

void direction_tell_line(struct direction *d, uint64_t now_ns)
{
    if (d->recorder)
        line_tell(d->recorder, &d->params, &d->models, d->trace_origin_ns, now_ns);
}

struct packet_buffer *direction_reserve(struct direction *d)
{
    return packet_pool_reserve(&d->pool, NC_VNET_LEN + DIRECTION_FRAME_MAX);
}

static void offer_parts(struct direction *d, const struct nc_super *super, struct packet_buffer *buffer,
                        uint64_t now_ns)
{
    bool flows =
        d->params.harmonize_bps || channels_by_flow(&d->params) || discipline_of(d->models.aqm.algorithm)->by_flow;
    uint64_t flow = flows ? pipeline_flow(&super->packet) : 0;
    for (uint32_t i = 0; i < super->parts; i++) {
        struct wire_packet packet = {.number = d->stats.in_packets++,
                                     .time_ns = now_ns,
                                     .buffer = buffer,
                                     .flow = flow,
                                     .part = i,
                                     .l2_bytes = nc_super_wire_len(super, i),
                                     .ip_bytes = nc_super_ip_len(super, i),
                                     .ect = super->packet.ecn != 0,
                                     .ect1 = super->packet.ecn & 1,
                                     .ack = super->packet.tcp.ack,
                                     .ack_only = flows && pipeline_ack_only(super),
                                     .exempt = d->models.only.n && pipeline_exempts(&d->models.only, super, i)};
        d->stats.in_bytes += packet.l2_bytes;
        pipeline_offer(d, &packet);
    }
}

void direction_take(struct direction *d, struct packet_buffer *buffer, uint32_t len, uint64_t now_ns)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (d->stats.in_frames == 1)
        d->stats.first_in_ns = now_ns;
    if (nc_super_read(buffer->data, len, &super) != NC_SUPER_OK || super.parts > DIRECTION_PARTS_MAX) {
        d->stats.drops_malformed++;
        return;
    }
    buffer->len = len;
    buffer->recorded = d->recorder && recorder_frame(d->recorder, buffer->data, &super, d->stats.in_packets, now_ns);
    packet_pool_commit(&d->pool, buffer, super.parts + 1); /* + 1: kept until all parts are offered */
    offer_parts(d, &super, buffer, now_ns);
    packet_pool_release(&d->pool, buffer, 1);
}

void direction_refuse(struct direction *d, const uint8_t *data, uint32_t len, uint64_t now_ns)
{
    struct nc_super super;
    d->stats.in_frames++;
    if (nc_super_read(data, len, &super) != NC_SUPER_OK) {
        d->stats.drops_malformed++;
        return;
    }
    if (d->recorder && recorder_frame(d->recorder, data, &super, d->stats.in_packets, now_ns))
        for (uint32_t i = 0; i < super.parts; i++)
            recorder_decided(d->recorder, d->stats.in_packets + i, 0, now_ns, FATE_MEMORY, 0, false);
    d->stats.in_packets += super.parts;
    d->stats.drops[FATE_MEMORY] += super.parts;
}

const struct due *direction_due(struct direction *d, uint64_t now_ns, struct nc_run *run)
{
    pipeline_advance(d, now_ns);
    if (d->recorder)
        recorder_flush(d->recorder);
    struct due *due = schedule_first(&d->schedule);
    if (!due || due->time_ns > now_ns)
        return NULL;
    struct nc_super super;
    enum nc_super_status status = nc_super_read(due->buffer->data, due->buffer->len, &super);
    assert(status == NC_SUPER_OK); /* it was valid when it arrived */
    nc_super_run(&super, due->buffer->data + NC_VNET_LEN, due->first, due->parts, run);
    d->due_bytes = run->head_len + run->payload_len - NC_VNET_LEN + (uint64_t)super.header_len * (due->parts - 1);
    if (due->edits)
        packet_edit_apply(&super, due->edits, random_u64(d->keys[RANDOM_BIT], due->number), run, d->scratch);
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
        d->stats.drops[FATE_WRITE] += due->parts;
    }
    if (due->buffer->recorded)
        recorder_sent(d->recorder, due->number, due->parts, now_ns, ok ? FATE_PASS : FATE_WRITE);
    packet_pool_release(&d->pool, due->buffer, due->parts);
    schedule_pop(&d->schedule);
}

uint64_t direction_next_ns(struct direction *d)
{
    struct due *due = schedule_first(&d->schedule);
    uint64_t turn_ns = channels_turn_ns(&d->channels);
    return due && due->time_ns < turn_ns ? due->time_ns : turn_ns;
}
