/* Two sessions under random interleavings: streams open, write, end and reset at both ends, readers are slow, frames are
 * overtaken and come late as those that had to be repeated, memory runs out, either end restarts. Every chunk that
 * arrives is held against the table of FORMAT.md. At the end every stream has ended, every octet has arrived or its
 * stream has said that it did not, and no memory is in use.
 * LFP_STEPS: steps, 1,000,000 by default. LFP_SEED: the seed. `lfp bench lft.streams` runs a hundred seeds. */
#include "check.h"
#include "nc_clock.h"
#include "nc_range.h"
#include "../../c/seeded.h"
#include "session.h"
#include "session_internal.h"

enum { FLOWS = 64, FLIGHT = 96, ROOM = 1400, MEMORY = 3 << 20, STEPS = 1000000 };
static const uint32_t streams_max[2] = {90, 28}; /* unlike, so that one end refuses what the other opens */

/* What the test knows of one end of a stream. */
struct half {
    struct lft_stream *stream; /* NULL: not known here yet, or released */
    bool known, accepted, finished, gave_up, saw_end, saw_reset;
    uint64_t written, read;
};
struct flow {
    bool used;
    uint32_t uid;
    unsigned opener, association;
    struct half half[2];
};
struct frame {
    unsigned association;
    uint64_t not_before; /* step; later for one that was lost and is repeated */
    size_t n;
    uint8_t at[ROOM];
};
struct model {
    struct seeded seeded;
    struct lft_session *session[2];
    struct lft_pool *pool[2];
    unsigned association[2]; /* of each end; frames of another one do not arrive */
    bool down[2];
    struct flow flow[FLOWS];
    struct frame flight[2][FLIGHT]; /* by destination */
    size_t flight_n[2];
    uint64_t now_ns, step, opened, restarts, no_memory, ended_whole, ended_reset, refused;
    uint32_t uid;
};

static uint8_t octet(const struct flow *flow, unsigned from, uint64_t offset)
{
    return (uint8_t)(((flow->uid * 2 + from) * 0x9e3779b1u + (uint32_t)offset * 0x85ebca6bu) >> 13);
}

static bool one_in(struct model *m, uint32_t n)
{
    return seeded_below(&m->seeded, n) == 0;
}

/* --- what the relay does --- */

static void open_one(struct model *m, unsigned end)
{
    struct flow *flow = &m->flow[seeded_below(&m->seeded, FLOWS)];
    if (flow->used)
        return;
    *flow = (struct flow){.used = true, .uid = m->uid++, .opener = end, .association = m->association[end]};
    struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination_port = (uint16_t)(flow - m->flow)};
    memcpy(where.destination, &flow->uid, sizeof flow->uid);
    flow->half[end].stream = lft_stream_open(m->session[end], &where, flow);
    flow->half[end].known = flow->used = flow->half[end].stream;
    m->opened += flow->used;
}

static void release(struct flow *flow, unsigned end)
{
    lft_stream_set_user(flow->half[end].stream, NULL);
    lft_stream_release(flow->half[end].stream);
    flow->half[end].stream = NULL;
}

static void write_some(struct model *m, struct flow *flow, unsigned end)
{
    struct half *half = &flow->half[end];
    struct iovec piece;
    size_t want = one_in(m, 4) ? 1 + seeded_below(&m->seeded, 20) : 1 + seeded_below(&m->seeded, 9000);
    if (half->finished || !lft_stream_write_space(half->stream, &piece, 1))
        return;
    size_t n = piece.iov_len < want ? piece.iov_len : want;
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)piece.iov_base)[i] = octet(flow, end, half->written + i);
    half->written += n;
    lft_stream_wrote(half->stream, n);
}

static void read_some(struct model *m, struct flow *flow, unsigned end)
{
    struct half *half = &flow->half[end];
    struct iovec piece;
    if (!lft_stream_read_view(half->stream, &piece, 1))
        return;
    size_t n = one_in(m, 3) ? 1 + seeded_below(&m->seeded, (uint32_t)piece.iov_len) : piece.iov_len;
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(((const uint8_t *)piece.iov_base)[i], octet(flow, 1 - end, half->read + i));
    half->read += n;
    CHECK(half->read <= flow->half[1 - end].written);
    lft_stream_consumed(half->stream, n, m->now_ns);
}

static void finish(struct flow *flow, unsigned end)
{
    flow->half[end].finished = true;
    lft_stream_finish(flow->half[end].stream);
}

/* Accepts or refuses; a relay does neither for some time. */
static void answer(struct model *m, struct flow *flow, unsigned end)
{
    const struct lft_result refused = {.code = LFT_RESULT_REFUSED};
    struct half *half = &flow->half[end];
    if (!one_in(m, 8)) {
        half->accepted = true;
        lft_stream_accept(half->stream);
        return;
    }
    half->gave_up = true;
    lft_stream_refuse(half->stream, &refused);
    release(flow, end);
}

static void act(struct model *m, struct flow *flow, unsigned end, bool draining)
{
    struct half *half = &flow->half[end];
    if (!flow->used || !half->stream)
        return;
    if (half->saw_end && half->finished) {
        release(flow, end);
        return;
    }
    unsigned choice = seeded_below(&m->seeded, 1000);
    if (choice == 0 && !draining) { /* either of the two ways in which a relay gives up */
        half->gave_up = true;
        if (one_in(m, 2))
            lft_stream_reset(half->stream, &(struct lft_result){.code = LFT_RESULT_IDLE});
        release(flow, end);
    } else if (end != flow->opener && !half->accepted)
        answer(m, flow, end);
    else if (choice < 20 || draining)
        draining &&choice >= 500 ? read_some(m, flow, end) : finish(flow, end);
    else
        choice % 2 || (flow->uid % 4 == 0 && choice % 32) ? write_some(m, flow, end) : read_some(m, flow, end);
}

