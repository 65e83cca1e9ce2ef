/* A session whose peer is the test itself, which sends and reads chunks. */
#ifndef SESSION_BENCH_H
#define SESSION_BENCH_H

#include "check.h"
#include "nc_bytes.h"
#include "session.h"
#include "session_internal.h"

enum { MEMORY = 4 << 20, ROOM = 1400, PEERS_ID = 4, OWN_ID = 5, STREAMS_MAX = 4 };

struct bench {
    struct lft_session *session;
    struct lft_pool *pool;
    struct lft_stream *stream; /* the relay's handle of the stream; NULL: none */
};

static inline struct bench bench_start(void)
{
    /* The peer is the initiator, so its streams have even identifiers. */
    const struct lft_session_config config = {
        .streams_max = STREAMS_MAX, .tx_memory_bytes = MEMORY, .rx_memory_bytes = MEMORY};
    struct bench bench = {.pool = lft_pool_create(ROOM, MEMORY)};
    bench.session = lft_session_create(&config, bench.pool);
    CHECK(bench.session);
    bench.session->next_id = OWN_ID;
    return bench;
}

static inline void bench_end(struct bench *bench)
{
    lft_session_destroy(bench->session);
    CHECK_EQ(lft_pool_used(bench->pool), 0);
    lft_pool_destroy(bench->pool);
}

static inline void say_about(struct bench *bench, unsigned type, uint32_t id, uint64_t value, const void *body,
                             size_t n)
{
    struct lft_buffer *buffer = lft_pool_take(bench->pool, 1);
    struct lft_chunk chunk = {.type = (uint8_t)type, .stream = id, .value = value, .length = (uint16_t)n};
    lft_chunk_put(buffer->at, &chunk);
    if (n)
        memcpy(buffer->at + LFT_CHUNK_HEADER, body, n);
    lft_session_deliver(bench->session, buffer, buffer->at, LFT_CHUNK_HEADER + n, 1);
    lft_pool_release(bench->pool, buffer);
}

/* Sends a chunk of the given type, as if by a peer that has sent nothing before. */
static inline void say(struct bench *bench, unsigned type, uint32_t id)
{
    static const struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination_port = 80};
    uint8_t body[LFT_OPEN_BODY_MAX] = {0};
    size_t n = 0;
    uint64_t value = 0;
    if (type == LFT_CHUNK_DATA)
        n = 7;
    else if (type == LFT_CHUNK_OPEN)
        n = lft_open_put(body, &where);
    else if (type == LFT_CHUNK_REFUSE || type == LFT_CHUNK_RESET)
        lft_result_put(body, &(struct lft_result){.code = LFT_RESULT_RESET}), n = LFT_RESULT_BYTES;
    else if (type == LFT_CHUNK_RETURN)
        nc_put16(body, 1), n = 2, value = 100;
    else if (type != LFT_CHUNK_FIN)
        value = 100000; /* credit */
    say_about(bench, type, id, value, body, n);
}

/* Takes everything that the session sends. Returns the type of the last chunk about the stream; 0: none. *code: the
 * result in that chunk. */
static inline unsigned heard(struct bench *bench, uint32_t id, unsigned *code)
{
    uint8_t at[ROOM];
    unsigned last = 0;
    for (size_t n; (n = lft_session_fill(bench->session, at, sizeof at, 1));) {
        const uint8_t *cursor = at;
        struct lft_chunk chunk;
        while (lft_chunk_get(&cursor, at + n, &chunk) > 0)
            if (chunk.stream == id && chunk.type != LFT_CHUNK_CREDIT) {
                last = chunk.type;
                *code = chunk.length ? chunk.body[0] : 0;
            }
    }
    return last;
}

static inline void relay_learns(struct bench *bench)
{
    unsigned events;
    struct lft_stream *stream = lft_session_event(bench->session, &events);
    CHECK(stream && events & LFT_EVENT_OPENED);
    bench->stream = stream;
}

#endif
