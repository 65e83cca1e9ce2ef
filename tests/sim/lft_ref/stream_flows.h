/* The model of stream_model.c: its state of each stream, and the actions of the relays at both ends. */
#ifndef STREAM_FLOWS_H
#define STREAM_FLOWS_H

#include "check.h"
#include "../../c/seeded.h"
#include "session.h"

enum { FLOWS = 64, FLIGHT = 96, ROOM = 1400 };

/* The test's state of one end of a stream. */
struct half {
    struct lft_stream *stream; /* NULL: the stream is not known here yet, or was released */
    bool known, accepted, finished, gave_up, saw_end, saw_reset;
    bool failed; /* its host failed while both ends had the stream open */
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
    uint64_t not_before; /* the step at which it arrives; later if it was lost and is repeated */
    size_t n;
    uint8_t at[ROOM];
};
struct model {
    struct seeded seeded;
    struct lft_session *session[2];
    struct lft_pool *pool[2];
    unsigned association[2]; /* the association of each end; frames of another association do not arrive */
    bool down[2];
    struct flow flow[FLOWS];
    struct frame flight[2][FLIGHT]; /* by destination */
    size_t flight_n[2];
    uint64_t now_ns, step, opened, restarts, no_memory, ended_whole, ended_reset, refused, failed;
    uint32_t uid;
};

static inline uint8_t octet(const struct flow *flow, unsigned from, uint64_t offset)
{
    return (uint8_t)(((flow->uid * 2 + from) * 0x9e3779b1u + (uint32_t)offset * 0x85ebca6bu) >> 13);
}

static inline bool one_in(struct model *m, uint32_t n)
{
    return seeded_below(&m->seeded, n) == 0;
}

/* --- what the relay does --- */

static inline void open_one(struct model *m, unsigned end)
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

static inline void release(struct flow *flow, unsigned end)
{
    lft_stream_set_user(flow->half[end].stream, NULL);
    lft_stream_release(flow->half[end].stream);
    flow->half[end].stream = NULL;
}

static inline void write_some(struct model *m, struct flow *flow, unsigned end)
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

static inline void read_some(struct model *m, struct flow *flow, unsigned end)
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

static inline void finish(struct flow *flow, unsigned end)
{
    flow->half[end].finished = true;
    lft_stream_finish(flow->half[end].stream);
}

/* Accepts or refuses the stream; for some time the relay does neither. */
static inline void answer(struct model *m, struct flow *flow, unsigned end)
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

static inline void act(struct model *m, struct flow *flow, unsigned end, bool draining)
{
    struct half *half = &flow->half[end];
    if (!flow->used || !half->stream)
        return;
    if (half->saw_end && half->finished) {
        release(flow, end);
        return;
    }
    unsigned choice = seeded_below(&m->seeded, 1000);
    if (choice == 0 && !draining) { /* one of the three ways in which a relay gives a stream up */
        unsigned way = seeded_below(&m->seeded, 3);
        half->gave_up = true;
        half->failed = way == 0 && lft_stream_state(half->stream) == LFT_STREAM_OPEN;
        if (way == 0)
            lft_stream_fail(half->stream, &(struct lft_result){.code = LFT_RESULT_RESET});
        else if (way == 1)
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

/* The flow of a stream that the peer has opened; NULL: the peer has given the stream up by now. */
static inline struct flow *greet(unsigned end, struct model *m, struct lft_stream *stream)
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

static inline void take_event(struct model *m, unsigned end, struct lft_stream *stream, unsigned events)
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
    if (events & LFT_EVENT_END) { /* the peer says that these were all octets, which must be true */
        CHECK(other->finished);
        CHECK_EQ(half->read, other->written);
        half->saw_end = true;
    }
    unsigned code = lft_stream_result(stream)->code;
    if (events & LFT_EVENT_FAILED) { /* after all octets that the peer had written before */
        CHECK(other->failed && code == LFT_RESULT_RESET);
        CHECK_EQ(half->read, other->written);
        m->failed++;
    }
    if (events & LFT_EVENT_RESET) /* no other reset overtakes these octets, unless the association ends */
        CHECK(!other->failed || code == LFT_RESULT_OUTAGE || code == LFT_RESULT_PEER_RESTARTED);
    if (events & (LFT_EVENT_RESET | LFT_EVENT_FAILED)) {
        half->saw_reset = true;
        release(flow, end);
    }
}

static inline void collect(struct model *m, unsigned end)
{
    unsigned events;
    struct lft_stream *stream;
    while ((stream = lft_session_event(m->session[end], &events)))
        take_event(m, end, stream, events);
}

/* A stream is over when neither relay has it any more. Then each end has all octets, or has given up, or has learned of
 * a reset. */
static inline void settle(struct model *m, struct flow *flow)
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

#endif
