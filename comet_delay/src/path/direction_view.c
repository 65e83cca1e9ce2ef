#include "direction_view.h"

#include <string.h>

static void view_queue(const struct queue *queue, struct direction_queue *view)
{
    struct queue_fact facts[QUEUE_FACTS_MAX];
    size_t n = queue->discipline && queue->discipline->state ? queue->discipline->state(queue, facts) : 0;
    *view = (struct direction_queue){.bytes = queue->bytes, .packets = queue->packets, .facts_n = n};
    for (size_t i = 0; i < n; i++) {
        strncpy(view->facts[i].name, facts[i].name, DIRECTION_FACT_NAME - 1);
        view->facts[i].value = facts[i].value;
    }
}

void direction_view(struct direction *d, uint64_t now_ns, struct direction_view *view)
{
    memset(view, 0, sizeof *view); /* member by member: a kernel's stack has no room for a second struct */
    view->stats = d->stats;
    view->sent = channels_sent(&d->channels);
    view->loss = d->loss.count;
    view->loss_after = d->loss_after.count;
    view->jitter_drawn = d->jitter.drawn;
    view->jitter_added = d->jitter.added;
    view->jitter_clamped = d->jitter.clamped;
    view->queue_bytes = channels_occupancy(&d->channels, now_ns);
    view->queue_peak_bytes = d->channels.peak_bytes;
    view->held_bytes = d->pool.held_bytes;
    view->held_peak_bytes = d->pool.held_peak_bytes;
    view->channels = d->channels.used;
    for (unsigned i = 0; i < d->channels.used; i++)
        view_queue(&d->channels.each[i].queue, &view->queues[i]);
}
