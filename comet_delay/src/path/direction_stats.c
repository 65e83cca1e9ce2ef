#include "direction_stats.h"

#include "stats_json.h"

static json_t *rate_json(const struct line_count *sent)
{
    double bps = sent->busy_ns ? (double)sent->bytes * 8e9 / (double)sent->busy_ns : 0;
    return json_pack("{s:I, s:I, s:f}", "bytes", (json_int_t)sent->bytes, "busy_ns", (json_int_t)sent->busy_ns, "bps",
                     bps);
}

static json_t *loss_json(const struct loss_count *count)
{
    double ratio = count->packets ? (double)count->lost / (double)count->packets : 0;
    return json_pack("{s:I, s:I, s:I, s:f, s:f}", "packets", (json_int_t)count->packets, "lost",
                     (json_int_t)count->lost, "bursts", (json_int_t)count->bursts, "ratio_ppb", ratio * 1e9,
                     "mean_burst", count->bursts ? (double)count->lost / (double)count->bursts : 0.0);
}

static json_t *achieved_json(const struct direction_view *v)
{
    json_t *jitter = v->jitter_drawn.n ? json_pack("{s:o, s:o}", "drawn", sample_stats_json(&v->jitter_drawn), "added",
                                                   sample_stats_json(&v->jitter_added))
                                       : json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "rate", rate_json(&v->sent), "loss", loss_json(&v->loss), "loss_after",
                     loss_json(&v->loss_after), "jitter", jitter);
}

/* The backlog of each channel's queue, and the figures of its discipline. */
static json_t *queues_json(const struct direction_view *v)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < v->channels; i++) {
        const struct direction_queue *queue = &v->queues[i];
        json_t *object =
            json_pack("{s:I, s:I}", "bytes", (json_int_t)queue->bytes, "packets", (json_int_t)queue->packets);
        for (size_t k = 0; k < queue->facts_n; k++)
            json_object_set_new(object, queue->facts[k].name, json_integer((json_int_t)queue->facts[k].value));
        json_array_append_new(array, object);
    }
    return array;
}

static json_int_t load(const _Atomic uint64_t *value)
{
    return (json_int_t)atomic_load_explicit(value, memory_order_relaxed);
}

/* {"packets","skipped_packets","skipped_frames","skipped_copies","used_bytes","bytes"} as last published. */
static json_t *record_json(const struct recorder *r)
{
    const struct comet_record_ring *shared = r->shared;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "packets", load(&shared->packets), "skipped_packets",
                     load(&shared->skipped_packets), "skipped_frames", load(&shared->skipped_frames), "skipped_copies",
                     load(&shared->skipped_copies), "used_bytes",
                     (load(&shared->head) - load(&shared->tail)) * COMET_RECORD_SLOT, "bytes",
                     (json_int_t)(r->n * COMET_RECORD_SLOT));
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

json_t *direction_stats_json(const struct direction_view *v, const struct recorder *recorder,
                             uint64_t receive_ring_drops)
{
    const struct direction_stats *s = &v->stats;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "in_packets", (json_int_t)s->in_packets,
        "in_bytes", (json_int_t)s->in_bytes, "in_frames", (json_int_t)s->in_frames, "out_packets",
        (json_int_t)s->out_packets, "out_bytes", (json_int_t)s->out_bytes, "out_frames", (json_int_t)s->out_frames,
        "duplicated", (json_int_t)s->duplicated, "corrupted", (json_int_t)s->corrupted, "forged", (json_int_t)s->forged,
        "reordered", (json_int_t)s->reordered, "marked", (json_int_t)s->marked, "jitter_clamped",
        (json_int_t)v->jitter_clamped, "drops", drops_json(s, receive_ring_drops));
    json_t *held =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "queue_bytes", (json_int_t)v->queue_bytes, "queue_peak_bytes",
                  (json_int_t)v->queue_peak_bytes, "held_bytes", (json_int_t)v->held_bytes, "held_peak_bytes",
                  (json_int_t)v->held_peak_bytes, "first_in_ns", (json_int_t)s->first_in_ns, "last_out_ns",
                  (json_int_t)s->last_out_ns, "lateness", histogram_json(&s->lateness));
    json_object_update_new(object, held);
    if (recorder)
        json_object_set_new(object, "record", record_json(recorder));
    json_object_set_new(object, "queues", queues_json(v));
    json_object_set_new(object, "achieved", achieved_json(v));
    return object;
}
