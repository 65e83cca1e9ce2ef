/* ECN as in data centres (RFC 8257, section 3.1; Alizadeh and others, "Data Center TCP", SIGCOMM 2010): a packet is
 * marked when it finds K packets or bytes at the bottleneck, including those on the line. There is no average and no
 * randomness. A packet that is not ECN-capable is dropped then, as by switches with WRED, or waits as if there were no
 * step. RED cannot be configured for this: it needs min below max, and beyond max it drops packets that it could
 * mark. */
#include "plain.h"
#include "laws.h"

struct step {
    struct queued_list list;
    uint64_t over_packets;
};

static bool is_over(const struct queue *queue, const struct step_params *params)
{
    return (params->packets && queue->packets + queue->line_packets >= params->packets) ||
           (params->bytes && queue_backlog_bytes(queue) >= params->bytes);
}

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct step *step = queue->own;
    const struct step_params *params = &settings->aqm->step;
    if (is_over(queue, params)) {
        step->over_packets++;
        if (!packet->ect && params->drop)
            return FATE_AQM;
        packet->marked = packet->ect;
    }
    return plain_add(queue, settings, packet);
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct step *step = queue->own;
    facts[0] = (struct queue_fact){"over_packets", step->over_packets};
    return 1;
}

const struct discipline discipline_step = {
    .own_bytes = sizeof(struct step),
    .enqueue = enqueue,
    .dequeue = plain_dequeue,
    .next = plain_certain,
    .state = state,
    .start = plain_start,
    .leave = plain_leave,
};
