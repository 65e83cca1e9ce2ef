/* FQ-CoDel (RFC 8290): a queue for each flow, served in turn by deficit round robin with a list of new flows that goes
 * first, and CoDel in each queue. Choices that the RFC leaves open are as in Linux: flows are hashed to 1,024 queues by
 * addresses, protocol and ports, perturbed by the seed; when the limit is reached, packets are dropped from the head of
 * the flow with the most bytes, half of its bytes and at most 64 packets at a time. CoDel chooses the packets to mark
 * or drop as in codel.c. Two parts of CAKE (Høiland-Jørgensen, Täht, Morton, "Piece of CAKE", LANMAN 2018) are options.
 * With `ways` the hash selects a set of queues, and a flow gets a queue of the set that no other flow uses, if there is
 * one. With `ack_filter` a pure acknowledgement is dropped when the next packet in its queue is one of the same flow
 * with a later number; CAKE decides this when the later one arrives, with the same packets sent. A packet with SACK
 * blocks, ECN flags or data is never dropped in this way. The bounds of the box (--queue, --queue-packets) apply in
 * addition to those of the text. */
#include "laws.h"
#include "nc_range.h"

enum { FLOWS = 1024, DROP_BATCH = 64 };

struct flow {
    struct queued_list list;
    struct flow *next; /* in a list of flows, when `listed` */
    int64_t credits;   /* bytes that the flow may still send before the next flow's turn */
    struct codel_state law;
    bool listed;
    uint32_t tag; /* hash of the flow that this queue is assigned to */
};

struct flow_list {
    struct flow *head, *tail;
};

struct fq_codel {
    struct flow_list fresh, old; /* the RFC's lists of new and old queues */
    uint64_t quantum_bytes, since_ns, overlimit, acks_filtered, collisions;
    uint32_t largest_bytes;
    uint64_t backlog_bytes[FLOWS]; /* separate from the flows, so that the search for the largest reads few cache
                                    * lines */
    struct flow flows[FLOWS];
};

static void list_push(struct flow_list *list, struct flow *flow)
{
    flow->next = NULL;
    if (list->head)
        list->tail->next = flow;
    else
        list->head = flow;
    list->tail = flow;
}

/* Returns the queue for a packet's flow: the flow's own, a free one of its set, or one that another flow uses. */
static struct flow *flow_of(struct fq_codel *fq, const struct queue_settings *settings, const struct queued *packet)
{
    uint64_t hash = random_mix(packet->flow ^ settings->key), ways = nc_max(settings->aqm->fq_codel.ways, 1);
    uint64_t sets = FLOWS / ways;
    struct flow *set = &fq->flows[hash % sets * ways], *unused = NULL;
    uint32_t tag = (uint32_t)(hash >> 32);
    for (uint64_t way = 0; way < ways; way++) {
        if (set[way].listed && set[way].tag == tag)
            return &set[way];
        if (!set[way].listed && !unused)
            unused = &set[way];
    }
    if (!unused) {
        fq->collisions++;
        return &set[tag % ways];
    }
    if (unused->tag != tag && ways > 1)
        unused->law = (struct codel_state){0};
    unused->tag = tag;
    return unused;
}

/* Puts a packet into the queue of its flow. */
static void add(struct fq_codel *fq, const struct queue_settings *settings, struct queued *packet)
{
    struct flow *flow = flow_of(fq, settings, packet);
    uint64_t index = (uint64_t)(flow - fq->flows);
    queued_push(&flow->list, packet);
    fq->backlog_bytes[index] += packet->bytes;
    fq->since_ns = nc_max(fq->since_ns, packet->arrival_ns);
    if (flow->listed)
        return;
    flow->listed = true;
    flow->credits = (int64_t)fq->quantum_bytes;
    list_push(&fq->fresh, flow);
}

static struct queued *take(struct fq_codel *fq, struct flow *flow)
{
    struct queued *packet = queued_pop(&flow->list);
    fq->backlog_bytes[flow - fq->flows] -= packet->bytes;
    return packet;
}

/* The flow whose turn it is, or NULL when nothing waits. */
static struct flow *turn(struct fq_codel *fq)
{
    for (;;) {
        struct flow_list *list = fq->fresh.head ? &fq->fresh : &fq->old;
        struct flow *flow = list->head;
        if (!flow || (flow->credits > 0 && flow->list.head))
            return flow;
        list->head = flow->next;
        if (flow->credits <= 0)
            flow->credits += (int64_t)fq->quantum_bytes;
        else if (list == &fq->old) {
            flow->listed = false;
            continue;
        }
        list_push(&fq->old, flow); /* also an empty new flow, so that it cannot become new again at once (4.2) */
    }
}

