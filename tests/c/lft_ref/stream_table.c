/* Every chunk in every state of a stream, against the table of FORMAT.md. */
#include "session_bench.h"

static void nothing(struct bench *bench)
{
    (void)bench;
}
static void past(struct bench *bench)
{
    unsigned code;
    say(bench, LFT_CHUNK_RESET, PEERS_ID);
    CHECK_EQ(heard(bench, PEERS_ID, &code), LFT_CHUNK_RESET);
}
static void early(struct bench *bench)
{
    say(bench, LFT_CHUNK_CREDIT, PEERS_ID);
}
static void asked(struct bench *bench)
{
    say(bench, LFT_CHUNK_OPEN, PEERS_ID);
    relay_learns(bench);
}
static void accepting(struct bench *bench)
{
    unsigned code;
    asked(bench);
    lft_stream_accept(bench->stream);
    CHECK_EQ(heard(bench, PEERS_ID, &code), LFT_CHUNK_ACCEPT);
}
static void refused(struct bench *bench)
{
    unsigned code;
    asked(bench);
    lft_stream_refuse(bench->stream, &(struct lft_result){.code = LFT_RESULT_REFUSED});
    lft_stream_release(bench->stream);
    bench->stream = NULL;
    CHECK_EQ(heard(bench, PEERS_ID, &code), LFT_CHUNK_REFUSE);
}
static void opening(struct bench *bench)
{
    unsigned code;
    bench->stream = lft_stream_open(bench->session, &(struct lft_open){.family = LFT_FAMILY_IPV4}, NULL);
    CHECK_EQ(lft_stream_id(bench->stream), OWN_ID);
    CHECK_EQ(heard(bench, OWN_ID, &code), LFT_CHUNK_OPEN);
}
static void opened(struct bench *bench)
{
    unsigned events;
    opening(bench);
    say(bench, LFT_CHUNK_ACCEPT, OWN_ID);
    CHECK(lft_session_event(bench->session, &events) == bench->stream);
}
static void given_up(struct bench *bench)
{
    unsigned code;
    opening(bench);
    lft_stream_release(bench->stream);
    bench->stream = NULL;
    CHECK_EQ(heard(bench, OWN_ID, &code), LFT_CHUNK_RESET);
}

/* The stream's host has failed, and the peer has no credit left for the octets that the host sent before. */
static void failing(struct bench *bench)
{
    opened(bench);
    bench->stream->tx_credit = 0;
    CHECK_EQ(lft_stream_write(bench->stream, "octets", 6), 6);
    lft_stream_fail(bench->stream, &(struct lft_result){.code = LFT_RESULT_RESET});
    lft_stream_release(bench->stream);
    bench->stream = NULL;
}
/* A RESET that comes after `value` octets. `flags`: flags in addition to LFT_RESET_BEHIND. */
static void say_failed(struct bench *bench, uint32_t id, uint64_t value, uint8_t flags)
{
    uint8_t body[LFT_RESULT_BYTES];
    lft_result_put(body, &(struct lft_result){.code = LFT_RESULT_RESET, .flags = LFT_RESET_BEHIND | flags});
    say_about(bench, LFT_CHUNK_RESET, id, value, body, sizeof body);
}
static void failed(struct bench *bench)
{
    unsigned code;
    opened(bench);
    say_failed(bench, OWN_ID, 7, 0);
    CHECK_EQ(heard(bench, OWN_ID, &code), LFT_CHUNK_RESET);
}

/* The state afterwards, a letter for each of DATA FIN OPEN ACCEPT REFUSE RESET CREDIT RETURN: - none, e early, p
 * opening, a asked, o open, g failing, f failed, d ended by the peer, s has sent RESET and waits for the peer's, ! a
 * protocol error, r refused because there is no room, x had already ended. */
