/* A few links with addresses in virtual time, for tests. Datagrams take `delay_ns` each way, some are lost, and an
 * attacker sees all of them and sends its own. Node i has the address {i + 1}. Time advances from event to event. */
#ifndef WORLD_H
#define WORLD_H

#include <stdlib.h>

#include "../seeded.h"
#include "check.h"
#include "link.h"
#include "nc_clock.h"

enum { WORLD_NODES = 3, WORLD_FLIGHT = 1 << 14, WORLD_OCTETS = 1600 };
enum { INIT_TYPE = 1, COOKIE_TYPE, RESPONSE_TYPE };
struct seen {
    uint64_t at_ns;
    uint8_t from, to; /* addresses */
    size_t n;
    uint8_t at[WORLD_OCTETS];
};
struct world {
    struct lft_link *link[WORLD_NODES];
    uint64_t now_ns, delay_ns, lost_of_1000;
    struct seeded seeded;
    bool (*observer)(struct world *world, const struct seen *seen); /* true: the path loses it */
    void *observers;                                                /* what the observer keeps */
    uint64_t sent_to[256];                                          /* datagrams, by address */
    size_t head, tail;
    struct seen flight[WORLD_FLIGHT];
};

static const uint8_t world_psk[32] = {7, 7, 7};

static inline struct lft_link_config world_config(int i)
{
    return (struct lft_link_config){.engine = {.recovery = LFT_SELECTIVE,
                                               .rate_bps = 20000000,
                                               .payload_max = 1438,
                                               .outer_bytes = 28,
                                               .window_frames = 1 << 12,
                                               .tx_memory_bytes = 1 << 20,
                                               .rx_memory_bytes = 1 << 20},
                                    .session = {.streams_max = 16, .tx_memory_bytes = 1 << 20},
                                    .handshake = {.initiator = i != 1,
                                                  .cipher = LFT_AES_128_GCM,
                                                  .psk = world_psk,
                                                  .clock_ns = UINT64_C(1800000000) * NC_NS_PER_S},
                                    .peer = {.at = {2}, .n = i != 1}};
}

/* The message type of a handshake datagram, 0 for a frame. */
static inline unsigned world_type(const uint8_t *at, size_t n)
{
    static const uint8_t marker[4];
    return n > 8 && memcmp(at, marker, sizeof marker) == 0 ? at[8] : 0;
}

/* Delivers a datagram at once, from any address, as if its sender were nearer than the other end. */
static inline void world_inject(struct world *world, int node, uint8_t from, const uint8_t *at, size_t n)
{
    struct lft_address address = {.at = {from}, .n = 1};
    if (world->link[node])
        lft_link_receive(world->link[node], world->now_ns, at, n, &address);
}

static inline void world_send(struct world *world, int node, uint8_t to, const uint8_t *at, size_t n)
{
    struct seen *seen = &world->flight[world->head % WORLD_FLIGHT];
    CHECK(n <= sizeof seen->at && world->head - world->tail < WORLD_FLIGHT);
    seen->at_ns = world->now_ns + world->delay_ns;
    seen->from = (uint8_t)(node + 1);
    seen->to = to;
    seen->n = n;
    memcpy(seen->at, at, n);
    world->sent_to[to]++;
    bool lost = world->observer && world->observer(world, seen);
    if (!lost && seeded_below(&world->seeded, 1000) >= world->lost_of_1000)
        world->head++;
}

static inline void world_transmit(struct world *world)
{
    struct lft_batch batch;
    for (int i = 0; i < WORLD_NODES; i++)
        while (world->link[i] && lft_link_transmit(world->link[i], world->now_ns, &batch))
            for (size_t at = 0; at < batch.bytes; at += batch.segment)
                world_send(world, i, batch.to.at[0], batch.at + at,
                           batch.bytes - at < batch.segment ? batch.bytes - at : batch.segment);
}

static inline void world_deliver(struct world *world)
{
    while (world->tail < world->head && world->flight[world->tail % WORLD_FLIGHT].at_ns <= world->now_ns) {
        const struct seen *seen = &world->flight[world->tail++ % WORLD_FLIGHT];
        if (seen->to >= 1 && seen->to <= WORLD_NODES)
            world_inject(world, seen->to - 1, seen->from, seen->at, seen->n);
    }
}

/* Runs until `until_ns`, in steps from event to event. */
static inline void world_until(struct world *world, uint64_t until_ns)
{
    while (world->now_ns < until_ns) {
        uint64_t next = until_ns;
        world_deliver(world);
        world_transmit(world);
        for (int i = 0; i < WORLD_NODES; i++) {
            uint64_t due = world->link[i] ? lft_link_next_ns(world->link[i], world->now_ns) : UINT64_MAX;
            next = due < next ? due : next;
        }
        if (world->tail < world->head && world->flight[world->tail % WORLD_FLIGHT].at_ns < next)
            next = world->flight[world->tail % WORLD_FLIGHT].at_ns;
        world->now_ns = next > world->now_ns ? next : world->now_ns + NC_NS_PER_US;
    }
}

static inline void world_run(struct world *world, uint64_t ns)
{
    world_until(world, world->now_ns + ns);
}

/* Starts or restarts a node, with `config` instead of world_config's if it is not NULL. */
static inline void world_start(struct world *world, int i, const struct lft_link_config *config)
{
    struct lft_link_config own = world_config(i);
    lft_link_destroy(world->link[i]);
    world->link[i] = lft_link_create(config ? config : &own, world->now_ns);
    CHECK(world->link[i]);
}

/* Nodes 0 and 1, an initiator and its responder, 20 ms apart. */
static inline struct world *world_create(void)
{
    struct world *world = calloc(1, sizeof *world);
    CHECK(world);
    world->now_ns = NC_NS_PER_S;
    world->delay_ns = 10 * NC_NS_PER_MS;
    world->seeded = (struct seeded){1};
    for (int i = 0; i < 2; i++)
        world_start(world, i, NULL);
    return world;
}

static inline void world_free(struct world *world)
{
    for (int i = 0; i < WORLD_NODES; i++)
        lft_link_destroy(world->link[i]);
    free(world);
}

static inline bool world_up(const struct world *world, int a, int b)
{
    return lft_link_ready(world->link[a]) && lft_link_ready(world->link[b]);
}

/* Opens a stream from node `a` and sends octets. Returns whether they arrive at `b` within `ns`. */
static inline bool world_carries(struct world *world, int a, int b, uint64_t ns)
{
    static const struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}};
    struct lft_stream *stream = lft_stream_open(lft_link_session(world->link[a]), &where, NULL), *found;
    unsigned events;
    size_t got = 0;
    uint64_t until_ns = world->now_ns + ns;
    if (!stream || lft_stream_write(stream, "over there", 10) != 10)
        return false;
    while (world->now_ns < until_ns && got < 10) {
        struct iovec piece;
        world_run(world, NC_NS_PER_MS);
        while ((found = lft_session_event(lft_link_session(world->link[b]), &events)))
            while (lft_stream_read_view(found, &piece, 1)) {
                got += piece.iov_len;
                lft_stream_consumed(found, piece.iov_len, world->now_ns);
            }
    }
    return got == 10;
}

#endif
