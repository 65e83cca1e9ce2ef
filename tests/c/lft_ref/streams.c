/* Streams as a relay sees them: refusal, reset, half-close and backpressure; and nothing may be left over at the
 * end. */
#include "session_internal.h"

#include "nc_range.h"
#include "pair.h"

static void refusal_says_why(void)
{
    struct pair *pair = pair_start();
    struct lft_open where = {.family = LFT_FAMILY_NAME, .destination_port = 1, .name = "nowhere.example"};
    struct lft_stream *near = lft_stream_open(lft_link_session(pair->link[0]), &where, NULL);
    CHECK_EQ(lft_stream_write(near, "early", 5), 5); /* rides with the OPEN */
    pair_run(pair, 50 * NC_NS_PER_MS);
    struct lft_stream *far = pair_event(pair, 1, LFT_EVENT_OPENED);
    CHECK_STR(lft_stream_where(far)->name, "nowhere.example");
    lft_stream_refuse(far, &(struct lft_result){.code = LFT_RESULT_ICMP, .icmp_type = 3, .icmp_code = 10});
    lft_stream_release(far);
    pair_run(pair, 50 * NC_NS_PER_MS);
    CHECK(pair_event(pair, 0, LFT_EVENT_RESET) == near);
    CHECK_EQ(lft_stream_result(near)->code, LFT_RESULT_ICMP);
    CHECK_EQ(lft_stream_result(near)->icmp_code, 10);
    lft_stream_release(near);
    pair_nothing_left(pair);
}

static void half_close_leaves_the_other_half(void)
{
    struct pair *pair = pair_start();
    struct lft_stream *stream[2];
    uint8_t got[200000];
    static uint8_t big[150000];
    pair_stream(pair, stream);
    lft_stream_write(stream[0], "question", 8);
    lft_stream_finish(stream[0]);
    pair_run(pair, 50 * NC_NS_PER_MS);
    CHECK(pair_event(pair, 1, LFT_EVENT_READABLE) == stream[1]);
    CHECK_EQ(pair_read(pair, stream[1], got, sizeof got), 8);
    CHECK(pair_event(pair, 1, LFT_EVENT_END) == stream[1]);
    for (size_t i = 0, n; i < sizeof big; i += n) {
        n = lft_stream_write(stream[1], big + i, sizeof big - i);
        pair_run(pair, 5 * NC_NS_PER_MS);
    }
    lft_stream_finish(stream[1]);
    pair_run(pair, 200 * NC_NS_PER_MS);
    CHECK_EQ(pair_read(pair, stream[0], got, sizeof got), sizeof big);
    CHECK(pair_event(pair, 0, LFT_EVENT_END) == stream[0]);
    lft_stream_release(stream[0]);
    lft_stream_release(stream[1]);
    pair_nothing_left(pair);
}