struct row {
    const char *state;
    void (*make)(struct bench *);
    uint32_t id;
    const char *after;
};
static const struct row rows[] = {
    {"none, own identifier", nothing, OWN_ID, "--------"},
    {"none, peer's, not begun", nothing, PEERS_ID, "eea--de!"},
    {"none, peer's, ended", past, PEERS_ID, "--------"},
    {"early", early, PEERS_ID, "eea!!de!"},
    {"opening", opening, OWN_ID, "pp!oddpp"},
    {"asked", asked, PEERS_ID, "aa!!!da!"},
    {"open, acceptor", accepting, PEERS_ID, "oo!!!doo"},
    {"open, opener", opened, OWN_ID, "oo!!!doo"},
    {"failing", failing, OWN_ID, "ggggddsg"},
    {"failed", failed, OWN_ID, "fdddddff"}, /* the FIN is at another offset */
    {"ended, acceptor", refused, PEERS_ID, "x-xx--xx"},
    {"ended, opener", given_up, OWN_ID, "x-xx--xx"},
};

static char state_letter(const struct lft_stream *stream)
{
    static const char letters[LFT_STREAM_STATES] = {'e', 'p', 'a', 'o', 'g', 'f', 'x'};
    return stream ? letters[lft_stream_state(stream)] : '-';
}

/* The letter for the session's reaction: its state, and the chunks that it sends to the peer. */
static char outcome(struct bench *bench, uint32_t id, bool ended_before)
{
    char state = state_letter(lft_stream_find(bench->session, id));
    unsigned code = 0, said = heard(bench, id, &code);
    const struct lft_stream *stream = lft_stream_find(bench->session, id);
    if (said == LFT_CHUNK_RESET && stream && stream->rx_final == LFT_UNKNOWN)
        return 's';
    if (said == LFT_CHUNK_RESET)
        return code == LFT_RESULT_PROTOCOL ? '!' : 'd';
    if (said == LFT_CHUNK_REFUSE)
        return 'r';
    CHECK(!said);
    return state == 'x' && !ended_before ? 'd' : state;
}

/* The relay releases a stream that the peer has ended. Then nothing of the stream may be left. */
static void relay_lets_go(struct bench *bench, uint32_t id)
{
    unsigned code;
    if (bench->stream)
        lft_stream_release(bench->stream);
    heard(bench, id, &code);
    CHECK(!lft_stream_find(bench->session, id));
    CHECK_EQ(bench->session->rx_promised + bench->session->rx_unproven, 0);
}

static void every_chunk_in_every_state(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (unsigned type = LFT_CHUNK_DATA; type < LFT_CHUNK_TYPES; type++) {
            struct bench bench = bench_start();
            rows[i].make(&bench);
            bool ended_before = state_letter(lft_stream_find(bench.session, rows[i].id)) == 'x';
            say(&bench, type, rows[i].id);
            char got = outcome(&bench, rows[i].id, ended_before), want = rows[i].after[type - 1];
            if (got != want)
                fprintf(stderr, "%s: chunk type %u gives '%c', want '%c'\n", rows[i].state, type, got, want);
            CHECK(got == want);
            if (got == 'd' || got == '!')
                relay_lets_go(&bench, rows[i].id);
            bench_end(&bench);
        }
}

