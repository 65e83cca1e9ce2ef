#include "stage.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_log.h"

enum { ENTRIES_FIRST = 4096 };

void bottleneck_init(struct bottleneck *bottleneck)
{
    *bottleneck = (struct bottleneck){.mask = ENTRIES_FIRST - 1};
    bottleneck->entries = malloc(ENTRIES_FIRST * sizeof *bottleneck->entries);
    if (!bottleneck->entries)
        nc_die(NC_EXIT_MISSING, "out of memory for the queue");
}

void bottleneck_free(struct bottleneck *bottleneck)
{
    free(bottleneck->entries);
    bottleneck->entries = NULL;
}

/* Twice the room. An unbounded queue grows by doubling, so this is rare and its cost amortises. */
static int grow(struct bottleneck *b)
{
    uint64_t size = (b->mask + 1) * 2;
    struct queue_entry *entries = malloc(size * sizeof *entries);
    if (!entries)
        return -1;
    for (uint64_t i = b->tail; i != b->head; i++)
        entries[i & (size - 1)] = b->entries[i & b->mask];
    free(b->entries);
    b->entries = entries;
    b->mask = size - 1;
    return 0;
}

uint64_t bottleneck_occupancy(struct bottleneck *b, uint64_t now_ns)
{
    while (b->tail != b->head && b->entries[b->tail & b->mask].exit_ns <= now_ns)
        b->bytes -= b->entries[b->tail++ & b->mask].bytes;
    assert(b->tail != b->head || b->bytes == 0);
    return b->bytes;
}

enum fate stage_bottleneck(struct bottleneck *b, const struct params *params, struct wire_packet *packet)
{
    uint64_t waiting = bottleneck_occupancy(b, packet->time_ns);
    if (!params->rate_bps) {
        if (packet->time_ns < b->line.exit_ns) /* the rate was just taken away: those before go first */
            packet->time_ns = b->line.exit_ns;
        return FATE_PASS;
    }
    uint32_t bytes = stage_line_bytes(params, packet);
    if (waiting && params->queue_bytes && waiting + bytes > params->queue_bytes)
        return FATE_QUEUE;
    if (b->head - b->tail > b->mask && grow(b) < 0)
        return FATE_QUEUE;
    packet->time_ns = serial_line_send(&b->line, params->rate_bps, packet->time_ns, bytes);
    b->entries[b->head++ & b->mask] = (struct queue_entry){packet->time_ns, bytes};
    b->bytes += bytes;
    if (b->bytes > b->peak_bytes)
        b->peak_bytes = b->bytes;
    return FATE_PASS;
}
