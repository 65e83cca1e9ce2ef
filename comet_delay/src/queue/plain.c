/* No active queue management: drop-tail and drop-head. */
#include "plain.h"

struct queue_next plain_next(const struct queue *queue)
{
    const struct queued *head = plain_list(queue)->head;
    return (struct queue_next){head ? head->arrival_ns : UINT64_MAX, NULL};
}

void plain_start(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting)
{
    (void)settings;
    queued_append(plain_list(queue), waiting);
}

void plain_leave(struct queue *queue, struct queued_list *waiting)
{
    queued_append(waiting, plain_list(queue));
}

struct queued *plain_dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                             enum fate *fate)
{
    (void)settings;
    (void)now_ns;
    *fate = FATE_PASS;
    return plain_take(queue);
}

struct queue_next plain_certain(const struct queue *queue)
{
    struct queue_next next = plain_next(queue);
    next.certain = plain_list(queue)->head;
    return next;
}

const struct discipline discipline_plain = {
    .own_bytes = sizeof(struct queued_list),
    .enqueue = plain_add,
    .dequeue = plain_dequeue,
    .next = plain_certain,
    .start = plain_start,
    .leave = plain_leave,
};
