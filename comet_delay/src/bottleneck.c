#include "bottleneck.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_log.h"

enum { RING_FIRST = 4096 };

struct queued {
    struct wire_packet packet; /* its time: arrival until decided, then exit */
    uint32_t bytes;            /* it counts for; 0 once dropped */
};

void bottleneck_init(struct bottleneck *b)
{
    *b = (struct bottleneck){.mask = RING_FIRST - 1, .ring = malloc(RING_FIRST * sizeof *b->ring)};
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

/* Takes it out of the count. */
static void discount(struct bottleneck *b, struct queued *queued)
{
    if (queued->bytes)
        b->packets--;
    b->bytes -= queued->bytes;
    queued->bytes = 0;
}

uint64_t bottleneck_occupancy(struct bottleneck *b, uint64_t now_ns)
{
    while (b->out != b->decided && at(b, b->out)->packet.time_ns <= now_ns)
        discount(b, at(b, b->out++));
    assert(b->out != b->head || (b->bytes == 0 && b->packets == 0));
    return b->bytes;
}

static bool fits(const struct bottleneck *b, const struct params *params, uint32_t bytes)
{
    return b->packets == 0 || ((!params->queue_bytes || b->bytes + bytes <= params->queue_bytes) &&
                               (!params->queue_packets || b->packets + 1 <= params->queue_packets));
}

/* Drop-head: gives up the oldest that wait until the newcomer fits. */
static void evict(struct bottleneck *b, const struct params *params, uint32_t bytes)
{
    while (!fits(b, params, bytes) && b->decided + b->evicted != b->head)
        discount(b, at(b, b->decided + b->evicted++));
}

enum fate bottleneck_offer(struct bottleneck *b, const struct params *params, const struct wire_packet *packet)
{
    uint32_t bytes = stage_line_bytes(params, packet);
    bottleneck_occupancy(b, packet->time_ns);
    if (params->queue_drop == QUEUE_DROP_HEAD)
        evict(b, params, bytes);
    if (!fits(b, params, bytes) || (b->head - b->out > b->mask && !grow(b)))
        return FATE_QUEUE;
    *at(b, b->head++) = (struct queued){*packet, bytes};
    b->bytes += bytes;
    b->packets++;
    if (b->bytes > b->peak_bytes)
        b->peak_bytes = b->bytes;
    return FATE_PASS;
}

/* Whether what becomes of a packet is settled when it is taken in. */
static bool eager(const struct params *params)
{
    return params->queue_drop == QUEUE_DROP_TAIL;
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t bottleneck_turn_ns(const struct bottleneck *b)
{
    return b->decided == b->head ? UINT64_MAX : later(b->line.exit_ns, at(b, b->decided)->packet.time_ns);
}

/* Sends it: its time becomes that of its last bit leaving. Without a rate, of its turn. */
static void serve(struct bottleneck *b, const struct params *params, struct queued *queued, uint64_t turn_ns)
{
    if (params->rate_bps)
        turn_ns = serial_line_send(&b->line, params->rate_bps, turn_ns, stage_line_bytes(params, &queued->packet));
    queued->packet.time_ns = turn_ns;
}

bool bottleneck_next(struct bottleneck *b, const struct params *params, uint64_t until_ns, struct wire_packet *packet,
                     enum fate *fate)
{
    uint64_t turn_ns = bottleneck_turn_ns(b);
    if (b->decided == b->head || (!b->evicted && turn_ns > until_ns && !eager(params)))
        return false;
    struct queued *queued = at(b, b->decided++);
    if (b->evicted) {
        b->evicted--;
        queued->packet.time_ns = b->line.exit_ns;
        *fate = FATE_QUEUE;
    } else {
        serve(b, params, queued, turn_ns);
        *fate = FATE_PASS;
    }
    *packet = queued->packet;
    return true;
}
