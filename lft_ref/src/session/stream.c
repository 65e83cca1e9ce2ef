/* The life of a stream, from OPEN or the peer's first chunk to the end of both directions. */
#include <assert.h>

#include "session_internal.h"

struct lft_stream *lft_stream_new(struct lft_session *session, uint32_t id, bool ours)
{
    struct lft_stream *stream = nc_slots_take(&session->all_streams);
    if (!stream)
        return NULL;
    *stream = (struct lft_stream){.session = session,
                                  .id = id,
                                  .ours = ours,
                                  .rx_final = LFT_UNKNOWN,
                                  .read_armed = true,
                                  .tx_credit = ours ? LFT_EARLY_CREDIT : 0,
                                  .tx_marked = LFT_UNKNOWN,
                                  .rx_granted = ours ? 0 : LFT_EARLY_CREDIT,
                                  .rx_idle_ticks = LFT_ACTIVE_TICKS - LFT_NEW_TICKS};
    lft_table_add(session, stream);
    LFT_APPEND(&session->all, stream, all);
    session->active++;
    session->streams++;
    lft_stream_account(stream);
    return stream;
}

enum lft_stream_state lft_stream_state(const struct lft_stream *stream)
{
    if (stream->reset)
        return stream->tx_failed ? LFT_STREAM_FAILING : LFT_STREAM_ENDED;
    if (stream->rx_failed)
        return LFT_STREAM_FAILED;
    if (!stream->opened)
        return LFT_STREAM_EARLY;
    return stream->accepted ? LFT_STREAM_OPEN : stream->ours ? LFT_STREAM_OPENING : LFT_STREAM_ASKED;
}

static void drop_data(struct lft_stream *stream)
{
    lft_stream_drop_tx(stream);
    lft_stream_drop_rx(stream);
}

void lft_stream_free(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    stream->reset = true; /* gives back the memory promised to the stream */
    drop_data(stream);
    if (!stream->dead)
        lft_table_remove(stream);
    lft_stream_leave_turns(stream);
    lft_client_leave(stream);
    if (stream->on_saying)
        LFT_REMOVE(&session->saying, stream, saying);
    if (stream->on_event)
        LFT_REMOVE(&session->event, stream, event);
    LFT_REMOVE(&session->all, stream, all);
    session->active -= stream->rx_idle_ticks < LFT_ACTIVE_TICKS;
    session->lingering -= stream->released;
    session->streams--;
    nc_slots_give(stream);
}

void lft_stream_maybe_free(struct lft_stream *stream)
{
    bool wire_done = stream->tx_ended && !stream->say && stream->rx_final <= stream->rx_seen;
    if (stream->released && (stream->dead || wire_done))
        lft_stream_free(stream);
}

void lft_stream_disown(struct lft_stream *stream)
{
    if (stream->opened || stream->released)
        return;
    stream->released = true;
    stream->session->lingering++;
}

void lft_stream_die(struct lft_stream *stream, unsigned code)
{
    struct lft_session *session = stream->session;
    if (!stream->reset || !stream->result.code)
        stream->result.code = (uint8_t)code;
    stream->dead = stream->reset = true;
    drop_data(stream);
    stream->say = 0;
    if (stream->on_saying)
        LFT_REMOVE(&session->saying, stream, saying);
    stream->on_saying = false;
    lft_stream_update(stream);
    if (!(stream->events & LFT_EVENT_FAILED)) { /* that chunk has already ended the stream */
        stream->events = 0;
        lft_stream_event(stream, LFT_EVENT_RESET);
    }
    lft_stream_disown(stream);
    lft_stream_maybe_free(stream);
}

static uint32_t free_id(struct lft_session *session)
{
    while (lft_stream_find(session, session->next_id))
        session->next_id = (session->next_id + 2) & LFT_NUMBER_MASK;
    uint32_t id = session->next_id;
    session->next_id = (id + 2) & LFT_NUMBER_MASK;
    return id;
}

struct lft_stream *lft_stream_open(struct lft_session *session, const struct lft_open *where, void *user)
{
    if (session->failed || !session->rx_pool || session->streams >= session->config.streams_max) {
        session->counters.streams_refused_full++;
        return NULL;
    }
    struct lft_stream *stream = lft_stream_new(session, free_id(session), true);
    if (!stream)
        return NULL;
    stream->named = *where;
    stream->where = &stream->named;
    lft_client_join(stream, where);
    stream->user = user;
    session->counters.opened_here++;
    stream->opened = true;
    lft_stream_say(stream, LFT_SAY_OPEN);
    lft_stream_grant(stream);
    return stream;
}

const struct lft_open *lft_stream_where(const struct lft_stream *stream)
{
    return stream->where;
}

void lft_stream_set_user(struct lft_stream *stream, void *user)
{
    stream->user = user;
}

void *lft_stream_user(const struct lft_stream *stream)
{
    return stream->user;
}

uint32_t lft_stream_id(const struct lft_stream *stream)
{
    return stream->id;
}

const struct lft_result *lft_stream_result(const struct lft_stream *stream)
{
    return &stream->result;
}

void lft_stream_accept(struct lft_stream *stream)
{
    if (stream->reset || stream->accepted)
        return;
    assert(!stream->ours);
    stream->accepted = true;
    stream->session->counters.accepted++;
    lft_stream_say(stream, LFT_SAY_ACCEPT);
    lft_stream_grant(stream);
}

void lft_stream_refuse(struct lft_stream *stream, const struct lft_result *result)
{
    if (stream->reset)
        return;
    assert(!stream->ours && !stream->accepted);
    stream->session->counters.refused++;
    stream->result = *result;
    stream->reset = stream->tx_ended = true;
    drop_data(stream);
    lft_stream_say(stream, LFT_SAY_REFUSE);
}

void lft_stream_reset(struct lft_stream *stream, const struct lft_result *result)
{
    if (stream->reset || stream->dead)
        return;
    stream->session->counters.reset_here++;
    stream->reset = true;
    drop_data(stream);
    if (stream->rx_failed) /* we have said RESET already */
        return;
    stream->result = *result;
    /* After our FIN the peer knows everything about our octets, but it must learn that we read no more. */
    stream->tx_ended = true;
    lft_stream_say(stream, LFT_SAY_RESET);
}

void lft_stream_fail(struct lft_stream *stream, const struct lft_result *result)
{
    /* the peer does not read the stream any more, or does not read it yet */
    if (stream->reset || stream->rx_failed || !stream->accepted) {
        lft_stream_reset(stream, result);
        return;
    }
    stream->session->counters.reset_here++;
    stream->result = *result;
    stream->result.flags = LFT_RESET_BEHIND | (stream->tx_finish ? LFT_RESET_ENDED : 0);
    stream->reset = stream->tx_failed = true;
    lft_stream_drop_rx(stream);
    lft_stream_update(stream);
    lft_stream_say_failed(stream);
    lft_stream_grant(stream);
}

void lft_stream_release(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    assert(!stream->released);
    /* True when the stream ended completely: our FIN is queued, the peer's has arrived, and everything before it is
     * consumed. */
    bool whole = (stream->tx_finish || stream->tx_ended) && stream->rx_final == stream->rx_consumed;
    if (!whole)
        lft_stream_reset(stream, &(struct lft_result){.code = LFT_RESULT_RESET});
    else if (!stream->reset)
        session->counters.finished++;
    if (stream->on_event)
        LFT_REMOVE(&session->event, stream, event);
    stream->on_event = false;
    stream->released = true;
    session->lingering++;
    lft_stream_maybe_free(stream);
}
