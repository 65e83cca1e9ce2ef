/* Even a peer that has the key can make a session store and compute only bounded amounts. */
#include <sys/resource.h>
#include <time.h>

#include "nc_clock.h"
#include "session_bench.h"

/* A frame full of chunks, each for a stream far ahead: no stream may begin, and the session must not forget which
 * streams have begun. The furthest stream that an honest opener may use does begin. */
static void identifiers_far_ahead_begin_nothing(void)
{
    struct bench bench = bench_start();
    unsigned code;
    for (uint32_t i = 0; i < 119; i++)
        say(&bench, LFT_CHUNK_CREDIT, 2 * (LFT_STREAM_IDS_AHEAD + i * 34000));
    CHECK_EQ(bench.session->streams, 0);
    CHECK_EQ(lft_session_counters(bench.session)->rx_malformed, 119);
    say(&bench, LFT_CHUNK_CREDIT, 2 * (LFT_STREAM_IDS_AHEAD - 1));
    CHECK_EQ(bench.session->streams, 1);
    CHECK_EQ(heard(&bench, PEERS_ID, &code), 0);
    bench_end(&bench);
}

/* Every second octet of each stream comes in a separate chunk, until no stream takes more. When the association ends,
 * all pieces must be freed in linear time. In quadratic time it took 58 s for 4 MB. */
static void holes_of_one_octet_have_a_bound(void)
{
    enum { STREAMS = 2000, CHUNKS = ROOM / (LFT_CHUNK_HEADER + 1) };
    const struct lft_session_config config = {
        .streams_max = STREAMS, .tx_memory_bytes = MEMORY, .rx_memory_bytes = MEMORY};
    struct bench bench = {.pool = lft_pool_create(ROOM, MEMORY)};
    bench.session = lft_session_create(&config, bench.pool);
    CHECK(bench.session);
    size_t most = 0;
    for (uint32_t turn = 0; turn < 200000; turn++) {
        struct lft_buffer *buffer = lft_pool_take(bench.pool, 1);
        if (!buffer)
            break;
        size_t n = 0;
        for (uint32_t i = 0; i < CHUNKS; i++) {
            uint64_t offset = 1 + 2 * ((uint64_t)(turn / STREAMS) * CHUNKS + i);
            const struct lft_chunk chunk = {
                .type = LFT_CHUNK_DATA, .stream = 2 * (turn % STREAMS), .value = offset, .length = 1};
            lft_chunk_put(buffer->at + n, &chunk);
            buffer->at[n + LFT_CHUNK_HEADER] = 'x';
            n += LFT_CHUNK_HEADER + 1;
        }
        lft_session_deliver(bench.session, buffer, buffer->at, n, 1);
        lft_pool_release(bench.pool, buffer);
        most = bench.session->all_pieces.used_once > most ? bench.session->all_pieces.used_once : most;
    }
    printf("%zu pieces of %zu octets\n", most, sizeof(struct lft_piece));
    CHECK(most > 10000 && most * sizeof(struct lft_piece) <= MEMORY / 4);
    clock_t before = clock();
    lft_session_fail(bench.session, LFT_RESULT_RESET);
    CHECK((double)(clock() - before) / CLOCKS_PER_SEC < 1);
    CHECK_EQ(bench.session->streams, 0);
    CHECK_EQ(bench.session->rx_held, 0);
    bench_end(&bench);
}

/* As many streams as are allowed, but without their OPEN. The session must report their end to the peer, and others may
 * then begin. */
static void early_streams_expire(void)
{
    struct bench bench = bench_start();
    unsigned code;
    for (uint32_t i = 0; i < STREAMS_MAX; i++)
        say(&bench, i % 2 ? LFT_CHUNK_DATA : LFT_CHUNK_CREDIT, 2 * i);
    for (uint64_t tick = 1; tick < LFT_EARLY_TICKS; tick++)
        lft_session_tick(bench.session, tick * 100 * NC_NS_PER_MS);
    CHECK_EQ(bench.session->streams, STREAMS_MAX);
    lft_session_tick(bench.session, LFT_EARLY_TICKS * 100 * NC_NS_PER_MS);
    CHECK(heard(&bench, 2, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_TIMED_OUT);
    CHECK_EQ(bench.session->streams, 0);
    CHECK_EQ(bench.session->rx_promised + bench.session->rx_unproven, 0);
    say(&bench, LFT_CHUNK_OPEN, 2 * STREAMS_MAX);
    relay_learns(&bench);
    bench_end(&bench);
}

/* Uses up all memory, so that nothing more can be mapped. This cannot be undone, so it must be the last test of this
 * program. */
static void exhaust_memory(void)
{
    const struct rlimit nothing = {1, RLIM_INFINITY};
    CHECK_EQ(setrlimit(RLIMIT_AS, &nothing), 0);
    for (size_t bytes = 1 << 20; bytes >= 16; bytes -= bytes > 1024 ? bytes / 2 : 16)
        while (malloc(bytes)) {
        }
}

/* With no memory left, as many streams as are allowed can begin, be accepted and carry octets, in order and out of
 * order. */
static void streams_need_no_memory_that_is_not_reserved(void)
{
#ifdef __SANITIZE_ADDRESS__
    return; /* AddressSanitizer ends a program that is out of memory */
#endif
    struct bench bench = bench_start();
    static const uint8_t octets[7] = {0};
    unsigned events;
    exhaust_memory();
    for (uint32_t i = 0; i < STREAMS_MAX; i++) {
        say(&bench, LFT_CHUNK_OPEN, 2 * i);
        relay_learns(&bench);
        lft_stream_accept(bench.stream);
        say_about(&bench, LFT_CHUNK_DATA, 2 * i, 7, octets, 7);
        say_about(&bench, LFT_CHUNK_DATA, 2 * i, 0, octets, 7);
        CHECK_EQ(bench.stream->rx_queued, 14);
        while (lft_session_event(bench.session, &events)) {
        }
    }
    CHECK_EQ(bench.session->streams, STREAMS_MAX);
    CHECK_EQ(lft_session_counters(bench.session)->reset_here, 0);
    bench_end(&bench);
}

int main(void)
{
    RUN(identifiers_far_ahead_begin_nothing);
    RUN(holes_of_one_octet_have_a_bound);
    RUN(early_streams_expire);
    RUN(streams_need_no_memory_that_is_not_reserved);
    return 0;
}