/* --- events --- */

/* The flow of a stream that the peer has opened; NULL: it has given the stream up meanwhile. */
static struct flow *greet(unsigned end, struct model *m, struct lft_stream *stream)
{
    const struct lft_open *where = lft_stream_where(stream);
    struct flow *flow = &m->flow[where->destination_port];
    if (!flow->used || memcmp(where->destination, &flow->uid, sizeof flow->uid))
        return NULL;
    CHECK(flow->opener != end && !flow->half[end].known);
    flow->half[end].known = true;
    flow->half[end].stream = stream;
    lft_stream_set_user(stream, flow);
    return flow;
}

static void take_event(struct model *m, unsigned end, struct lft_stream *stream, unsigned events)
{
    struct flow *flow = lft_stream_user(stream);
    if (!flow && events & LFT_EVENT_OPENED && !(events & LFT_EVENT_RESET))
        flow = greet(end, m, stream);
    if (!flow) {
        lft_stream_release(stream);
        return;
    }
    struct half *half = &flow->half[end], *other = &flow->half[1 - end];
    CHECK(half->stream == stream);
    if (events & LFT_EVENT_END) { /* the peer says that this was all, and it was */
        CHECK(other->finished);
        CHECK_EQ(half->read, other->written);
        half->saw_end = true;
    }
    if (events & LFT_EVENT_RESET) {
        half->saw_reset = true;
        release(flow, end);
    }
}

static void collect(struct model *m, unsigned end)
{
    unsigned events;
    struct lft_stream *stream;
    while ((stream = lft_session_event(m->session[end], &events)))
        take_event(m, end, stream, events);
}

/* A stream is over when neither relay has it any more. Then each end has all octets, or one has given up, or it was told
 * of a reset. */
static void settle(struct model *m, struct flow *flow)
{
    if (!flow->used || flow->half[0].stream || flow->half[1].stream)
        return;
    struct half *opener = &flow->half[flow->opener], *acceptor = &flow->half[1 - flow->opener];
    bool whole = opener->saw_end && acceptor->saw_end;
    bool told = opener->gave_up || acceptor->gave_up || opener->saw_reset || acceptor->saw_reset;
    CHECK(whole || told);
    m->ended_whole += whole;
    m->ended_reset += !whole;
    m->refused += !acceptor->known;
    flow->used = false;
}

/* --- frames, and the table --- */

/* FORMAT.md, "Chunks": the states that a chunk may lead to, by letters: - none, e early, p opening, a asked, o open,
 * x ended. A chunk that is wrong in a state has no letters, because two sessions that keep to the rules never send it. */
static const char *const table[LFT_STREAM_STATES + 1][LFT_CHUNK_KINDS] = {
    /*                       END DATA  FIN   OPEN  ACCEPT REFUSE RESET CREDIT RETURN */
    [LFT_STREAM_EARLY] = {"", "e", "e", "a", "", "", "x-", "e", ""},
    [LFT_STREAM_OPENING] = {"", "p", "p", "", "o", "x-", "x-", "p", "p"},
    [LFT_STREAM_ASKED] = {"", "a", "a", "", "", "", "x-", "a", ""},
    [LFT_STREAM_OPEN] = {"", "o", "o-", "", "", "", "x-", "o", "o"},
    [LFT_STREAM_ENDED] = {"", "x-", "x-", "x", "x", "x-", "x-", "x", "x"},
    [LFT_STREAM_STATES] = {"", "-e", "-e", "-a", "-", "-", "-x", "-e", "-"},
};

static unsigned state_of(const struct lft_session *session, uint32_t id)
{
    const struct lft_stream *stream = lft_stream_find(session, id);
    return stream ? (unsigned)lft_stream_state(stream) : (unsigned)LFT_STREAM_STATES;
}

/* Delivers a frame chunk by chunk, and looks at the stream's state before and after each. */
static void deliver(struct model *m, unsigned end, struct lft_buffer *buffer, size_t n)
{
    static const char letters[LFT_STREAM_STATES + 1] = {'e', 'p', 'a', 'o', 'x', '-'};
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
    if (frame->association > m->association[end]) /* its keys are new: this end notices that the peer has restarted */
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

/* An end loses its association, by an outage or because it is started anew. For a while it has none. */
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

/* From here on nothing new begins: what is open is read and closed, until nothing is left. */
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
    printf("steps %llu streams %llu whole %llu reset %llu refused %llu restarts %llu no_memory %llu\n",
           (unsigned long long)m->step, (unsigned long long)m->opened, (unsigned long long)m->ended_whole,
           (unsigned long long)m->ended_reset, (unsigned long long)m->refused, (unsigned long long)m->restarts,
           (unsigned long long)m->no_memory);
    nothing_is_left(m);
    CHECK(m->ended_whole > steps / 10000 && m->ended_reset > steps / 10000); /* both ways to end were taken */
    free(m);
}

int main(void)
{
    RUN(every_stream_ends);
    return 0;
}
