/* Two links back to back in virtual time, for tests: a one-way delay of 10 ms, a switch that cuts the path, and a hook that sees every
 * datagram (true: swallowed). */
#ifndef PAIR_H
#define PAIR_H

#include <stdlib.h>

#include "check.h"
#include "link.h"
#include "nc_clock.h"

enum { FLIGHT_MAX = 4096, DATAGRAM_MAX = 1600 };
struct datagram { uint64_t at_ns; int to; size_t n; uint8_t at[DATAGRAM_MAX]; };
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
    return (struct lft_link_config){
        .engine = {.recovery = LFT_SELECTIVE, .rate_bps = 100000000, .payload_max = 1438, .outer_bytes = 28, .window_frames = 1 << 14,
                   .tx_memory_bytes = 8 << 20, .rx_memory_bytes = 8 << 20},
        .session = {.streams_max = 100, .tx_memory_bytes = 4 << 20},
        .handshake = {.initiator = i == 0, .cipher = cipher, .psk = pair_psk, .psk_bytes = sizeof pair_psk},
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
                pair_send(pair, 1 - i, batch.at + at, batch.bytes - at < batch.segment ? batch.bytes - at : batch.segment);
    }
    pair->now_ns += NC_NS_PER_MS / 2;
}

static inline void pair_run(struct pair *pair, uint64_t ns)
{
    for (uint64_t end = pair->now_ns + ns; pair->now_ns < end;)
        pair_step(pair);
}

/* Opens a stream from 0 and accepts it at 1. */
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

#endif
