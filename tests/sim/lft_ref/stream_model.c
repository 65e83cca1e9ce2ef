/* Two sessions with random interleavings: streams open, write, end and reset at both ends, readers are slow, frames are
 * overtaken or, if they had to be repeated, late, memory runs out, either end restarts. Every chunk that arrives is
 * checked against the table of FORMAT.md. At the end every stream has ended, every octet has arrived or its stream has
 * reported that it did not, and no memory is in use. LFP_STEPS: number of steps, 1,000,000 by default. LFP_SEED: the
 * seed. `lfp bench lft.streams` runs a hundred seeds. */
#include "nc_clock.h"
#include "nc_range.h"
#include "session_internal.h"
#include "stream_flows.h"

enum { MEMORY = 3 << 20, STEPS = 1000000 };
static const uint32_t streams_max[2] = {90, 28}; /* they differ, so that one end refuses streams that the other opens */

/* --- frames, and the table --- */

/* FORMAT.md, "Chunks": the states to which a chunk may lead, as letters: - none, e early, p opening, a asked, o open, g
 * failing, f failed, x ended. If a chunk is wrong in a state, it has no letters, because sessions that keep the rules
 * never send it. */
static const char *const table[LFT_STREAM_STATES + 1][LFT_CHUNK_TYPES] = {
    /*                       END DATA  FIN   OPEN  ACCEPT REFUSE RESET CREDIT RETURN */
    [LFT_STREAM_EARLY] = {"", "e", "e", "a", "", "", "x-", "e", ""},
    [LFT_STREAM_OPENING] = {"", "p", "p", "", "o", "x-", "x-f", "p", "p"},
    [LFT_STREAM_ASKED] = {"", "a", "a", "", "", "", "x-", "a", ""},
    [LFT_STREAM_OPEN] = {"", "o", "o-", "", "", "", "x-f", "o", "o"},
    [LFT_STREAM_FAILING] = {"", "g", "g", "", "", "", "x-", "g", "g"},
    [LFT_STREAM_FAILED] = {"", "f", "f", "", "fx", "", "", "f", "f"},
    [LFT_STREAM_ENDED] = {"", "x-", "x-", "x", "x", "x-", "x-", "x", "x"},
    [LFT_STREAM_STATES] = {"", "-e", "-e", "-a", "-", "-", "-x", "-e", "-"},
};

static unsigned state_of(const struct lft_session *session, uint32_t id)
{
    const struct lft_stream *stream = lft_stream_find(session, id);
    return stream ? (unsigned)lft_stream_state(stream) : (unsigned)LFT_STREAM_STATES;
}

/* Delivers a frame chunk by chunk, and checks the stream's state before and after each. */
static void deliver(struct model *m, unsigned end, struct lft_buffer *buffer, size_t n)
{
    static const char letters[LFT_STREAM_STATES + 1] = {'e', 'p', 'a', 'o', 'g', 'f', 'x', '-'};
    const uint8_t *cursor = buffer->at;
    struct lft_chunk chunk;
    for (const uint8_t *from = cursor; lft_chunk_get(&cursor, buffer->at + n, &chunk) > 0; from = cursor) {
        unsigned before = state_of(m->session[end], chunk.stream);
        lft_session_deliver(m->session[end], buffer, from, (size_t)(cursor - from), m->now_ns);
        char after = letters[state_of(m->session[end], chunk.stream)];
        if (!strchr(table[before][chunk.type], after))
            fprintf(stderr, "step %llu: chunk type %u in state '%c' leads to '%c', want one of '%s'\n",
                    (unsigned long long)m->step, chunk.type, letters[before], after, table[before][chunk.type]);
        CHECK(strchr(table[before][chunk.type], after));
    }
}

static void restart(struct model *m, unsigned end, unsigned association, unsigned code)
{
    lft_session_fail(m->session[end], code);
    collect(m, end);
    lft_session_restart(m->session[end], m->pool[end]);
    m->association[end] = association;
    m->down[end] = false;
}

static void arrive(struct model *m, unsigned end)
{
    if (!m->flight_n[end])
        return;
    size_t i = seeded_below(&m->seeded, (uint32_t)m->flight_n[end]);
    struct frame *frame = &m->flight[end][i];
    if (frame->not_before > m->step)
        return;
    if (frame->association > m->association[end]) /* its keys are new, which shows this end that the peer has
                                                   * restarted */
        restart(m, end, frame->association, LFT_RESULT_PEER_RESTARTED);
    if (frame->association == m->association[end] && !m->down[end]) {
        struct lft_buffer *buffer = lft_pool_take(m->pool[end], 1);
        if (!buffer) { /* it is dropped and repeated */
            m->no_memory++;
            frame->not_before = m->step + 100;
            return;
        }
        memcpy(buffer->at, frame->at, frame->n);
        deliver(m, end, buffer, frame->n);
        lft_pool_release(m->pool[end], buffer);
        collect(m, end);
    }
    *frame = m->flight[end][--m->flight_n[end]];
}

static void send_one(struct model *m, unsigned from)
{
    unsigned to = 1 - from;
    if (m->down[from] || m->flight_n[to] == FLIGHT || !lft_session_waiting(m->session[from]))
        return;
    struct frame *frame = &m->flight[to][m->flight_n[to]];
    frame->n = lft_session_fill(m->session[from], frame->at, one_in(m, 3) ? 300 + seeded_below(&m->seeded, 1100) : ROOM,
                                m->now_ns);
    frame->association = m->association[from];
    frame->not_before = m->step + (one_in(m, 10) ? 50 + seeded_below(&m->seeded, 5000) : 0);
    m->flight_n[to] += frame->n > 0;
}

