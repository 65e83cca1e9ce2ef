/* What a relay sees of streams: refusal, reset, half-close, backpressure, and that nothing stays behind. */
#include "session.h"

#include "pair.h"

static struct pair *start(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    pair_run(pair, NC_NS_PER_S);
    CHECK(lft_link_ready(pair->link[0]) && lft_link_ready(pair->link[1]));
    return pair;
}

static void nothing_left(struct pair *pair)
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

static struct lft_stream *event_of(struct pair *pair, int i, unsigned want)
{
    unsigned events;
    struct lft_stream *stream = lft_session_event(lft_link_session(pair->link[i]), &events);
    CHECK(stream && events & want);
    return stream;
}

static void refusal_says_why(void)
{
    struct pair *pair = start();
    struct lft_open where = {.family = LFT_FAMILY_NAME, .destination_port = 1, .name = "nowhere.example"};
    struct lft_stream *near = lft_stream_open(lft_link_session(pair->link[0]), &where, NULL);
    CHECK_EQ(lft_stream_write(near, "early", 5), 5); /* rides with the OPEN */
    pair_run(pair, 50 * NC_NS_PER_MS);
    struct lft_stream *far = event_of(pair, 1, LFT_EVENT_OPENED);
    CHECK_STR(lft_stream_where(far)->name, "nowhere.example");
    lft_stream_refuse(far, &(struct lft_result){.code = LFT_RESULT_ICMP, .icmp_type = 3, .icmp_code = 10});
    lft_stream_release(far);
    pair_run(pair, 50 * NC_NS_PER_MS);
    CHECK(event_of(pair, 0, LFT_EVENT_RESET) == near);
    CHECK_EQ(lft_stream_result(near)->code, LFT_RESULT_ICMP);
    CHECK_EQ(lft_stream_result(near)->icmp_code, 10);
    lft_stream_release(near);
    nothing_left(pair);
}

static void half_close_leaves_the_other_half(void)
{
    struct pair *pair = start();
    struct lft_stream *stream[2];
    uint8_t got[200000];
    static uint8_t big[150000];
    pair_stream(pair, stream);
    lft_stream_write(stream[0], "question", 8);
    lft_stream_finish(stream[0]);
    pair_run(pair, 50 * NC_NS_PER_MS);
    CHECK(event_of(pair, 1, LFT_EVENT_READABLE) == stream[1]);
    CHECK_EQ(pair_read(pair, stream[1], got, sizeof got), 8);
    CHECK(event_of(pair, 1, LFT_EVENT_END) == stream[1]);
    for (size_t i = 0, n; i < sizeof big; i += n) {
        n = lft_stream_write(stream[1], big + i, sizeof big - i);
        pair_run(pair, 5 * NC_NS_PER_MS);
    }
    lft_stream_finish(stream[1]);
    pair_run(pair, 200 * NC_NS_PER_MS);
    CHECK_EQ(pair_read(pair, stream[0], got, sizeof got), sizeof big);
    CHECK(event_of(pair, 0, LFT_EVENT_END) == stream[0]);
    lft_stream_release(stream[0]);
    lft_stream_release(stream[1]);
    nothing_left(pair);
}

static void reset_arrives_with_its_reason(void)
{
    for (int from = 0; from < 2; from++) {
        struct pair *pair = start();
        struct lft_stream *stream[2];
        pair_stream(pair, stream);
        lft_stream_write(stream[1 - from], "unread", 6);
        lft_stream_write(stream[from], "also unread", 11);
        pair_run(pair, 50 * NC_NS_PER_MS);
        lft_stream_reset(stream[from], &(struct lft_result){.code = LFT_RESULT_IDLE});
        lft_stream_release(stream[from]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(event_of(pair, 1 - from, LFT_EVENT_RESET) == stream[1 - from]);
        CHECK_EQ(lft_stream_result(stream[1 - from])->code, LFT_RESULT_IDLE);
        lft_stream_release(stream[1 - from]);
        nothing_left(pair);
    }
}

/* A reader that does not read stops its writer with bounded memory, and does not stop another stream. */
static void slow_reader_stops_only_its_own(void)
{
    struct pair *pair = start();
    struct lft_stream *slow[2], *other[2];
    static uint8_t octets[65536];
    pair_stream(pair, slow);
    pair_stream(pair, other);
    size_t written = 0, quiet = 0;
    while (quiet < 200) {
        size_t n = lft_stream_write(slow[0], octets, sizeof octets);
        written += n;
        quiet = n ? 0 : quiet + 1;
        pair_step(pair);
    }
    CHECK(written < (8 << 20) + (4 << 20));
    lft_stream_write(other[0], "quick", 5);
    pair_run(pair, 60 * NC_NS_PER_MS);
    CHECK_EQ(pair_read(pair, other[1], octets, sizeof octets), 5);
    size_t read = 0;
    for (int i = 0; i < 2000 && read < written; i++) {
        size_t n;
        while ((n = pair_read(pair, slow[1], octets, sizeof octets)))
            read += n;
        pair_step(pair);
    }
    CHECK_EQ(read, written);
    pair_free(pair);
}

static size_t read_all(struct pair *pair, struct lft_stream *stream)
{
    static uint8_t octets[65536];
    size_t read = 0;
    for (size_t n; (n = pair_read(pair, stream, octets, sizeof octets));)
        read += n;
    return read;
}

/* As pair_stream, beside others that make events too. */
static void open_beside(struct pair *pair, struct lft_stream *stream[2])
{
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = 80};
    unsigned events = 0;
    stream[0] = lft_stream_open(lft_link_session(pair->link[0]), &where, pair);
    CHECK(stream[0]);
    pair_run(pair, 30 * NC_NS_PER_MS);
    while (!(events & LFT_EVENT_OPENED))
        CHECK((stream[1] = lft_session_event(lft_link_session(pair->link[1]), &events)));
    lft_stream_accept(stream[1]);
    pair_run(pair, 30 * NC_NS_PER_MS);
}

