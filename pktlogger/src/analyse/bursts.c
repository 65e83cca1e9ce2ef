/* Finds loss bursts: lost parts of one transfer with at most NEAR arrived parts between neighbours, sent within one
 * smallest round-trip time (at least 10 ms) of each other. A queue that overflows while it is being served loses about
 * every second packet and not a solid block. Independent losses at a few per cent are hardly ever as close together. */
#include "transfer.h"

enum { NEAR = 8 };
#define NEAR_NS (10 * INT64_C(1000000))
#define QUEUE_NS INT64_C(1000000) /* an excess of delay below this is the machine's jitter, not a queue */

/* True when the box's record says that it dropped the part because a queue was full, or about to be. */
static bool dropped_by_queue(uint8_t fate)
{
    return fate == FATE_QUEUE || fate == FATE_AQM;
}

/* True when the last part that arrived before the burst met a queue at least half as long as the long queues on this
 * path. */
static bool met_full_queue(const struct pl_transfer *t, size_t first, size_t arrived_before)
{
    if (arrived_before >= first || t->typical_queue_ns < QUEUE_NS)
        return false;
    int64_t queue_ns = t->segments.at[arrived_before].delay_ns - t->min_delay_ns;
    return queue_ns >= QUEUE_NS && queue_ns >= t->typical_queue_ns / 2;
}

static bool continues(const struct pl_transfer *t, const struct pl_burst *burst, size_t i, size_t arrived_between)
{
    int64_t near_ns = t->min_rtt_ns > NEAR_NS ? t->min_rtt_ns : NEAR_NS;
    return arrived_between <= NEAR && t->segments.at[i].t_sent_ns - burst->t1_ns <= near_ns;
}

static void extend(struct pl_burst *burst, const struct pl_segment *segment, size_t i)
{
    burst->t1_ns = segment->t_sent_ns;
    burst->last = i;
    burst->packets++;
    burst->bytes += segment->len;
    burst->retransmissions += segment->transmission > 1;
    burst->full_queue = burst->full_queue || dropped_by_queue(segment->box_fate);
    if (segment->seq < burst->seq)
        burst->seq = segment->seq;
    if (segment->seq + segment->len > burst->seq_end)
        burst->seq_end = segment->seq + segment->len;
}

static int add_events(struct pl_transfer *t)
{
    for (size_t i = 0; i < t->bursts.n; i++) {
        const struct pl_burst *burst = &t->bursts.at[i];
        struct pl_event event = {
            .flow = t->number,
            .kind = PL_LOSS_BURST,
            .t0_ns = burst->t0_ns,
            .t1_ns = burst->t1_ns,
            .seq = burst->seq,
            .bytes = burst->bytes,
            .packets = burst->packets,
        };
        if (PL_APPEND(&t->events, event) < 0)
            return -1;
    }
    return 0;
}

int pl_find_bursts(struct pl_transfer *t)
{
    size_t between = 0, arrived = SIZE_MAX; /* the last part that arrived */
    for (size_t i = 0; i < t->segments.n; i++) {
        const struct pl_segment *segment = &t->segments.at[i];
        if (!pl_lost(t, segment)) {
            between++;
            arrived = segment->t_received_ns >= 0 ? i : arrived;
            continue;
        }
        if (t->bursts.n == 0 || !continues(t, &t->bursts.at[t->bursts.n - 1], i, between)) {
            struct pl_burst burst = {.t0_ns = segment->t_sent_ns,
                                     .seq = segment->seq,
                                     .first = i,
                                     .full_queue = !pl_box_dropped(segment->box_fate) && met_full_queue(t, i, arrived)};
            if (PL_APPEND(&t->bursts, burst) < 0)
                return -1;
        }
        extend(&t->bursts.at[t->bursts.n - 1], segment, i);
        between = 0;
    }
    return add_events(t);
}
