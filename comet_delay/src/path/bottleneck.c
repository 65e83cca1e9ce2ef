#include "bottleneck.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_clock.h"
#include "nc_log.h"
#include "nc_range.h"

enum { RING_FIRST = 4096 };

#define AHEAD_NS NC_NS_PER_MS

struct queued {
    struct wire_packet packet; /* its time: arrival until decided, then exit */
    uint64_t arrival_ns;
    uint32_t bytes; /* it counts for; 0 once dropped */
};

void bottleneck_init(struct bottleneck *b, uint64_t aqm_key)
{
    *b = (struct bottleneck){.aqm_key = aqm_key, .mask = RING_FIRST - 1, .ring = malloc(RING_FIRST * sizeof *b->ring)};
    if (!b->ring)
        nc_die(NC_EXIT_MISSING, "out of memory for the queue");
}

void bottleneck_free(struct bottleneck *b)
{
    free(b->ring);
    b->ring = NULL;
}

/* Twice the room. An unbounded queue grows by doubling, so this is rare and its cost amortises. */
static bool grow(struct bottleneck *b)
{
    uint64_t size = (b->mask + 1) * 2;
    struct queued *ring = malloc(size * sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t i = b->out; i != b->head; i++)
        ring[i & (size - 1)] = b->ring[i & b->mask];
    free(b->ring);
    b->ring = ring;
    b->mask = size - 1;
    return true;
}

static struct queued *at(const struct bottleneck *b, uint64_t cursor)
{
    return &b->ring[cursor & b->mask];
}

/* Takes a packet out of the count of the queue. */
static void uncount(struct bottleneck *b, struct queued *queued)
{
    if (queued->bytes)
        b->packets--;
    b->bytes -= queued->bytes;
    queued->bytes = 0;
}

uint64_t bottleneck_occupancy(struct bottleneck *b, uint64_t now_ns)
{
    while (b->out != b->decided && at(b, b->out)->packet.time_ns <= now_ns)
        uncount(b, at(b, b->out++));
    assert(b->out != b->head || (b->bytes == 0 && b->packets == 0));
    return b->bytes;
}

static bool fits(const struct bottleneck *b, const struct params *params, uint32_t bytes)
{
    return b->packets == 0 || ((!params->queue_bytes || b->bytes + bytes <= params->queue_bytes) &&
                               (!params->queue_packets || b->packets + 1 <= params->queue_packets));
}

/* Drop-head: drops the oldest packets that wait until the newcomer fits. */
static void evict(struct bottleneck *b, const struct params *params, uint32_t bytes)
{
    while (!fits(b, params, bytes) && b->decided + b->evicted != b->head)
        uncount(b, at(b, b->decided + b->evicted++));
}

enum fate bottleneck_offer(struct bottleneck *b, const struct params *params, const struct models *models,
                           const struct wire_packet *packet)
{
    uint32_t bytes = rate_trace_bytes(&models->rate, wire_packet_line_bytes(packet, params), packet->ip_bytes);
    struct queued queued = {*packet, packet->time_ns, bytes};
    bottleneck_occupancy(b, packet->time_ns);
    switch (
        aqm_enqueue(&b->aqm, &models->aqm, packet->time_ns, b->bytes, bytes, packet->ect, b->aqm_key, packet->number)) {
    case AQM_DROP:
        return FATE_AQM;
    case AQM_MARK:
        queued.packet.edits |= EDIT_CE;
        break;
    case AQM_PASS:
        break;
    }
    if (params->queue_drop == QUEUE_DROP_HEAD)
        evict(b, params, bytes);
    if (!fits(b, params, bytes) || (b->head - b->out > b->mask && !grow(b)))
        return FATE_QUEUE;
    *at(b, b->head++) = queued;
    b->bytes += bytes;
    b->packets++;
    return FATE_PASS;
}

/* Whether nothing that follows can change the fate of a packet that was taken in. */
static bool decides_ahead(const struct params *params, const struct models *models)
{
    return params->queue_drop == QUEUE_DROP_TAIL && models->aqm.algorithm == AQM_NONE;
}

uint64_t bottleneck_turn_ns(const struct bottleneck *b)
{
    return b->decided == b->head ? UINT64_MAX : nc_max(b->line.exit_ns, at(b, b->decided)->packet.time_ns);
}

/* Drops a packet at its turn. The line goes on with the next one at once. */
static enum fate drop_at_turn(struct bottleneck *b, struct queued *queued, enum fate fate)
{
    uncount(b, queued);
    queued->packet.time_ns = b->line.exit_ns;
    return fate;
}

/* What active queue management says of a packet whose turn has come. Without it the turn may lie ahead
 * (decides_ahead), and the count must not be brought forward to that time. */
static enum aqm_verdict ask_aqm(struct bottleneck *b, const struct models *models, const struct queued *queued,
                                uint64_t turn_ns)
{
    if (models->aqm.algorithm == AQM_NONE)
        return AQM_PASS;
    bottleneck_occupancy(b, turn_ns);
    return aqm_dequeue(&b->aqm, &models->aqm, turn_ns, turn_ns - queued->arrival_ns, b->bytes - queued->bytes,
                       queued->bytes, queued->packet.ect, b->aqm_key, queued->packet.number);
}

/* When the last bit of a packet is out. */
static uint64_t line_exit(struct serial_line *line, struct rate_trace_state *trace, const struct rate_trace *rate,
                          const struct queued *queued, uint64_t turn_ns)
{
    if (rate->kind != RATE_CONSTANT)
        return line->exit_ns = nc_max(turn_ns, rate_trace_exit(trace, rate, queued->arrival_ns, queued->bytes));
    return rate->rate_bps ? serial_line_send(line, rate->rate_bps, turn_ns, queued->bytes) : turn_ns;
}

/* Puts a packet on the line that is out by `latest_ns`, or tells that it would not be. Its time becomes the time its
 * last bit leaves; without a rate, the time of its turn. */
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
    queued->packet.time_ns = exit_ns;
    return true;
}

/* Sends a packet whose turn has come, unless active queue management drops it. */
static enum fate send_packet(struct bottleneck *b, const struct models *models, struct queued *queued, uint64_t turn_ns)
{
    switch (ask_aqm(b, models, queued, turn_ns)) {
    case AQM_DROP:
        return drop_at_turn(b, queued, FATE_AQM);
    case AQM_MARK:
        queued->packet.edits |= EDIT_CE;
        break;
    case AQM_PASS:
        break;
    }
    put_on_line(b, models, queued, turn_ns, UINT64_MAX);
    return FATE_PASS;
}

bool bottleneck_next(struct bottleneck *b, const struct params *params, const struct models *models, uint64_t until_ns,
                     struct wire_packet *packet, enum fate *fate)
{
    if (b->decided == b->head)
        return false;
    uint64_t turn_ns = bottleneck_turn_ns(b);
    struct queued *queued = at(b, b->decided);
    if (b->evicted) {
        b->evicted--;
        *fate = drop_at_turn(b, queued, FATE_QUEUE);
    } else if (turn_ns <= until_ns) {
        *fate = send_packet(b, models, queued, turn_ns);
    } else {
        if (!decides_ahead(params, models) || !put_on_line(b, models, queued, turn_ns, until_ns + AHEAD_NS))
            return false;
        *fate = FATE_PASS;
    }
    b->decided++;
    *packet = queued->packet;
    return true;
}
