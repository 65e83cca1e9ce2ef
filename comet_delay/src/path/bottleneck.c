#include "bottleneck.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_clock.h"
#include "nc_log.h"
#include "nc_range.h"

enum { CHUNK = 1024 };

#define AHEAD_NS NC_NS_PER_MS

/* A packet in the queue or on the line. */
struct waiting {
    struct queued queued;      /* the first member: disciplines know this part */
    struct wire_packet packet; /* its time: arrival until decided, then exit */
};

struct waiting_chunk {
    struct waiting_chunk *next;
    uint32_t used; /* packets of this chunk that have been in use */
    struct waiting packets[CHUNK];
};

void bottleneck_init(struct bottleneck *b, uint64_t aqm_key)
{
    *b = (struct bottleneck){.aqm_key = aqm_key};
}

void bottleneck_free(struct bottleneck *b)
{
    for (struct waiting_chunk *chunk = b->chunks; chunk;) {
        struct waiting_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(b->queue.own);
    *b = (struct bottleneck){0};
}

static struct waiting *whole(struct queued *queued)
{
    return (struct waiting *)queued;
}

/* Room for a packet, or NULL without memory. */
static struct waiting *room(struct bottleneck *b)
{
    struct queued *unused = b->unused;
    if (unused) {
        b->unused = unused->next;
        return whole(unused);
    }
    if (!b->chunks || b->chunks->used == CHUNK) {
        struct waiting_chunk *chunk = malloc(sizeof *chunk);
        if (!chunk)
            return NULL;
        chunk->next = b->chunks;
        chunk->used = 0;
        b->chunks = chunk;
    }
    return &b->chunks->packets[b->chunks->used++];
}

static void give_back(struct bottleneck *b, struct queued *queued)
{
    queued->next = b->unused;
    b->unused = queued;
}

static struct queue_settings settings_of(const struct bottleneck *b, const struct params *params,
                                         const struct models *models)
{
    return (struct queue_settings){.aqm = &models->aqm,
                                   .bytes_max = params->queue_bytes,
                                   .packets_max = params->queue_packets,
                                   .key = b->aqm_key,
                                   .drop_head = params->queue_drop == QUEUE_DROP_HEAD};
}

/* Gives the queue the configured discipline if it has another one. */
static void follow(struct bottleneck *b, const struct queue_settings *settings)
{
    if (b->queue.discipline && b->queue.algorithm == settings->aqm->algorithm)
        return;
    void *own = calloc(1, discipline_of(settings->aqm->algorithm)->own_bytes);
    if (!own)
        nc_die(NC_EXIT_MISSING, "out of memory for the queue");
    free(queue_change(&b->queue, settings, own));
}

uint64_t bottleneck_occupancy(struct bottleneck *b, uint64_t now_ns)
{
    for (struct queued *first; (first = b->on_line.head) && whole(first)->packet.time_ns <= now_ns;) {
        queued_pop(&b->on_line);
        b->queue.line_bytes -= first->bytes;
        b->queue.line_packets--;
        give_back(b, first);
    }
    assert(b->on_line.head || (b->queue.line_bytes == 0 && b->queue.line_packets == 0));
    return queue_backlog_bytes(&b->queue);
}

enum fate bottleneck_offer(struct bottleneck *b, const struct params *params, const struct models *models,
                           const struct wire_packet *packet)
{
    const struct queue_settings settings = settings_of(b, params, models);
    follow(b, &settings);
    bottleneck_occupancy(b, packet->time_ns);
    struct waiting *waiting = room(b);
    if (!waiting)
        return FATE_QUEUE;
    uint32_t bytes = rate_trace_bytes(&models->rate, wire_packet_line_bytes(packet, params), packet->ip_bytes);
    waiting->packet = *packet;
    waiting->queued = (struct queued){.arrival_ns = packet->time_ns,
                                      .number = packet->number,
                                      .flow = packet->flow,
                                      .bytes = bytes,
                                      .ect = packet->ect,
                                      .ect1 = packet->ect1,
                                      .ack = packet->ack,
                                      .ack_only = packet->ack_only};
    enum fate fate = b->queue.discipline->enqueue(&b->queue, &settings, &waiting->queued);
    if (fate != FATE_PASS)
        give_back(b, &waiting->queued);
    return fate;
}

uint64_t bottleneck_turn_ns(const struct bottleneck *b)
{
    if (b->queue.dropped.head)
        return b->line.exit_ns;
    if (!b->queue.packets)
        return UINT64_MAX;
    return nc_max(b->line.exit_ns, b->queue.discipline->next(&b->queue).time_ns);
}

/* When the last bit of a packet is out. */
static uint64_t line_exit(struct serial_line *line, struct rate_trace_state *trace, const struct rate_trace *rate,
                          const struct queued *queued, uint64_t turn_ns)
{
    if (rate->kind != RATE_CONSTANT)
        return line->exit_ns = nc_max(turn_ns, rate_trace_exit(trace, rate, queued->arrival_ns, queued->bytes));
    return rate->rate_bps ? serial_line_send(line, rate->rate_bps, turn_ns, queued->bytes) : turn_ns;
}

/* Puts a packet on the line if its last bit is out by `latest_ns`; otherwise returns false. The packet's time becomes
 * when its last bit leaves; without a rate, when its turn comes. */
static bool put_on_line(struct bottleneck *b, const struct models *models, struct queued *queued, uint64_t turn_ns,
                        uint64_t latest_ns)
{
    struct serial_line line = b->line;
    struct rate_trace_state trace = b->trace;
    uint64_t exit_ns = line_exit(&line, &trace, &models->rate, queued, turn_ns);
    if (exit_ns > latest_ns)
        return false;
    b->line = line;
    b->trace = trace;
    b->sent.bytes += queued->bytes;
    b->sent.busy_ns += exit_ns - turn_ns;
    whole(queued)->packet.time_ns = exit_ns;
    return true;
}

/* Returns the packet for the next stage, whatever its fate. */
static void copy_out(const struct queued *queued, struct wire_packet *packet)
{
    *packet = ((const struct waiting *)queued)->packet;
    if (queued->marked)
        packet->edits |= EDIT_CE;
}

/* Releases a packet that the queue dropped. The line continues with the next packet at once. */
static void drop(struct bottleneck *b, struct queued *queued, struct wire_packet *packet)
{
    copy_out(queued, packet);
    packet->time_ns = b->line.exit_ns;
    give_back(b, queued);
}

/* Returns a packet that was put on the line. */
static void send(struct bottleneck *b, struct queued *queued, struct wire_packet *packet)
{
    copy_out(queued, packet);
    queued_push(&b->on_line, queued);
    b->queue.line_bytes += queued->bytes;
    b->queue.line_packets++;
}

bool bottleneck_next(struct bottleneck *b, const struct params *params, const struct models *models, uint64_t until_ns,
                     struct wire_packet *packet, enum fate *fate)
{
    struct queue *queue = &b->queue;
    if (queue->dropped.head) {
        struct queued *dropped = queued_pop(&queue->dropped);
        *fate = (enum fate)dropped->fate;
        drop(b, dropped, packet);
        return true;
    }
    if (!queue->packets || (b->line.exit_ns > until_ns && b->line.exit_ns - until_ns > AHEAD_NS))
        return false;
    const struct queue_settings settings = settings_of(b, params, models);
    follow(b, &settings);
    struct queue_next next = queue->discipline->next(queue);
    uint64_t turn_ns = nc_max(b->line.exit_ns, next.time_ns);
    bool ahead = turn_ns > until_ns;
    if (ahead &&
        (settings.drop_head || !next.certain || !put_on_line(b, models, next.certain, turn_ns, until_ns + AHEAD_NS)))
        return false;
    struct queued *queued = queue->discipline->dequeue(queue, &settings, turn_ns, fate);
    if (!queued)
        return false;
    if (*fate != FATE_PASS) {
        drop(b, queued, packet);
        return true;
    }
    if (!ahead)
        put_on_line(b, models, queued, turn_ns, UINT64_MAX);
    send(b, queued, packet);
    return true;
}