static bool is_over(const struct queue *queue, const struct queue_settings *settings)
{
    const struct fq_codel_params *params = &settings->aqm->fq_codel;
    uint64_t packets = queue->packets + queue->line_packets;
    return packets > 1 && (queue->packets > params->limit_packets || queue->bytes > params->memory_bytes ||
                           (settings->packets_max && packets > settings->packets_max) ||
                           (settings->bytes_max && queue_backlog_bytes(queue) > settings->bytes_max));
}

/* Drops from the head of the flow that holds the most bytes. */
static void drop_batch(struct queue *queue, struct fq_codel *fq)
{
    size_t fattest = 0;
    for (size_t i = 1; i < FLOWS; i++)
        if (fq->backlog_bytes[i] > fq->backlog_bytes[fattest])
            fattest = i;
    uint64_t down_to = fq->backlog_bytes[fattest] / 2;
    for (int n = 0; n < DROP_BATCH && fq->flows[fattest].list.head; n++) {
        struct queued *packet = take(fq, &fq->flows[fattest]);
        queue_uncount(queue, packet);
        packet->fate = FATE_QUEUE;
        queued_push(&queue->dropped, packet);
        if (fq->backlog_bytes[fattest] <= down_to)
            break;
    }
    fq->overlimit++;
}

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct fq_codel *fq = queue->own;
    fq->quantum_bytes = settings->aqm->fq_codel.quantum_bytes;
    fq->largest_bytes = (uint32_t)nc_max(fq->largest_bytes, packet->bytes);
    add(fq, settings, packet);
    queue_count(queue, packet);
    while (queue->packets && is_over(queue, settings))
        drop_batch(queue, fq);
    return FATE_PASS;
}

/* Whether the packet after an acknowledgement supersedes it. */
static bool is_replaced(const struct queued *packet, const struct queued *behind)
{
    return packet->ack_only && behind && behind->ack_only && behind->flow == packet->flow &&
           (int32_t)(behind->ack - packet->ack) > 0;
}

static struct queued *dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate)
{
    struct fq_codel *fq = queue->own;
    fq->quantum_bytes = settings->aqm->fq_codel.quantum_bytes;
    struct flow *flow = turn(fq);
    *fate = FATE_PASS;
    if (!flow)
        return NULL;
    struct queued *packet = take(fq, flow);
    queue_uncount(queue, packet);
    if (settings->aqm->fq_codel.ack_filter && is_replaced(packet, flow->list.head)) {
        fq->acks_filtered++;
        *fate = FATE_AQM;
        return packet;
    }
    struct aqm_packet leaving = aqm_leaving(queue, settings, packet, now_ns);
    leaving.backlog_bytes = fq->backlog_bytes[flow - fq->flows];
    leaving.largest_bytes = fq->largest_bytes = (uint32_t)nc_max(fq->largest_bytes, packet->bytes);
    *fate = aqm_fate(packet, codel_leaves(&flow->law, &settings->aqm->codel, settings->aqm->ecn, &leaving));
    if (*fate == FATE_PASS)
        flow->credits -= packet->bytes;
    return packet;
}

/* If more than one packet waits, the line stays busy until after the last of them has arrived. */
static struct queue_next next(const struct queue *queue)
{
    const struct fq_codel *fq = queue->own;
    return (struct queue_next){queue->packets ? fq->since_ns : UINT64_MAX, NULL};
}

static uint64_t length(const struct flow_list *list)
{
    uint64_t n = 0;
    for (const struct flow *flow = list->head; flow; flow = flow->next)
        n++;
    return n;
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct fq_codel *fq = queue->own;
    facts[0] = (struct queue_fact){"new_flows", length(&fq->fresh)};
    facts[1] = (struct queue_fact){"old_flows", length(&fq->old)};
    facts[2] = (struct queue_fact){"overlimit", fq->overlimit};
    facts[3] = (struct queue_fact){"collisions", fq->collisions};
    facts[4] = (struct queue_fact){"acks_filtered", fq->acks_filtered};
    return 5;
}

static void start(struct queue *queue, const struct queue_settings *settings, struct queued_list *waiting)
{
    struct fq_codel *fq = queue->own;
    fq->quantum_bytes = settings->aqm->fq_codel.quantum_bytes;
    for (struct queued *packet; (packet = queued_pop(waiting));)
        add(fq, settings, packet);
}

static void leave(struct queue *queue, struct queued_list *waiting)
{
    struct fq_codel *fq = queue->own;
    for (struct flow *flow; (flow = turn(fq));) {
        struct queued *packet = take(fq, flow);
        flow->credits -= packet->bytes;
        queued_push(waiting, packet);
    }
}

const struct discipline discipline_fq_codel = {
    .own_bytes = sizeof(struct fq_codel),
    .by_flow = true,
    .enqueue = enqueue,
    .dequeue = dequeue,
    .next = next,
    .state = state,
    .start = start,
    .leave = leave,
};
