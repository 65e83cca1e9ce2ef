/* Frames that are overtaken, and a receiver without memory. */
#include "pair.h"
#include "session.h"

/* The LFT number of the first data frame after hold_next_frame. Every transmission of it is lost until `until_ns`. */
static struct {
    bool armed, known;
    uint32_t number;
    uint64_t until_ns;
} held;

static bool hold_back(struct pair *pair, int to, uint8_t *at, size_t n)
{
    struct lft_header header = lft_header_get(at);
    if (to != 1 || n < LFT_FRAME_OVERHEAD || !header.spi || header.command > LFT_REDUNDANT ||
        pair->now_ns >= held.until_ns)
        return false;
    if (held.armed && header.command == LFT_DATA) {
        held.armed = false;
        held.known = true;
        held.number = header.number;
    }
    return held.known && header.number == held.number;
}

static void hold_next_frame(struct pair *pair, uint64_t ns)
{
    memset(&held, 0, sizeof held);
    held.armed = true;
    held.until_ns = pair->now_ns + ns;
    pair->hook = hold_back;
}

static struct lft_stream *open_here(struct pair *pair)
{
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}, .destination_port = 80};
    struct lft_stream *stream = lft_stream_open(lft_link_session(pair->link[0]), &where, NULL);
    CHECK(stream);
    return stream;
}

/* A RESET, or data, arrive before the OPEN. The RESET ends the stream at once. In the case with data the OPEN never
 * arrives, and the stream ends with the association. */
static void what_comes_before_its_open_leaves_nothing(void)
{
    for (int never = 0; never < 2; never++) {
        struct pair *pair = pair_start();
        struct lft_session_state state;
        hold_next_frame(pair, never ? UINT64_C(1) << 60 : 200 * NC_NS_PER_MS);
        struct lft_stream *stream = open_here(pair);
        pair_run(pair, 10 * NC_NS_PER_MS);
        if (never)
            CHECK_EQ(lft_stream_write(stream, "early", 5), 5);
        else
            lft_stream_release(stream); /* a RESET in the next frame */
        pair_run(pair, 100 * NC_NS_PER_MS);
        lft_session_state(lft_link_session(pair->link[1]), &state);
        CHECK_EQ(state.streams, never);
        pair->cut = never;
        pair_run(pair, never ? 8 * NC_NS_PER_S : NC_NS_PER_S); /* outage_max is 5 s */
        pair->cut = false;
        pair->hook = NULL;
        if (never) {
            CHECK(pair_event(pair, 0, LFT_EVENT_RESET) == stream);
            lft_stream_release(stream);
            pair_run(pair, 3 * NC_NS_PER_S);
        }
        pair_nothing_left(pair);
    }
}

/* Six streams at once, of which the last one gets little credit. When the others have ended, the last one gets more
 * credit before its OPEN arrives. */
static void credit_that_overtakes_its_open_counts(void)
{
    enum { ANSWER = 1000000 };
    static uint8_t octets[65536];
    for (int early_data = 0; early_data < 2; early_data++) {
        struct pair *pair = pair_start();
        struct lft_stream *near = NULL, *far = NULL, *stream, *others[5];
        unsigned events;
        for (int i = 0; i < 5; i++)
            others[i] = open_here(pair);
        pair_run(pair, 100 * NC_NS_PER_MS);
        hold_next_frame(pair, 700 * NC_NS_PER_MS);
        near = open_here(pair);
        pair_run(pair, 5 * NC_NS_PER_MS);
        for (int i = 0; i < 5; i++)
            lft_stream_release(others[i]);
        if (early_data)
            CHECK_EQ(lft_stream_write(near, "early", 5), 5);
        pair_run(pair, NC_NS_PER_S);
        while ((stream = lft_session_event(lft_link_session(pair->link[1]), &events)))
            far = lft_stream_id(stream) == lft_stream_id(near) ? stream : far;
        CHECK(far);
        lft_stream_accept(far);
        size_t written = 0, read = 0;
        for (int ms = 0; ms < 5000 && read < ANSWER; ms++) {
            size_t part = ANSWER - written < sizeof octets ? ANSWER - written : sizeof octets;
            written += lft_stream_write(far, octets, part);
            pair_run(pair, NC_NS_PER_MS);
            read += pair_read_all(pair, near);
        }
        CHECK_EQ(read, ANSWER);
        pair_free(pair);
    }
}

/* No buffer is left for the peer's retransmissions. The peer must still count as alive, and its CLOSE must be
 * accepted. */
static void full_memory_is_no_outage(void)
{
    struct pair *pair = pair_start();
    struct lft_stream *stream[2];
    static const uint8_t octets[8000];
    pair_stream(pair, stream);
    lft_link_events(pair->link[1]);
    hold_next_frame(pair, 100 * NC_NS_PER_MS);
    CHECK(lft_stream_write(stream[0], octets, sizeof octets) == sizeof octets);
    pair_run(pair, 50 * NC_NS_PER_MS);
    struct lft_pool *pool = lft_engine_rx_pool(lft_link_engine(pair->link[1]));
    while (lft_pool_take(pool, 1)) {
    }
    pair_run(pair, 4 * NC_NS_PER_S);
    CHECK(pair_dropped_for_memory(pair) > 0);
    CHECK_EQ(lft_link_events(pair->link[1]), 0);
    CHECK(lft_link_ready(pair->link[1]));
    lft_link_close(pair->link[0]);
    pair_run(pair, 100 * NC_NS_PER_MS);
    CHECK(lft_link_events(pair->link[1]) & LFT_LINK_EVENT_CLOSED);
    pair_free(pair);
}

int main(void)
{
    RUN(what_comes_before_its_open_leaves_nothing);
    RUN(credit_that_overtakes_its_open_counts);
    RUN(full_memory_is_no_outage);
    return 0;
}
