/* One list of packets in the order of arrival, within the queue's bounds: the common part of disciplines with one
 * queue. The list is the first member of their own memory. */
#ifndef COMET_PLAIN_H
#define COMET_PLAIN_H

#include "discipline.h"

static inline struct queued_list *plain_list(const struct queue *queue)
{
    return queue->own;
}

static inline struct queued *plain_take(struct queue *queue)
{
    struct queued *packet = queued_pop(plain_list(queue));
    if (packet)
        queue_uncount(queue, packet);
    return packet;
}

/* Adds a packet; with drop-head it drops the oldest waiting packets to make room. FATE_QUEUE: there is no room. */
static inline enum fate plain_add(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    while (settings->drop_head && queue->packets && !queue_fits(queue, settings, packet->bytes)) {
        struct queued *oldest = plain_take(queue);
        oldest->fate = FATE_QUEUE;
        queued_push(&queue->dropped, oldest);
    }
    if (!queue_fits(queue, settings, packet->bytes))
        return FATE_QUEUE;
    queued_push(plain_list(queue), packet);
    queue_count(queue, packet);
    return FATE_PASS;
}

/* The `next` of disciplines that judge a packet when it leaves. */
struct queue_next plain_next(const struct queue *queue);
/* `dequeue` and `next` of disciplines that judge a packet on arrival: with drop-tail, nothing later can change the fate
 * of an accepted packet. */
struct queued *plain_dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                             enum fate *fate);
struct queue_next plain_certain(const struct queue *queue);
void plain_start(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting);
void plain_leave(struct queue *queue, struct queued_list *waiting);

#endif
