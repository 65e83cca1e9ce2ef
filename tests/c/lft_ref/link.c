/* The links of two gateways connected to each other: handshake, attacks, rekey, restart, outage. */
#include "cookies.h"
#include "link.h"

#include "pair.h"

static void both_up(struct pair *pair)
{
    pair_run(pair, NC_NS_PER_S);
    CHECK_EQ(lft_link_status(pair->link[0]), LFT_LINK_UP);
    CHECK_EQ(lft_link_status(pair->link[1]), LFT_LINK_UP);
}

static void works(struct pair *pair, struct lft_stream *stream[2])
{
    uint8_t got[100];
    CHECK_EQ(lft_stream_write(stream[0], "over there", 10), 10);
    pair_run(pair, 300 * NC_NS_PER_MS);
    CHECK_EQ(pair_read(pair, stream[1], got, sizeof got), 10);
    CHECK(memcmp(got, "over there", 10) == 0);
}

static void every_cipher_carries(void)
{
    for (enum lft_cipher cipher = LFT_AES_128_GCM; cipher < LFT_CIPHERS; cipher++) {
        struct pair *pair = pair_create(cipher);
        struct lft_stream *stream[2];
        both_up(pair);
        pair_stream(pair, stream);
        works(pair, stream);
        pair_free(pair);
    }
}

static void other_key_gets_nothing(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    lft_link_destroy(pair->link[0]);
    struct lft_link_config config = pair_config(0, LFT_AES_128_GCM);
    uint8_t other[32] = {43};
    config.handshake.psk = other;
    pair->link[0] = lft_link_create(&config, 0);
    pair_run(pair, 2 * NC_NS_PER_S);
    CHECK_EQ(lft_link_status(pair->link[0]), LFT_LINK_CONNECTING);
    CHECK(lft_link_handshake_counters(pair->link[1])->bad_mac > 0);
    CHECK_EQ(lft_link_handshake_counters(pair->link[1])->cookies, 0);
    pair_free(pair);
}

/* Every datagram is recorded and sent again later, from the right address and from another one: unchanged, cut, and
 * with a bit changed. */
static struct datagram kept[200];
static size_t kept_n;

static bool keep(struct pair *pair, int to, uint8_t *at, size_t n)
{
    if (to == 1 && kept_n < 200) {
        kept[kept_n].n = n;
        memcpy(kept[kept_n++].at, at, n);
    }
    (void)pair;
    return false;
}

static void attack(struct pair *pair, uint8_t from_octet)
{
    struct lft_address from = {.at = {from_octet}, .n = 1};
    for (size_t i = 0; i < kept_n; i++) {
        lft_link_receive(pair->link[1], pair->now_ns, kept[i].at, kept[i].n, &from);
        for (size_t bit = 0; bit < 8 * kept[i].n; bit += 7) {
            kept[i].at[bit / 8] ^= (uint8_t)(1 << bit % 8);
            lft_link_receive(pair->link[1], pair->now_ns, kept[i].at, kept[i].n, &from);
            kept[i].at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t n = 0; n < kept[i].n; n += 5)
            lft_link_receive(pair->link[1], pair->now_ns, kept[i].at, n, &from);
    }
}

static void attacks_change_nothing(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    struct lft_stream *stream[2];
    kept_n = 0;
    pair->hook = keep;
    both_up(pair);
    pair_stream(pair, stream);
    works(pair, stream);
    pair->hook = NULL;
    CHECK(kept_n > 5);
    struct lft_engine_counters before = *lft_engine_counters(lft_link_engine(pair->link[1]));
    attack(pair, 0);
    attack(pair, 99);
    struct lft_engine_counters after = *lft_engine_counters(lft_link_engine(pair->link[1]));
    CHECK(after.rx_frames == before.rx_frames && after.rx_delivered == before.rx_delivered);
    CHECK(after.rx_replayed > before.rx_replayed);
    CHECK(lft_link_counters(pair->link[1])->rx_bad_tag > 0 && lft_link_counters(pair->link[1])->rx_truncated > 0);
    CHECK(lft_link_handshake_counters(pair->link[1])->bad_mac > 0);
    works(pair, stream);
    CHECK_EQ(lft_link_counters(pair->link[1])->associations, 1);
    CHECK_EQ(lft_link_peer(pair->link[1]).at[0], 0);
    pair_free(pair);
}

/* A recorded handshake is sent from 100,000 addresses within a second. It must leave no state. It gets at most a dozen
 * answers, plus the share of INITs that are known to be stale (FORMAT.md, "What the responder does", 2). */
static void recorded_handshakes_from_everywhere(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    kept_n = 0;
    pair->hook = keep;
    both_up(pair);
    struct lft_batch batch;
    const struct lft_handshake_counters *counters = lft_link_handshake_counters(pair->link[1]);
    uint64_t completed = counters->completed, cookies = counters->cookies, answers = 0;
    CHECK_EQ(kept[0].n, LFT_INIT_BYTES);
    for (unsigned i = 0; i < 100000; i++) {
        struct lft_address from = {.at = {9, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i}, .n = 4};
        lft_link_receive(pair->link[1], pair->now_ns, kept[0].at, kept[0].n, &from);
        while (i % 10 == 0 && lft_link_transmit(pair->link[1], pair->now_ns, &batch) && batch.to.n == 4)
            answers++;
    }
    CHECK_EQ(counters->completed, completed);
    enum { MOST = LFT_SEEN_MOST + LFT_STALE_PAIRS_PER_SECOND };
    CHECK(counters->cookies - cookies <= MOST && answers <= MOST);
    CHECK(counters->limited > 90000);
    CHECK_EQ(lft_link_peer(pair->link[1]).n, 1);
    pair_free(pair);
}

