/* A local tunnel: two sessions of this process back to back. A connection that a proxy accepts while the real tunnel is
 * bypassed goes through the local one, so connecting, refusals, half-close, resets and limits are the same code.
 * Rejected: splice(2), which would save a copy but be a second relay, with its own half-closes and its own mistakes. */
#include <stdlib.h>

#include "nc_clock.h"
#include "relay_internal.h"

enum { PAYLOAD_BYTES = 4096, TURN_PAYLOADS = 256, MEMORY_BYTES = 16 << 20 };
#define TICK_NS (100 * NC_NS_PER_MS)

struct relay_local {
    struct lft_session *ends[RELAY_LOCAL_ENDS];
    struct lft_pool *pools[RELAY_LOCAL_ENDS]; /* for what the end receives */
    uint64_t tick_ns;
};

struct relay_local *relay_local_create(size_t streams_max)
{
    struct relay_local *local = calloc(1, sizeof *local);
    for (unsigned end = 0; local && end < RELAY_LOCAL_ENDS; end++) {
        const struct lft_session_config config = {.initiator = end == 0,
                                                  .streams_max = (uint32_t)streams_max,
                                                  .tx_memory_bytes = MEMORY_BYTES,
                                                  .rx_memory_bytes = MEMORY_BYTES};
        local->pools[end] = lft_pool_create(PAYLOAD_BYTES, MEMORY_BYTES);
        local->ends[end] = lft_session_create(&config, local->pools[end]);
        if (!local->pools[end] || !local->ends[end]) {
            relay_local_destroy(local);
            return NULL;
        }
    }
    return local;
}

void relay_local_destroy(struct relay_local *local)
{
    if (!local)
        return;
    for (unsigned end = 0; end < RELAY_LOCAL_ENDS; end++) {
        lft_session_destroy(local->ends[end]);
        if (local->pools[end])
            lft_pool_destroy(local->pools[end]);
    }
    free(local);
}

struct lft_session *relay_local_end(const struct relay_local *local, unsigned end)
{
    return local->ends[end];
}

/* Carries one payload from one end to the other. False: there is nothing to send, or there is no memory until a reader
 * frees some. */
static bool carry(struct relay_local *local, unsigned from, uint64_t now_ns)
{
    unsigned to = 1 - from;
    struct lft_source source = lft_session_source(local->ends[from]), sink = lft_session_source(local->ends[to]);
    struct lft_buffer *buffer = source.waiting(source.user) ? lft_pool_take(local->pools[to], 0) : NULL;
    if (!buffer)
        return false;
    size_t n = source.fill(source.user, buffer->at, PAYLOAD_BYTES, now_ns);
    if (n)
        sink.deliver(sink.user, buffer, buffer->at, n, now_ns);
    lft_pool_release(local->pools[to], buffer);
    return n > 0;
}

bool relay_local_move(struct relay_local *local, uint64_t now_ns)
{
    bool moved = false;
    for (unsigned from = 0; from < RELAY_LOCAL_ENDS; from++)
        for (unsigned i = 0; i < TURN_PAYLOADS && carry(local, from, now_ns); i++)
            moved = true;
    if (now_ns >= local->tick_ns) {
        local->tick_ns = now_ns + TICK_NS;
        for (unsigned end = 0; end < RELAY_LOCAL_ENDS; end++)
            lft_session_tick(local->ends[end], now_ns);
    }
    return moved;
}

uint64_t relay_local_next_ns(const struct relay_local *local)
{
    struct lft_session_state state;
    lft_session_state(local->ends[0], &state);
    return state.streams ? local->tick_ns : UINT64_MAX;
}
