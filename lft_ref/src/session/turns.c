/* The lists in which streams wait: for the relay (events), for a chunk of their own (OPEN, ACCEPT, REFUSE, RESET,
 * CREDIT), and for their turn to send data. Turns are deficit round robin by octets, in which each client has an equal
 * part (clients.c). */
#include "session_internal.h"

void lft_stream_event(struct lft_stream *stream, unsigned events)
{
    if (stream->released)
        return;
    stream->events |= events;
    if (!stream->opened) /* the relay learns of it with LFT_EVENT_OPENED */
        return;
    if (!stream->on_event)
        LFT_APPEND(&stream->session->event, stream, event);
    stream->on_event = true;
}

struct lft_stream *lft_session_event(struct lft_session *session, unsigned *events)
{
    struct lft_stream *stream = session->event.first;
    if (!stream)
        return NULL;
    LFT_REMOVE(&session->event, stream, event);
    stream->on_event = false;
    *events = stream->events;
    stream->events = 0;
    return stream;
}

void lft_stream_say(struct lft_stream *stream, unsigned say)
{
    stream->say |= (uint8_t)say;
    if (!stream->on_saying)
        LFT_APPEND(&stream->session->saying, stream, saying);
    stream->on_saying = true;
}

static bool can_send(const struct lft_stream *stream)
{
    if ((stream->reset && !stream->tx_failed) || stream->tx_ended || (!stream->ours && !stream->accepted))
        return false;
    return stream->tx_queued ? stream->tx_offset < stream->tx_credit : stream->tx_finish;
}

void lft_stream_update(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    bool now = can_send(stream);
    session->sendable += (uint32_t)now - (uint32_t)stream->sendable;
    stream->sendable = now;
    if (now && stream->list == LFT_LIST_NONE) {
        stream->list = LFT_LIST_FRESH;
        lft_client_waits(stream, true);
        stream->deficit = LFT_QUANTUM;
        LFT_APPEND(&session->fresh, stream, turn);
    }
}

void lft_stream_say_failed(struct lft_stream *stream)
{
    if (!stream->tx_failed || stream->tx_queued || (stream->tx_finish && !stream->tx_ended))
        return;
    stream->tx_failed = false;
    stream->tx_ended = true;
    lft_stream_update(stream);
    lft_stream_say(stream, LFT_SAY_RESET);
}

static void move(struct lft_stream *stream, enum lft_list to)
{
    struct lft_session *session = stream->session;
    LFT_REMOVE(stream->list == LFT_LIST_FRESH ? &session->fresh : &session->old, stream, turn);
    stream->list = to;
    if (to == LFT_LIST_OLD)
        LFT_APPEND(&session->old, stream, turn);
    else
        lft_client_waits(stream, false);
}

/* An idle stream that was fresh goes behind the old ones before it may be fresh again, so that a stream gains nothing
 * by stopping and starting. */
struct lft_stream *lft_session_turn(struct lft_session *session)
{
    while (session->sendable) {
        struct lft_stream *stream = session->fresh.first ? session->fresh.first : session->old.first;
        if (stream->deficit <= 0) {
            stream->deficit += lft_client_quantum(stream);
            move(stream, LFT_LIST_OLD);
        } else if (stream->sendable)
            return stream;
        else
            move(stream, stream->list == LFT_LIST_FRESH && session->old.first ? LFT_LIST_OLD : LFT_LIST_NONE);
    }
    return NULL;
}