/* An end loses its association by an outage or a restart. For some time it has none. */
static void fail_one(struct model *m)
{
    unsigned end = m->down[0] || m->down[1] ? m->down[1] : seeded_below(&m->seeded, 2);
    if (m->down[end]) {
        restart(m, end, (unsigned)nc_max(m->association[0], m->association[1]) + 1, LFT_RESULT_OUTAGE);
        return;
    }
    m->restarts++;
    m->down[end] = true;
    lft_session_fail(m->session[end], LFT_RESULT_OUTAGE);
    collect(m, end);
}

static void pass_time(struct model *m)
{
    m->now_ns += 100 * NC_NS_PER_MS;
    for (unsigned end = 0; end < 2; end++) {
        lft_session_round_trip(m->session[end], (1 + seeded_below(&m->seeded, 300)) * NC_NS_PER_MS);
        lft_session_tick(m->session[end], m->now_ns);
    }
}

static void step(struct model *m, bool draining)
{
    enum { ACTS = 4 };
    unsigned what = seeded_below(&m->seeded, 10000);
    m->step++;
    arrive(m, seeded_below(&m->seeded, 2));
    send_one(m, seeded_below(&m->seeded, 2));
    for (int i = 0; i < ACTS; i++) {
        struct flow *flow = &m->flow[seeded_below(&m->seeded, FLOWS)];
        act(m, flow, seeded_below(&m->seeded, 2), draining);
        settle(m, flow);
    }
    collect(m, seeded_below(&m->seeded, 2));
    if (what < 100)
        pass_time(m);
    else if (what < 1100 && !draining)
        open_one(m, seeded_below(&m->seeded, 2));
    else if (!draining && (what == 5000 || (what < 1130 && (m->down[0] || m->down[1]))))
        fail_one(m);
}

/* From here on no stream begins. Open streams are read and closed until none is left. */
static void drain(struct model *m)
{
    unsigned latest = (unsigned)nc_max(m->association[0], m->association[1]);
    bool apart = m->down[0] || m->down[1] || m->association[0] != m->association[1];
    for (unsigned end = 0; apart && end < 2; end++)
        restart(m, end, latest + 1, LFT_RESULT_OUTAGE);
    uint64_t most = m->step + 3000000;
    struct lft_session_state a = {.streams = 1}, b = a;
    while ((a.streams || b.streams || m->flight_n[0] || m->flight_n[1]) && m->step < most) {
        step(m, true);
        lft_session_state(m->session[0], &a);
        lft_session_state(m->session[1], &b);
    }
}

static void nothing_is_left(struct model *m)
{
    for (unsigned i = 0; i < FLOWS; i++)
        CHECK(!m->flow[i].used || !(m->flow[i].half[0].stream || m->flow[i].half[1].stream));
    for (unsigned end = 0; end < 2; end++) {
        const struct lft_session *session = m->session[end];
        struct lft_session_state state;
        lft_session_state(session, &state);
        CHECK_EQ(state.streams + state.streams_lingering + state.streams_active, 0);
        CHECK_EQ(state.tx_queued_bytes + state.rx_queued_bytes, 0);
        CHECK_EQ(session->rx_promised + session->rx_unproven + session->holes_n, 0);
        CHECK_EQ(lft_pool_used(m->pool[end]) + lft_pool_used(session->blocks), 0);
        CHECK_EQ(session->counters.rx_malformed + session->counters.rx_credit_violations, 0);
        lft_session_destroy(m->session[end]);
        lft_pool_destroy(m->pool[end]);
    }
}

static void every_stream_ends(void)
{
    const char *given = getenv("LFP_STEPS");
    uint64_t steps = given ? strtoull(given, NULL, 10) : STEPS;
    struct model *m = calloc(1, sizeof *m);
    m->seeded = seeded_start();
    for (unsigned end = 0; end < 2; end++) {
        const struct lft_session_config config = {.initiator = end == 0,
                                                  .streams_max = streams_max[end],
                                                  .tx_memory_bytes = MEMORY,
                                                  .rx_memory_bytes = MEMORY};
        m->pool[end] = lft_pool_create(ROOM + 16, MEMORY);
        m->session[end] = lft_session_create(&config, m->pool[end]);
        CHECK(m->session[end]);
    }
    while (m->step < steps)
        step(m, false);
    drain(m);
    printf("steps %llu streams %llu whole %llu reset %llu failed %llu refused %llu restarts %llu no_memory %llu\n",
           (unsigned long long)m->step, (unsigned long long)m->opened, (unsigned long long)m->ended_whole,
           (unsigned long long)m->ended_reset, (unsigned long long)m->failed, (unsigned long long)m->refused,
           (unsigned long long)m->restarts, (unsigned long long)m->no_memory);
    nothing_is_left(m);
    CHECK(m->ended_whole > steps / 10000 && m->ended_reset > steps / 10000); /* every way to end must have occurred */
    CHECK(m->failed > steps / 100000);
    free(m);
}

int main(void)
{
    RUN(every_stream_ends);
    return 0;
}
