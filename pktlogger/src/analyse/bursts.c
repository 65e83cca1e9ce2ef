/* Implements pl_losses_* of walk.h. A loss burst is lost parts of one transfer, sent within one smallest round-trip
 * time (at least 10 ms) of each other, with at most PL_BURST_BETWEEN arrived parts from one lost part to the next. A
 * queue that overflows while it is being served loses about every second packet and not a solid block. Independent
 * losses at a few per cent are hardly ever so close together. */
#include "thresholds.h"
#include "walk.h"

/* True when the last part that arrived before the burst met a queue at least half as long as the long queues on this
 * path. */
static bool met_full_queue(const struct pl_losses *losses, const struct pl_transfer *t)
{
    if (!losses->arrived || (double)t->typical_queue_ns < PL_QUEUE_NS || t->ends != PL_BOTH_ENDS)
        return false;
    int64_t queue_ns = losses->arrived_delay_ns - t->min_delay_ns;
    return (double)queue_ns >= PL_QUEUE_NS && queue_ns >= t->typical_queue_ns / PL_BURST_FULL_OF;
}

static bool continues(const struct pl_losses *losses, const struct pl_transfer *t, const struct pl_segment *segment)
{
    int64_t rtt_ns = pl_transfer_rtt_ns(t, segment->t_sent_ns), near_ns = rtt_ns > PL_APART_NS ? rtt_ns : PL_APART_NS;
    if (losses->bursts.n == 0 || losses->between > PL_BURST_BETWEEN)
        return false;
    return segment->t_sent_ns - losses->bursts.at[losses->bursts.n - 1].t1_ns <= near_ns;
}

static void extend(struct pl_burst *burst, const struct pl_segment *segment)
{
    burst->t1_ns = segment->t_sent_ns;
    burst->packets++;
    burst->bytes += segment->len;
    burst->full_queue = burst->full_queue || pl_box_queue(segment->box_fate);
    if (segment->seq < burst->seq)
        burst->seq = segment->seq;
    if (segment->seq + segment->len > burst->seq_end)
        burst->seq_end = segment->seq + segment->len;
}

/* Ends the last burst. A single lost packet is not a burst; the table of losses has it. */
static void add_event(const struct pl_losses *losses, const struct pl_transfer *t, struct pl_tables *tables)
{
    const struct pl_burst *burst = losses->bursts.n ? &losses->bursts.at[losses->bursts.n - 1] : NULL;
    if (!burst || burst->packets < 2)
        return;
    struct pl_event event = {
        .flow = t->number,
        .kind = PL_LOSS_BURST,
        .t0_ns = burst->t0_ns,
        .t1_ns = burst->t1_ns,
        .seq = burst->seq,
        .bytes = burst->bytes,
        .packets = burst->packets,
    };
    pl_tables_put_event(tables, &event);
}

int pl_losses_add(struct pl_losses *losses, const struct pl_transfer *t, struct pl_tables *tables,
                  const struct pl_segment *segment, uint64_t number, bool down)
{
    bool dropped = pl_box_dropped(segment->box_fate);
    if (!pl_lost(t, segment)) {
        losses->between++;
        if (segment->t_received_ns >= 0) {
            losses->arrived = true;
            losses->arrived_delay_ns = segment->delay_ns - pl_base_moved_ns(&t->seen_base, segment->t_sent_ns);
        }
        return 0;
    }
    if (!continues(losses, t, segment)) {
        struct pl_burst burst = {.t0_ns = segment->t_sent_ns,
                                 .seq = segment->seq,
                                 .first = number,
                                 .full_queue = !dropped && !down && met_full_queue(losses, t)};
        add_event(losses, t, tables);
        if (PL_APPEND(&losses->bursts, burst) < 0)
            return -1;
    }
    extend(&losses->bursts.at[losses->bursts.n - 1], segment);
    losses->between = 0;
    struct pl_lost_part part = {
        .number = number,
        .end = segment->seq + segment->len,
        .t_sent_ns = segment->t_sent_ns,
        .len = segment->len,
        .retransmission = segment->transmission > 1,
        .outage = dropped ? segment->box_fate == FATE_OUTAGE : down,
        .fate = segment->box_fate,
    };
    return PL_APPEND(&losses->parts, part);
}

void pl_losses_forget(struct pl_losses *losses, uint64_t since, uint64_t una)
{
    size_t kept = 0;
    for (size_t i = 0; i < losses->parts.n; i++)
        if (losses->parts.at[i].number >= since && losses->parts.at[i].end > una)
            losses->parts.at[kept++] = losses->parts.at[i];
    losses->parts.n = losses->kept = kept;
    kept = 0;
    for (size_t i = 0; i < losses->bursts.n; i++)
        if (i + 1 == losses->bursts.n || (losses->bursts.at[i].first >= since && losses->bursts.at[i].seq_end > una))
            losses->bursts.at[kept++] = losses->bursts.at[i];
    losses->bursts.n = kept;
}

void pl_losses_end(struct pl_losses *losses, const struct pl_transfer *t, struct pl_tables *tables)
{
    add_event(losses, t, tables);
    losses->bursts.n = 0;
}