/* A half that the peer has closed accepts no further closing chunk, but still accepts the rest of its octets. */
static void a_closed_half_takes_what_is_missing(void)
{
    static const uint8_t octets[10];
    unsigned code, events;
    struct bench bench = bench_start();
    accepting(&bench);
    say_about(&bench, LFT_CHUNK_FIN, PEERS_ID, 5, octets, 5);
    say_about(&bench, LFT_CHUNK_DATA, PEERS_ID, 0, octets, 5);
    CHECK(lft_session_event(bench.session, &events) == bench.stream && events == LFT_EVENT_READABLE);
    lft_stream_consumed(bench.stream, 10, 1);
    CHECK(lft_session_event(bench.session, &events) == bench.stream && events == LFT_EVENT_END);
    say_about(&bench, LFT_CHUNK_FIN, PEERS_ID, 10, NULL, 0);
    CHECK(heard(&bench, PEERS_ID, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_PROTOCOL);
    bench_end(&bench);
    for (unsigned beyond = 0; beyond < 2; beyond++) { /* beyond the end, and beyond the credit */
        bench = bench_start();
        accepting(&bench);
        if (!beyond)
            say_about(&bench, LFT_CHUNK_FIN, PEERS_ID, 5, octets, 5);
        say_about(&bench, LFT_CHUNK_DATA, PEERS_ID, beyond ? MEMORY : 6, octets, 5);
        CHECK(heard(&bench, PEERS_ID, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_PROTOCOL);
        relay_lets_go(&bench, PEERS_ID);
        bench_end(&bench);
    }
}

/* FIN and RESET must not have an offset below octets that have come, in order or out of order. */
static void an_end_before_octets_is_wrong(void)
{
    static const uint8_t octets[10];
    unsigned code;
    for (unsigned fin = 0; fin < 2; fin++)
        for (uint64_t end = 4; end < 10; end += 5) { /* 5 octets in order, and 5 from 10 on */
            struct bench bench = bench_start();
            accepting(&bench);
            say_about(&bench, LFT_CHUNK_DATA, PEERS_ID, 0, octets, 5);
            say_about(&bench, LFT_CHUNK_DATA, PEERS_ID, 10, octets, 5);
            if (fin)
                say_about(&bench, LFT_CHUNK_FIN, PEERS_ID, end, NULL, 0);
            else
                say_failed(&bench, PEERS_ID, end, 0);
            CHECK(heard(&bench, PEERS_ID, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_PROTOCOL);
            relay_lets_go(&bench, PEERS_ID);
            bench_end(&bench);
        }
    struct bench bench = bench_start();
    accepting(&bench);
    say_failed(&bench, PEERS_ID, MEMORY, 0); /* beyond the credit */
    CHECK(heard(&bench, PEERS_ID, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_PROTOCOL);
    relay_lets_go(&bench, PEERS_ID);
    bench_end(&bench);
}

/* Checks that the next event of the bench's stream is this one. */
static void expect(struct bench *bench, unsigned want)
{
    unsigned events = 0;
    CHECK(lft_session_event(bench->session, &events) == bench->stream);
    CHECK_EQ(events, want);
}

/* The octets before a RESET arrive in any order around it, and the ACCEPT after it. The relay reads all octets, then
 * learns of the end of data, if there is one, and then of the failure. */
static void what_stands_before_a_reset_is_read(void)
{
    static const uint8_t octets[10];
    unsigned code, events;
    for (unsigned ended = 0; ended < 2; ended++)
        for (unsigned accept_last = 0; accept_last < 2; accept_last++) {
            struct bench bench = bench_start();
            (accept_last ? opening : opened)(&bench);
            say_about(&bench, LFT_CHUNK_DATA, OWN_ID, 5, octets, 5);
            say_failed(&bench, OWN_ID, 10, ended ? LFT_RESET_ENDED : 0);
            CHECK(heard(&bench, OWN_ID, &code) == LFT_CHUNK_RESET && code == LFT_RESULT_RESET);
            CHECK(!lft_stream_is_read(bench.stream) && !lft_stream_write(bench.stream, "x", 1));
            CHECK(!lft_session_event(bench.session, &events));
            say_about(&bench, LFT_CHUNK_DATA, OWN_ID, 0, octets, 5);
            if (ended)
                say_about(&bench, LFT_CHUNK_FIN, OWN_ID, 10, NULL, 0);
            expect(&bench, LFT_EVENT_READABLE);
            lft_stream_consumed(bench.stream, 10, 1);
            if (accept_last) {
                if (ended)
                    expect(&bench, LFT_EVENT_END);
                CHECK(!lft_session_event(bench.session, &events));
                say(&bench, LFT_CHUNK_ACCEPT, OWN_ID);
            }
            expect(&bench, (accept_last ? LFT_EVENT_ACCEPTED : 0) | (ended ? LFT_EVENT_END : 0) | LFT_EVENT_FAILED);
            CHECK_EQ(lft_stream_result(bench.stream)->code, LFT_RESULT_RESET);
            relay_lets_go(&bench, OWN_ID);
            bench_end(&bench);
        }
}

/* There is no room for these streams, up to ten times the number of slots. Whichever chunk comes first, each stream is
 * refused once, and its late chunks are ignored. */
static void what_has_no_room_is_refused(void)
{
    enum { MANY = 10 * STREAMS_MAX };
    struct bench bench = bench_start();
    unsigned code;
    for (uint32_t i = 0; i < STREAMS_MAX; i++)
        say(&bench, LFT_CHUNK_OPEN, 2 * i);
    for (uint32_t i = STREAMS_MAX; i < MANY; i++) {
        static const unsigned firsts[] = {LFT_CHUNK_OPEN, LFT_CHUNK_DATA, LFT_CHUNK_CREDIT, LFT_CHUNK_RESET};
        say(&bench, firsts[i % 4], 2 * i);
        CHECK(heard(&bench, 2 * i, &code) == LFT_CHUNK_REFUSE && code == LFT_RESULT_NO_RESOURCES);
        say(&bench, LFT_CHUNK_OPEN, 2 * i);
        say(&bench, LFT_CHUNK_RESET, 2 * i);
        CHECK_EQ(heard(&bench, 2 * i, &code), 0);
    }
    CHECK_EQ(bench.session->streams, STREAMS_MAX);
    CHECK_EQ(lft_session_counters(bench.session)->streams_refused_full, MANY - STREAMS_MAX);
    bench_end(&bench);
}

/* The larger of the credits granted by CREDIT and OPEN counts, whichever comes first. */
static void credit_before_its_open_counts(void)
{
    struct bench bench = bench_start();
    early(&bench);
    say(&bench, LFT_CHUNK_OPEN, PEERS_ID); /* grants nothing */
    CHECK_EQ(lft_stream_find(bench.session, PEERS_ID)->tx_credit, 100000);
    bench_end(&bench);
}

/* Credit that was granted before a RETURN arrived does not count after it; nor does a RETURN that a later one overtook.
 * */
static void what_crosses_a_return_does_not_count(void)
{
    uint8_t number[2];
    struct bench bench = bench_start();
    accepting(&bench);
    uint64_t granted = bench.stream->rx_granted;
    for (uint16_t n = 2; n >= 1; n--) {
        nc_put16(number, n);
        say_about(&bench, LFT_CHUNK_RETURN, PEERS_ID, n == 2 ? 100 : granted, number, sizeof number);
    }
    CHECK_EQ(bench.stream->rx_returns, 2);
    CHECK(bench.stream->rx_granted < granted && !bench.stream->reset);
    bench.stream->tx_returns = 1; /* as after a RETURN of ours */
    bench.stream->tx_credit = 500;
    say_about(&bench, LFT_CHUNK_CREDIT, PEERS_ID, 9000, NULL, 0);
    CHECK_EQ(bench.stream->tx_credit, 500);
    nc_put16(number, 1);
    say_about(&bench, LFT_CHUNK_CREDIT, PEERS_ID, 9000, number, sizeof number);
    CHECK_EQ(bench.stream->tx_credit, 9000);
    bench_end(&bench);
}

int main(void)
{
    RUN(every_chunk_in_every_state);
    RUN(a_closed_half_takes_what_is_missing);
    RUN(an_end_before_octets_is_wrong);
    RUN(what_stands_before_a_reset_is_read);
    RUN(what_has_no_room_is_refused);
    RUN(credit_before_its_open_counts);
    RUN(what_crosses_a_return_does_not_count);
    return 0;
}