static void rekeying_keeps_streams(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = pair_config(i, LFT_AES_128_GCM);
        lft_link_destroy(pair->link[i]);
        config.rekey_ns = 2 * NC_NS_PER_S;
        pair->link[i] = lft_link_create(&config, 0);
    }
    struct lft_stream *stream[2];
    both_up(pair);
    pair_stream(pair, stream);
    for (int i = 0; i < 40; i++)
        works(pair, stream);
    CHECK(lft_link_counters(pair->link[0])->rekeys >= 4 && lft_link_counters(pair->link[1])->rekeys >= 4);
    CHECK_EQ(lft_link_counters(pair->link[1])->associations, 1);
    CHECK_EQ(lft_link_counters(pair->link[1])->rx_bad_tag + lft_link_counters(pair->link[1])->rx_unknown_spi, 0);
    pair_free(pair);
}

static void expect_reset(struct lft_link *link, unsigned code)
{
    unsigned events = 0;
    struct lft_stream *stream = lft_session_event(lft_link_session(link), &events);
    CHECK(stream && events & LFT_EVENT_RESET);
    CHECK_EQ(lft_stream_result(stream)->code, code);
    lft_stream_release(stream);
    struct lft_session_state state;
    lft_session_state(lft_link_session(link), &state);
    CHECK_EQ(state.streams, 0);
}

/* Either end dies and restarts. The other end's streams must fail with the reason, and new streams must work. */
static void restart_is_noticed(void)
{
    for (int dead = 0; dead < 2; dead++) {
        struct pair *pair = pair_create(LFT_AES_128_GCM);
        struct lft_stream *stream[2];
        struct lft_link_config config = pair_config(dead, LFT_AES_128_GCM);
        both_up(pair);
        pair_stream(pair, stream);
        lft_link_destroy(pair->link[dead]);
        pair->link[dead] = lft_link_create(&config, pair->now_ns);
        pair_run(pair, 3 * NC_NS_PER_S);
        both_up(pair);
        expect_reset(pair->link[1 - dead], LFT_RESULT_PEER_RESTARTED);
        pair_stream(pair, stream);
        works(pair, stream);
        pair_free(pair);
    }
}

static void short_outage_is_survived(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    struct lft_stream *stream[2];
    both_up(pair);
    pair_stream(pair, stream);
    pair->cut = true;
    pair_run(pair, NC_NS_PER_S + 400 * NC_NS_PER_MS);
    CHECK_EQ(lft_link_status(pair->link[0]), LFT_LINK_OUTAGE);
    CHECK(lft_link_events(pair->link[0]) & LFT_LINK_EVENT_OUTAGE);
    pair_run(pair, 3 * NC_NS_PER_S);
    pair->cut = false;
    pair_run(pair, 2 * NC_NS_PER_S);
    both_up(pair);
    works(pair, stream);
    CHECK_EQ(lft_link_counters(pair->link[1])->associations, 1);
    pair_free(pair);
}

static void long_outage_fails_streams(void)
{
    struct pair *pair = pair_create(LFT_AES_128_GCM);
    struct lft_stream *stream[2];
    both_up(pair);
    pair_stream(pair, stream);
    pair->cut = true;
    pair_run(pair, 6 * NC_NS_PER_S);
    expect_reset(pair->link[0], LFT_RESULT_OUTAGE);
    expect_reset(pair->link[1], LFT_RESULT_OUTAGE);
    pair->cut = false;
    pair_run(pair, 4 * NC_NS_PER_S);
    both_up(pair);
    pair_stream(pair, stream);
    works(pair, stream);
    pair_free(pair);
}

/* By default streams survive outages that would end a direct connection: Linux gives up after 924.6 s without an ACK,
 * and RFC 9293 (3.8.3) allows giving up after 100 s at the earliest. */
static void streams_outlast_what_tcp_outlasts(void)
{
    struct pair *pair = calloc(1, sizeof *pair);
    struct lft_stream *stream[2];
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = pair_config(i, LFT_AES_128_GCM);
        config.outage_max_ns = 0;
        pair->link[i] = lft_link_create(&config, 0);
        CHECK(pair->link[i]);
    }
    both_up(pair);
    pair_stream(pair, stream);
    for (int seconds = 60; seconds < 15 * 60; seconds += 800) {
        pair->cut = true;
        pair_run(pair, (uint64_t)seconds * NC_NS_PER_S);
        CHECK_EQ(lft_link_status(pair->link[0]), LFT_LINK_OUTAGE);
        pair->cut = false;
        both_up(pair);
        works(pair, stream);
    }
    CHECK_EQ(lft_link_counters(pair->link[1])->associations, 1);
    pair->cut = true;
    pair_run(pair, 15 * 60 * NC_NS_PER_S + 2 * NC_NS_PER_S);
    expect_reset(pair->link[0], LFT_RESULT_OUTAGE);
    expect_reset(pair->link[1], LFT_RESULT_OUTAGE);
    pair_free(pair);
}

int main(void)
{
    RUN(every_cipher_carries);
    RUN(other_key_gets_nothing);
    RUN(attacks_change_nothing);
    RUN(recorded_handshakes_from_everywhere);
    RUN(rekeying_keeps_streams);
    RUN(restart_is_noticed);
    RUN(short_outage_is_survived);
    RUN(long_outage_fails_streams);
    RUN(streams_outlast_what_tcp_outlasts);
    return 0;
}
