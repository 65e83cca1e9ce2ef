/* The lists in which streams wait: for the relay (events), to send a chunk without data (OPEN, ACCEPT, REFUSE, RESET,
 * CREDIT), and for their turn to send data.
 * Turns are deficit round robin by octets, of clients and then of the streams of the client whose turn it is. So each
 * client has an equal part of the line, and waits for one turn of every other client, however many streams those have.
 * Each level has two lists. The fresh list comes first: clients or streams that were idle send one quantum from it.
 * Then comes the old list. A fresh entry that becomes idle goes to the end of the old list before it may be fresh
 * again, so stopping and starting gains nothing. Rejected: one round robin of streams, in which a stream of a client
 * with few streams has a longer turn. The shares are equal, but a client that asks for a page waits for a turn of every
 * other stream: 10 ms for 20 of them at 100 Mbit/s. */
#include "session_internal.h"

void lft_stream_event(struct lft_stream *stream, unsigned events)
{
    if (stream->released)
        return;
    stream->events |= events;
    if (!stream->opened) /* the relay does not know the stream before LFT_EVENT_OPENED */
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

static void move(struct lft_stream *stream, enum lft_list to)
{
    struct lft_client *client = stream->client;
    if (stream->list != LFT_LIST_NONE)
        LFT_REMOVE(stream->list == LFT_LIST_FRESH ? &client->fresh : &client->old, stream, turn);
    stream->list = to;
    if (to != LFT_LIST_NONE)
        LFT_APPEND(to == LFT_LIST_FRESH ? &client->fresh : &client->old, stream, turn);
}

static void move_client(struct lft_session *session, struct lft_client *client, enum lft_list to)
{
    if (client->list != LFT_LIST_NONE)
        LFT_REMOVE(client->list == LFT_LIST_FRESH ? &session->fresh : &session->old, client, turn);
    client->list = to;
    if (to != LFT_LIST_NONE)
        LFT_APPEND(to == LFT_LIST_FRESH ? &session->fresh : &session->old, client, turn);
}

void lft_stream_update(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    struct lft_client *client = stream->client;
    bool now = can_send(stream);
    if (now == stream->sendable)
        return;
    stream->sendable = now;
    session->sendable += now ? 1 : (uint32_t)-1;
    client->sendable += now ? 1 : (uint32_t)-1;
    if (now && stream->list == LFT_LIST_NONE) {
        stream->deficit = LFT_QUANTUM;
        move(stream, LFT_LIST_FRESH);
    }
    if (now && client->list == LFT_LIST_NONE) {
        client->deficit = LFT_QUANTUM;
        move_client(session, client, LFT_LIST_FRESH);
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

static struct lft_stream *turn_of(struct lft_client *client)
{
    for (;;) {
        struct lft_stream *stream = client->fresh.first ? client->fresh.first : client->old.first;
        if (stream->deficit <= 0) {
            stream->deficit += LFT_QUANTUM;
            move(stream, LFT_LIST_OLD);
        } else if (stream->sendable)
            return stream;
        else
            move(stream, stream->list == LFT_LIST_FRESH && client->old.first ? LFT_LIST_OLD : LFT_LIST_NONE);
    }
}

struct lft_stream *lft_session_turn(struct lft_session *session)
{
    while (session->sendable) {
        struct lft_client *client = session->fresh.first ? session->fresh.first : session->old.first;
        if (client->deficit <= 0) {
            client->deficit += LFT_QUANTUM;
            move_client(session, client, LFT_LIST_OLD);
        } else if (client->sendable)
            return turn_of(client);
        else
            move_client(session, client,
                        client->list == LFT_LIST_FRESH && session->old.first ? LFT_LIST_OLD : LFT_LIST_NONE);
    }
    return NULL;
}

void lft_stream_had(struct lft_stream *stream, size_t octets)
{
    stream->deficit -= (int32_t)octets;
    stream->client->deficit -= (int32_t)octets;
}

void lft_stream_leave_turns(struct lft_stream *stream)
{
    if (!stream->client)
        return;
    stream->session->sendable -= stream->sendable;
    stream->client->sendable -= stream->sendable;
    stream->sendable = false;
    move(stream, LFT_LIST_NONE);
}

void lft_client_leave_turns(struct lft_session *session, struct lft_client *client)
{
    move_client(session, client, LFT_LIST_NONE);
}
