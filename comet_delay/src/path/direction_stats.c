#include "direction_stats.h"

#include <string.h>

void direction_stats_restart(struct direction *d, const struct params *params)
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

static json_t *rate_json(const struct channels *channels)
{
    struct line_count sent = channels_sent(channels);
    double bps = sent.busy_ns ? (double)sent.bytes * 8e9 / (double)sent.busy_ns : 0;
    return json_pack("{s:I, s:I, s:f}", "bytes", (json_int_t)sent.bytes, "busy_ns", (json_int_t)sent.busy_ns, "bps",
                     bps);
}

static json_t *loss_json(const struct loss_count *count)
{
    double ratio = count->packets ? (double)count->lost / (double)count->packets : 0;
    return json_pack("{s:I, s:I, s:I, s:f, s:f}", "packets", (json_int_t)count->packets, "lost",
                     (json_int_t)count->lost, "bursts", (json_int_t)count->bursts, "ratio_ppb", ratio * 1e9,
                     "mean_burst", count->bursts ? (double)count->lost / (double)count->bursts : 0.0);
}

static json_t *achieved_json(const struct direction *d)
{
    json_t *jitter = d->jitter.drawn.n ? json_pack("{s:o, s:o}", "drawn", sample_stats_json(&d->jitter.drawn), "added",
                                                   sample_stats_json(&d->jitter.added))
                                       : json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "rate", rate_json(&d->channels), "loss", loss_json(&d->loss.count),
                     "loss_after", loss_json(&d->loss_after.count), "jitter", jitter);
}

/* What waits in each channel's queue, and what its discipline says of itself. */
static json_t *queues_json(const struct channels *channels)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < channels->used; i++) {
        const struct queue *queue = &channels->each[i].queue;
        struct queue_fact facts[QUEUE_FACTS_MAX];
        size_t n = queue->discipline && queue->discipline->state ? queue->discipline->state(queue, facts) : 0;
        json_t *object =
            json_pack("{s:I, s:I}", "bytes", (json_int_t)queue->bytes, "packets", (json_int_t)queue->packets);
        for (size_t k = 0; k < n; k++)
            json_object_set_new(object, facts[k].name, json_integer((json_int_t)facts[k].value));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *drops_json(const struct direction_stats *s, uint64_t receive_ring_drops)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "loss",
                     (json_int_t)(s->drops[FATE_LOSS] + s->drops[FATE_OUTAGE]), "queue",
                     (json_int_t)s->drops[FATE_QUEUE], "aqm", (json_int_t)s->drops[FATE_AQM], "pace",
                     (json_int_t)s->drops[FATE_PACE], "drain", (json_int_t)s->drops[FATE_DRAIN], "memory",
                     (json_int_t)s->drops[FATE_MEMORY], "malformed", (json_int_t)s->drops_malformed, "receive_ring",
                     (json_int_t)receive_ring_drops, "write", (json_int_t)s->drops[FATE_WRITE], "policer",
                     (json_int_t)s->drops[FATE_POLICER]);
}

json_t *direction_stats_json(struct direction *d, uint64_t receive_ring_drops, uint64_t now_ns)
{
    const struct direction_stats *s = &d->stats;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "in_packets", (json_int_t)s->in_packets,
        "in_bytes", (json_int_t)s->in_bytes, "in_frames", (json_int_t)s->in_frames, "out_packets",
        (json_int_t)s->out_packets, "out_bytes", (json_int_t)s->out_bytes, "out_frames", (json_int_t)s->out_frames,
        "duplicated", (json_int_t)s->duplicated, "corrupted", (json_int_t)s->corrupted, "forged", (json_int_t)s->forged,
        "reordered", (json_int_t)s->reordered, "marked", (json_int_t)s->marked, "jitter_clamped",
        (json_int_t)d->jitter.clamped, "drops", drops_json(s, receive_ring_drops));
    json_t *held = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "queue_bytes", (json_int_t)channels_occupancy(&d->channels, now_ns),
        "queue_peak_bytes", (json_int_t)d->channels.peak_bytes, "held_bytes", (json_int_t)d->pool.held_bytes,
        "held_peak_bytes", (json_int_t)d->pool.held_peak_bytes, "first_in_ns", (json_int_t)s->first_in_ns,
        "last_out_ns", (json_int_t)s->last_out_ns, "lateness", histogram_json(&s->lateness));
    json_object_update_new(object, held);
    if (d->recorder)
        json_object_set_new(object, "record", recorder_json(d->recorder));
    json_object_set_new(object, "queues", queues_json(&d->channels));
    json_object_set_new(object, "achieved", achieved_json(d));
    return object;
}