static void reset_arrives_with_its_reason(void)
{
    for (int from = 0; from < 2; from++) {
        struct pair *pair = pair_start();
        struct lft_stream *stream[2];
        pair_stream(pair, stream);
        lft_stream_write(stream[1 - from], "unread", 6);
        lft_stream_write(stream[from], "also unread", 11);
        pair_run(pair, 50 * NC_NS_PER_MS);
        lft_stream_reset(stream[from], &(struct lft_result){.code = LFT_RESULT_IDLE});
        lft_stream_release(stream[from]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(pair_event(pair, 1 - from, LFT_EVENT_RESET) == stream[1 - from]);
        CHECK_EQ(lft_stream_result(stream[1 - from])->code, LFT_RESULT_IDLE);
        lft_stream_release(stream[1 - from]);
        pair_nothing_left(pair);
    }
}

/* If a reader does not read, its writer must be stopped with bounded memory in use, and other streams must not be
 * affected. */
static void slow_reader_stops_only_its_own(void)
{
    struct pair *pair = pair_start();
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

/* Like pair_stream, but next to other streams that also cause events. `client` is the number of the stream's client. */
static void open_for(struct pair *pair, struct lft_stream *stream[2], uint16_t client)
{
    struct lft_open where = {
        .family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = 80, .source_port = client};
    unsigned events = 0;
    stream[0] = lft_stream_open(lft_link_session(pair->link[0]), &where, pair);
    CHECK(stream[0]);
    pair_run(pair, 30 * NC_NS_PER_MS);
    while (!(events & LFT_EVENT_OPENED))
        CHECK((stream[1] = lft_session_event(lft_link_session(pair->link[1]), &events)));
    lft_stream_accept(stream[1]);
    pair_run(pair, 30 * NC_NS_PER_MS);
}

static void open_beside(struct pair *pair, struct lft_stream *stream[2])
{
    open_for(pair, stream, 0);
}

/* For a while, writes as much as fits to n streams, and reads one stream (NULL: none) at its other end. Returns the
 * number of octets read. */
static size_t carry(struct pair *pair, struct lft_stream *streams[][2], int n, int ms, struct lft_stream *reader)
{
    static const uint8_t octets[65536];
    size_t read = 0;
    for (; ms > 0; ms--) {
        for (int i = 0; i < n; i++)
            lft_stream_write(streams[i][0], octets, sizeof octets);
        pair_run(pair, NC_NS_PER_MS);
        read += reader ? pair_read_all(pair, reader) : 0;
    }
    return read;
}

/* One stream was read at full rate, and others are new. The credit of all streams must leave memory for a stream that
 * is read. */
static void readers_that_stand_still_leave_room(void)
{
    enum { STILL = 4 };
    struct pair *pair = pair_start();
    struct lft_stream *still[STILL][2], *other[1][2];
    open_beside(pair, still[0]);
    carry(pair, still, 1, 1000, still[0][1]);
    for (int i = 1; i < STILL; i++)
        open_beside(pair, still[i]);
    carry(pair, still, STILL, 3000, NULL);
    CHECK_EQ(pair_dropped_for_memory(pair), 0);
    open_beside(pair, other[0]);
    CHECK(carry(pair, other, 1, 2000, other[0][1]) > 50 * 65536); /* the least credit, measured in most of the 80 round
                                                                   * trips */
    CHECK_EQ(pair_dropped_for_memory(pair), 0);
    pair_free(pair);
}

/* A client with ten bulk streams must get the same share of the line as a client with a single stream. */
static void clients_share_the_line(void)
{
    enum { MANY = 10, GROWN_MS = 1000, MS = 3000 };
    struct pair *pair = pair_start();
    struct lft_stream *streams[MANY + 1][2];
    size_t many = 0, single = 0;
    for (int i = 0; i <= MANY; i++)
        open_for(pair, streams[i], i < MANY ? 1 : 2);
    for (int ms = 0; ms < MS; ms++) {
        carry(pair, streams, MANY + 1, 1, NULL);
        for (int i = 0; i <= MANY; i++)
            *(i < MANY ? &many : &single) += pair_read_all(pair, streams[i][1]);
        if (ms == GROWN_MS)
            many = single = 0;
    }
    CHECK(many > 2 * GROWN_MS * 4000); /* the limit is 6,250 octets: half of 100 Mbit/s for a millisecond */
    CHECK(single > many * 9 / 10 && many > single * 9 / 10);
    pair_free(pair);
}

/* A millisecond in which the test writes to all streams and reads them. */
static void flow(struct pair *pair, struct lft_stream *streams[][2], int n)
{
    carry(pair, streams, n, 1, NULL);
    for (int i = 0; i < n; i++)
        pair_read_all(pair, streams[i][1]);
}

/* 12,000 octets of one client, in two parts as an answer may come, next to a client with 30 bulk streams. Before the
 * last of these octets leave, the other client may send one turn of each of its streams, and as much as leaves in the
 * two milliseconds. */
static void a_client_waits_for_clients_and_not_for_their_streams(void)
{
    enum { MANY = 30, PART = 6000, PARTS = 2, MS_BYTES = 12500 };
    static const uint8_t octets[PART];
    struct pair *pair = pair_start();
    struct lft_stream *streams[MANY][2], *single[2];
    for (int i = 0; i < MANY; i++)
        open_for(pair, streams[i], 1);
    open_for(pair, single, 2);
    for (int ms = 0; ms < 500; ms++)
        flow(pair, streams, MANY);
    const struct lft_session_counters *counters = lft_session_counters(lft_link_session(pair->link[0]));
    uint64_t before = counters->tx_bytes;
    for (int part = 0; part < PARTS; part++) {
        CHECK_EQ(lft_stream_write(single[0], octets, PART), PART);
        for (int ms = 0; ms < 500 && single[0]->tx_queued; ms++) {
            flow(pair, streams, MANY);
            pair_read_all(pair, single[1]);
        }
        CHECK_EQ(single[0]->tx_queued, 0);
    }
    uint64_t others = counters->tx_bytes - before - PARTS * PART;
    printf("%llu octets of others\n", (unsigned long long)others);
    CHECK(others < (PARTS + 1) * LFT_QUANTUM + PARTS * MS_BYTES);
    pair_free(pair);
}

/* How many octets a bulk stream may send beyond those that were read, next to a stream that now and then has a few
 * octets (`some`). */
static uint64_t bulk_beside(bool some, int read_ms)
{
    struct pair *pair = pair_start();
    struct lft_stream *bulk[2], *trickle[2];
    static uint8_t octets[65536];
    size_t read = 0;
    pair_stream(pair, bulk);
    pair_stream(pair, trickle);
    for (int ms = 0; ms < 2500; ms++) {
        lft_stream_write(bulk[0], octets, sizeof octets);
        if (some && ms % 200 == 0)
            CHECK_EQ(lft_stream_write(trickle[0], "progress", 8), 8);
        pair_run(pair, NC_NS_PER_MS);
        while (pair_read(pair, trickle[1], octets, sizeof octets)) {
        }
        for (size_t n; ms < read_ms && (n = pair_read(pair, bulk[1], octets, sizeof octets));)
            read += n;
    }
    uint64_t beyond = lft_session_counters(lft_link_session(pair->link[0]))->tx_bytes - read;
    pair_free(pair);
    return beyond;
}

/* Streams with a few octets now and then, as on a control connection, must not take credit from a bulk stream. Credit
 * is raised in steps of an eighth, so the credit left when the reader stops depends on that moment. Therefore the
 * maximum over several moments is compared. */
static void a_trickle_takes_no_share(void)
{
    uint64_t alone = 0, beside = 0;
    for (int ms = 1500; ms < 1540; ms += 8) {
        alone = nc_max(alone, bulk_beside(false, ms));
        beside = nc_max(beside, bulk_beside(true, ms));
    }
    CHECK(alone > 100000000 / 8 / 50 * 3 / 2); /* 1.5 times the octets that are under way in a round trip of 20 ms */
    CHECK(beside > alone * 9 / 10);
}

/* A stream that carried a lot and then became quiet must use little of the peer's memory when its reader stops. */
static void credit_of_a_quiet_stream_is_given_back(void)
{
    struct pair *pair = pair_start();
    struct lft_stream *stream[2];
    static uint8_t octets[65536];
    size_t read = 0;
    pair_stream(pair, stream);
    for (int ms = 0; ms < 6000; ms++) {
        lft_stream_write(stream[0], octets, ms < 2000 ? sizeof octets : ms % 100 == 0);
        pair_run(pair, NC_NS_PER_MS);
        for (size_t n; (n = pair_read(pair, stream[1], octets, sizeof octets));)
            read += n;
    }
    for (int ms = 0; ms < 1000; ms++, pair_run(pair, NC_NS_PER_MS)) /* now its reader stops */
        lft_stream_write(stream[0], octets, sizeof octets);
    uint64_t sent = lft_session_counters(lft_link_session(pair->link[0]))->tx_bytes;
    CHECK(sent - read < 100000000 / 8 / 50); /* fewer octets than are under way in a round trip */
    pair_free(pair);
}

/* A sender that no longer needs its credit returns it. Its stream must continue when it has something to send again. */
static void idle_credit_is_given_back(void)
{
    enum { MANY = 20 };
    struct pair *pair = pair_start();
    struct lft_stream *stream[MANY][2];
    static const uint8_t octets[65536];
    for (int i = 0; i < MANY; i++) {
        open_beside(pair, stream[i]);
        CHECK_EQ(lft_stream_write(stream[i][0], "question", 8), 8);
        pair_run(pair, 30 * NC_NS_PER_MS);
        CHECK_EQ(pair_read_all(pair, stream[i][1]), 8);
    }
    pair_run(pair, 3 * NC_NS_PER_S);
    for (int i = 0; i < MANY; i++) /* from now on one of them is read */
        lft_stream_write(stream[i][0], octets, sizeof octets);
    CHECK(carry(pair, stream, MANY, 2000, stream[0][1]) > 2000000);
    CHECK_EQ(pair_dropped_for_memory(pair), 0);
    pair_free(pair);
}

/* Octets that nobody reads come in frames that are full of another stream's data. They must not keep these frames in
 * memory. */
static void small_chunks_do_not_keep_whole_frames(void)
{
    struct pair *pair = pair_start();
    struct lft_stream *bulk[1][2], *small[2];
    struct lft_engine_state state;
    open_beside(pair, bulk[0]);
    open_beside(pair, small);
    for (int i = 0; i < 3000; i++) {
        lft_stream_write(small[0], "x", 1);
        carry(pair, bulk, 1, 1, bulk[0][1]);
    }
    pair_run(pair, 100 * NC_NS_PER_MS);
    pair_read_all(pair, bulk[0][1]);
    lft_engine_state(lft_link_engine(pair->link[1]), pair->now_ns, &state);
    CHECK(state.rx_buffers < 50);
    pair_free(pair);
}

static void single_octets_do_not_cost_buffers(void)
{
    struct pair *pair = pair_start();
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
    struct pair *pair = pair_start();
    unsigned events;
    for (int i = 0; i < 300; i++) {
        struct lft_stream *stream[2];
        pair_stream(pair, stream);
        lft_stream_write(stream[0], "a", 1);
        lft_stream_release(stream[i % 2]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(pair_event(pair, 1 - i % 2, LFT_EVENT_RESET) == stream[1 - i % 2]);
        lft_stream_release(stream[1 - i % 2]);
        CHECK(!lft_session_event(lft_link_session(pair->link[0]), &events));
    }
    pair_nothing_left(pair);
}

/* A client closed its half, read little of the answer, and resets when the far gateway has finished with the stream.
 * The stream must not begin again. */
static void a_reset_of_a_finished_stream_ends_it(void)
{
    enum { CLIENTS = 100, ANSWER = 8000 };
    struct pair *pair = pair_start();
    static const uint8_t answer[ANSWER];
    uint8_t some[ANSWER];
    for (int i = 0; i < CLIENTS; i++) {
        struct lft_stream *stream[2];
        pair_stream(pair, stream);
        lft_stream_finish(stream[0]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(pair_event(pair, 1, LFT_EVENT_END) == stream[1]);
        CHECK_EQ(lft_stream_write(stream[1], answer, ANSWER), ANSWER);
        lft_stream_finish(stream[1]);
        lft_stream_release(stream[1]);
        pair_run(pair, 50 * NC_NS_PER_MS);
        CHECK(pair_event(pair, 0, LFT_EVENT_READABLE) == stream[0]);
        CHECK(pair_read(pair, stream[0], some, 2000) > 0);
        lft_stream_reset(stream[0], &(struct lft_result){.code = LFT_RESULT_RESET});
        lft_stream_release(stream[0]);
        pair_run(pair, 50 * NC_NS_PER_MS);
    }
    pair_nothing_left(pair);
}

int main(void)
{
    RUN(refusal_says_why);
    RUN(half_close_leaves_the_other_half);
    RUN(reset_arrives_with_its_reason);
    RUN(slow_reader_stops_only_its_own);
    RUN(readers_that_stand_still_leave_room);
    RUN(clients_share_the_line);
    RUN(a_client_waits_for_clients_and_not_for_their_streams);
    RUN(a_trickle_takes_no_share);
    RUN(credit_of_a_quiet_stream_is_given_back);
    RUN(idle_credit_is_given_back);
    RUN(small_chunks_do_not_keep_whole_frames);
    RUN(single_octets_do_not_cost_buffers);
    RUN(many_come_and_go);
    RUN(a_reset_of_a_finished_stream_ends_it);
    return 0;
}