static uint64_t dropped_for_memory(struct pair *pair)
{
    return lft_engine_counters(lft_link_engine(pair->link[1]))->rx_no_memory;
}

/* Writes what fits to n streams for a while; one of them or another is read at its end, NULL: none. Returns what was read. */
static size_t carry(struct pair *pair, struct lft_stream *streams[][2], int n, int ms, struct lft_stream *reader)
{
    static const uint8_t octets[65536];
    size_t read = 0;
    for (; ms > 0; ms--) {
        for (int i = 0; i < n; i++)
            lft_stream_write(streams[i][0], octets, sizeof octets);
        pair_run(pair, NC_NS_PER_MS);
        read += reader ? read_all(pair, reader) : 0;
    }
    return read;
}

/* One that was read at full rate, and others that have only come: what they have credit for leaves memory for a stream that is read. */
static void readers_that_stand_still_leave_room(void)
{
    enum { STILL = 4 };
    struct pair *pair = start();
    struct lft_stream *still[STILL][2], *other[1][2];
    open_beside(pair, still[0]);
    carry(pair, still, 1, 1000, still[0][1]);
    for (int i = 1; i < STILL; i++)
        open_beside(pair, still[i]);
    carry(pair, still, STILL, 3000, NULL);
    CHECK_EQ(dropped_for_memory(pair), 0);
    open_beside(pair, other[0]);
    CHECK(carry(pair, other, 1, 2000, other[0][1]) > 50 * 65536); /* the least credit in most of the 80 round trips */
    CHECK_EQ(dropped_for_memory(pair), 0);
    pair_free(pair);
}

/* A few octets now and then, as on a control connection, do not take half of the credit from a bulk stream. */
static void a_trickle_takes_no_share(void)
{
    struct pair *pair = start();
    struct lft_stream *bulk[2], *trickle[2];
    struct lft_stream_state sender;
    static uint8_t octets[65536];
    size_t read = 0;
    pair_stream(pair, bulk);
    pair_stream(pair, trickle);
    for (int ms = 0; ms < 3000; ms++) {
        lft_stream_write(bulk[0], octets, sizeof octets);
        if (ms % 200 == 0)
            CHECK_EQ(lft_stream_write(trickle[0], "progress", 8), 8);
        pair_run(pair, NC_NS_PER_MS);
        while (pair_read(pair, trickle[1], octets, sizeof octets)) { }
        for (size_t n; ms < 1500 && (n = pair_read(pair, bulk[1], octets, sizeof octets));)
            read += n;
    }
    lft_stream_state(bulk[0], &sender);
    CHECK(sender.tx_bytes - sender.tx_queued_bytes - read > (8 << 20) * 3 / 4);
    pair_free(pair);
}

static void single_octets_do_not_cost_buffers(void)
{
    struct pair *pair = start();
    struct lft_stream *stream[2];
    pair_stream(pair, stream);
    for (int i = 0; i < 5000; i++) {
        CHECK_EQ(lft_stream_write(stream[0], "x", 1), 1);
        pair_step(pair);
    }
    pair_run(pair, 100 * NC_NS_PER_MS);
    struct lft_engine_state state;
    lft_engine_state(lft_link_engine(pair->link[1]), pair->now_ns, &state);
    CHECK(state.rx_buffers < 50);
    pair_free(pair);
}

static void many_come_and_go(void)
{
    struct pair *pair = start();
    unsigned events;
    for (int i = 0; i < 300; i++) {
        struct lft_stream *stream[2];
        pair_stream(pair, stream);
        lft_stream_write(stream[0], "a", 1);
        lft_stream_release(stream[i % 2]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(event_of(pair, 1 - i % 2, LFT_EVENT_RESET) == stream[1 - i % 2]);
        lft_stream_release(stream[1 - i % 2]);
        CHECK(!lft_session_event(lft_link_session(pair->link[0]), &events));
    }
    nothing_left(pair);
}

int main(void)
{
    RUN(refusal_says_why);
    RUN(half_close_leaves_the_other_half);
    RUN(reset_arrives_with_its_reason);
    RUN(slow_reader_stops_only_its_own);
    RUN(readers_that_stand_still_leave_room);
    RUN(a_trickle_takes_no_share);
    RUN(single_octets_do_not_cost_buffers);
    RUN(many_come_and_go);
    return 0;
}
