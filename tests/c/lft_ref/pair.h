/* Two links connected to each other in virtual time, for tests: a one-way delay of 10 ms, a switch that cuts the path,
 * and a hook that sees every datagram (it returns true to drop it). */
#ifndef PAIR_H
#define PAIR_H

#include <stdlib.h>

#include "check.h"
#include "link.h"
#include "nc_clock.h"

enum { FLIGHT_MAX = 4096, DATAGRAM_MAX = 1600 };
struct datagram {
    uint64_t at_ns;
    int to;
    size_t n;
    uint8_t at[DATAGRAM_MAX];
};
struct pair {
    struct lft_link *link[2];
    uint64_t now_ns;
    bool cut;
    bool (*hook)(struct pair *pair, int to, uint8_t *at, size_t n);
    uint64_t seen;
    size_t head, tail;
    struct datagram flight[FLIGHT_MAX];
};

static const uint8_t pair_psk[32] = {42};

static inline struct lft_link_config pair_config(int i, enum lft_cipher cipher)
{
    return (struct lft_link_config){.engine = {.recovery = LFT_SELECTIVE,
                                               .rate_bps = 100000000,
                                               .payload_max = 1438,
                                               .outer_bytes = 28,
                                               .window_frames = 1 << 14,
                                               .tx_memory_bytes = 8 << 20,
                                               .rx_memory_bytes = 8 << 20},
                                    .session = {.streams_max = 100, .tx_memory_bytes = 4 << 20},
                                    .handshake = {.initiator = i == 0, .cipher = cipher, .psk = pair_psk},
                                    .peer = {.at = {(uint8_t)(1 - i)}, .n = i == 0},
                                    .outage_max_ns = 5 * NC_NS_PER_S};
}

static inline struct pair *pair_create(enum lft_cipher cipher)
{
    struct pair *pair = calloc(1, sizeof *pair);
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = pair_config(i, cipher);
        pair->link[i] = lft_link_create(&config, 0);
        CHECK(pair->link[i]);
    }
    return pair;
}

static inline void pair_free(struct pair *pair)
{
    lft_link_destroy(pair->link[0]);
    lft_link_destroy(pair->link[1]);
    free(pair);
}

static inline void pair_send(struct pair *pair, int to, const uint8_t *at, size_t n)
{
    uint8_t copy[DATAGRAM_MAX];
    CHECK(n <= sizeof copy && pair->head - pair->tail < FLIGHT_MAX);
    memcpy(copy, at, n);
    pair->seen++;
    if (pair->cut || (pair->hook && pair->hook(pair, to, copy, n)))
        return;
    struct datagram *datagram = &pair->flight[pair->head++ % FLIGHT_MAX];
    datagram->at_ns = pair->now_ns + 10 * NC_NS_PER_MS;
    datagram->to = to;
    datagram->n = n;
    memcpy(datagram->at, copy, n);
}

static inline void pair_step(struct pair *pair)
{
    while (pair->tail < pair->head && pair->flight[pair->tail % FLIGHT_MAX].at_ns <= pair->now_ns) {
        const struct datagram *d = &pair->flight[pair->tail++ % FLIGHT_MAX];
        struct lft_address from = {.at = {(uint8_t)(1 - d->to)}, .n = 1};
        lft_link_receive(pair->link[d->to], pair->now_ns, d->at, d->n, &from);
    }
    for (int i = 0; i < 2; i++) {
        struct lft_batch batch;
        while (pair->link[i] && lft_link_transmit(pair->link[i], pair->now_ns, &batch))
            for (size_t at = 0; at < batch.bytes; at += batch.segment)
                pair_send(pair, 1 - i, batch.at + at,
                          batch.bytes - at < batch.segment ? batch.bytes - at : batch.segment);
    }
    pair->now_ns += NC_NS_PER_MS / 2;
}

static inline void pair_run(struct pair *pair, uint64_t ns)
{
    for (uint64_t end = pair->now_ns + ns; pair->now_ns < end;)
        pair_step(pair);
}

/* Opens a stream at end 0 and accepts it at end 1. */
static inline void pair_stream(struct pair *pair, struct lft_stream *stream[2])
{
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = 80};
    unsigned events;
    stream[0] = lft_stream_open(lft_link_session(pair->link[0]), &where, pair);
    CHECK(stream[0]);
    pair_run(pair, 100 * NC_NS_PER_MS);
    stream[1] = lft_session_event(lft_link_session(pair->link[1]), &events);
    CHECK(stream[1] && events & LFT_EVENT_OPENED);
    CHECK_EQ(lft_stream_where(stream[1])->destination_port, 80);
    lft_stream_accept(stream[1]);
    pair_run(pair, 100 * NC_NS_PER_MS);
    CHECK(lft_session_event(lft_link_session(pair->link[0]), &events) == stream[0]);
    CHECK(events & LFT_EVENT_ACCEPTED);
}

static inline size_t pair_read(struct pair *pair, struct lft_stream *stream, uint8_t *at, size_t room)
{
    struct iovec piece;
    size_t n = 0;
    while (lft_stream_read_view(stream, &piece, 1) && n + piece.iov_len <= room) {
        memcpy(at + n, piece.iov_base, piece.iov_len);
        n += piece.iov_len;
        lft_stream_consumed(stream, piece.iov_len, pair->now_ns);
    }
    return n;
}

/* A pair whose tunnel is up. */
static inline struct pair *pair_start(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    pair_run(pair, NC_NS_PER_S);
    CHECK(lft_link_ready(pair->link[0]) && lft_link_ready(pair->link[1]));
    return pair;
}

/* Ends the pair. No stream, no octet and no buffer may be left. */
static inline void pair_nothing_left(struct pair *pair)
{
    pair_run(pair, NC_NS_PER_S);
    for (int i = 0; i < 2; i++) {
        struct lft_session_state state;
        struct lft_engine_state engine;
        lft_session_state(lft_link_session(pair->link[i]), &state);
        lft_engine_state(lft_link_engine(pair->link[i]), pair->now_ns, &engine);
        CHECK_EQ(state.streams, 0);
        CHECK_EQ(state.tx_queued_bytes + state.rx_queued_bytes, 0);
        CHECK_EQ(engine.tx_buffers, 0);
        CHECK(engine.rx_buffers <= 1); /* the one to decrypt into */
    }
    pair_free(pair);
}

/* Returns the next stream with events at one end. It must have this event. */
static inline struct lft_stream *pair_event(struct pair *pair, int i, unsigned want)
{
    unsigned events;
    struct lft_stream *stream = lft_session_event(lft_link_session(pair->link[i]), &events);
    CHECK(stream && events & want);
    return stream;
}

/* Reads all that has arrived and returns the number of octets. */
static inline size_t pair_read_all(struct pair *pair, struct lft_stream *stream)
{
    static uint8_t octets[65536];
    size_t read = 0;
    for (size_t n; (n = pair_read(pair, stream, octets, sizeof octets));)
        read += n;
    return read;
}

/* Frames that end 1 dropped because it had no memory. */
static inline uint64_t pair_dropped_for_memory(struct pair *pair)
{
    return lft_engine_counters(lft_link_engine(pair->link[1]))->rx_no_memory;
}

#endif
