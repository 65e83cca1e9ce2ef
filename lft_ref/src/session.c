/* Life of sessions and streams, events, what the relay calls. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "session_internal.h"

#define ID_MASK LFT_NUMBER_MASK

struct lft_session *lft_session_create(const struct lft_session_config *config, struct lft_pool *rx_pool)
{
    struct lft_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->config = *config;
    session->rx_pool = rx_pool;
    session->next_id = config->initiator ? 0 : 1;
    session->blocks = lft_pool_create(sizeof(struct lft_block), config->tx_memory_bytes);
    session->table_size = session->holes_size = 1024;
    session->table = calloc(session->table_size, sizeof *session->table);
    session->holes = calloc(session->holes_size, sizeof *session->holes);
    if (session->table && session->holes && session->blocks)
        return session;
    lft_session_destroy(session);
    return NULL;
}

static void table_remove(struct lft_stream *stream)
{
    struct lft_stream **at = &stream->session->table[(stream->id >> 1) % stream->session->table_size];
    while (*at != stream)
        at = &(*at)->hash_next;
    *at = stream->hash_next;
}

static void stream_free(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    lft_stream_drop_data(stream);
    if (!stream->dead)
        table_remove(stream);
    if (stream->list != LFT_LIST_NONE)
        LFT_REMOVE(stream->list == LFT_LIST_FRESH ? &session->fresh : &session->old, stream, turn);
    if (stream->on_control)
        LFT_REMOVE(&session->control, stream, control);
    if (stream->on_event)
        LFT_REMOVE(&session->event, stream, event);
    LFT_REMOVE(&session->all, stream, all);
    session->sendable -= stream->sendable;
    session->active -= stream->rx_idle_ticks < LFT_ACTIVE_TICKS;
    session->lingering -= stream->released;
    session->streams--;
    session->rx_promised -= stream->rx_promise;
    free(stream->where);
    free(stream);
}

void lft_session_destroy(struct lft_session *session)
{
    if (!session)
        return;
    while (session->all.first)
        stream_free(session->all.first);
    for (struct lft_piece *piece = session->free_pieces, *next; piece; piece = next) {
        next = piece->next;
        free(piece);
    }
    lft_pool_destroy(session->blocks);
    free(session->table);
    free(session->holes);
    free(session);
}

struct lft_source lft_session_source(struct lft_session *session)
{
    return (struct lft_source){lft_session_fill, lft_session_waiting, lft_session_deliver, session};
}

struct lft_stream *lft_stream_find(const struct lft_session *session, uint32_t id)
{
    struct lft_stream *stream = session->table[(id >> 1) % session->table_size];
    while (stream && stream->id != id)
        stream = stream->hash_next;
    return stream;
}

static void table_add(struct lft_session *session, struct lft_stream *stream)
{
    struct lft_stream **at = &session->table[(stream->id >> 1) % session->table_size];
    stream->hash_next = *at;
    *at = stream;
}

static void table_grow(struct lft_session *session)
{
    struct lft_stream **bigger = calloc(4 * (size_t)session->table_size, sizeof *bigger);
    if (!bigger)
        return;
    free(session->table);
    session->table = bigger;
    session->table_size *= 4;
    for (struct lft_stream *stream = session->all.first; stream; stream = stream->all.next)
        if (!stream->dead)
            table_add(session, stream);
}

struct lft_stream *lft_stream_new(struct lft_session *session, uint32_t id, bool ours)
{
    struct lft_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    *stream = (struct lft_stream){.session = session, .id = id, .ours = ours, .rx_final = LFT_UNKNOWN, .read_armed = true,
                                  .tx_credit = ours ? LFT_INITIAL_CREDIT : 0, .rx_granted = ours ? 0 : LFT_INITIAL_CREDIT,
                                  .rx_idle_ticks = LFT_ACTIVE_TICKS - LFT_NEW_TICKS}; /* what it is given first counts, until it shows what it is */
    if (session->streams >= session->table_size)
        table_grow(session);
    session->active++;
    session->streams++;
    LFT_APPEND(&session->all, stream, all);
    table_add(session, stream);
    return stream;
}

void lft_stream_event(struct lft_stream *stream, unsigned events)
{
    if (stream->released)
        return;
    stream->events |= events;
    if (!stream->opened) /* the relay hears of it with LFT_EVENT_OPENED */
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

void lft_stream_drop_data(struct lft_stream *stream)
{
    lft_stream_drop_tx(stream);
    lft_stream_drop_rx(stream);
}

void lft_stream_maybe_free(struct lft_stream *stream)
{
    bool wire_done = stream->tx_ended && !stream->say && stream->rx_final == stream->rx_seen;
    if (stream->released && (stream->dead || wire_done))
        stream_free(stream);
}

static void stream_die(struct lft_stream *stream, unsigned code)
{
    struct lft_session *session = stream->session;
    lft_stream_drop_data(stream);
    stream->dead = stream->reset = true;
    stream->say = 0;
    if (stream->on_control)
        LFT_REMOVE(&session->control, stream, control);
    stream->on_control = false;
    lft_stream_update(stream);
    stream->events = 0;
    if (!stream->result.code)
        stream->result.code = (uint8_t)code;
    lft_stream_event(stream, LFT_EVENT_RESET);
    lft_stream_maybe_free(stream);
}

void lft_session_fail(struct lft_session *session, unsigned result_code)
{
    session->failed = true;
    for (struct lft_stream *stream = session->all.first, *next; stream; stream = next) {
        next = stream->all.next;
        if (!stream->dead)
            stream_die(stream, result_code);
    }
    memset(session->table, 0, session->table_size * sizeof *session->table);
}

void lft_session_restart(struct lft_session *session, struct lft_pool *rx_pool)
{
    session->rx_pool = rx_pool;
    session->next_id = session->config.initiator ? 0 : 1;
    session->failed = false;
}

void lft_session_tick(struct lft_session *session, uint64_t now_ns)
{
    if (now_ns >= session->trim_ns) {
        session->trim_ns = now_ns + NC_NS_PER_S;
        lft_pool_trim(session->blocks);
    }
    for (struct lft_stream *stream = session->all.first; stream; stream = stream->all.next) {
        if (stream->rx_idle_ticks < LFT_ACTIVE_TICKS && ++stream->rx_idle_ticks == LFT_ACTIVE_TICKS) {
            session->active--;
            lft_stream_account(stream);
        }
        stream->rx_recent /= 2;
        if (stream->opened || stream->accepted)
            lft_stream_grant(stream);
    }
}

static uint32_t free_id(struct lft_session *session)
{
    while (lft_stream_find(session, session->next_id))
        session->next_id = (session->next_id + 2) & ID_MASK;
    uint32_t id = session->next_id;
    session->next_id = (id + 2) & ID_MASK;
    return id;
}

struct lft_stream *lft_stream_open(struct lft_session *session, const struct lft_open *where, void *user)
{
    if (session->failed || !session->rx_pool || session->streams >= session->config.streams_max) {
        session->counters.streams_refused_full++;
        return NULL;
    }
    struct lft_open *copy = malloc(sizeof *copy);
    struct lft_stream *stream = copy ? lft_stream_new(session, free_id(session), true) : NULL;
    if (!stream) {
        free(copy);
        return NULL;
    }
    *copy = *where;
    stream->where = copy;
    stream->user = user;
    session->counters.opened_here++;
    stream->opened = true;
    lft_stream_grant(stream);
    lft_stream_say(stream, LFT_SAY_OPEN);
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
    lft_stream_grant(stream);
    lft_stream_say(stream, LFT_SAY_ACCEPT);
}

void lft_stream_refuse(struct lft_stream *stream, const struct lft_result *result)
{
    if (stream->reset)
        return;
    assert(!stream->ours && !stream->accepted);
    stream->session->counters.refused++;
    stream->result = *result;
    stream->reset = stream->tx_ended = true;
    lft_stream_drop_data(stream);
    lft_stream_say(stream, LFT_SAY_REFUSE);
}

void lft_stream_reset(struct lft_stream *stream, const struct lft_result *result)
{
    if (stream->reset || stream->dead)
        return;
    stream->session->counters.reset_here++;
    stream->result = *result;
    stream->reset = true;
    lft_stream_drop_data(stream);
    /* After our FIN nothing more can be said about our octets, but the peer must hear that we read no more. */
    stream->tx_ended = true;
    lft_stream_say(stream, LFT_SAY_RESET);
}

void lft_stream_release(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    assert(!stream->released);
    /* Done both ways: our FIN is given, theirs was received and everything before it consumed. */
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

void lft_stream_state(const struct lft_stream *stream, struct lft_stream_state *state)
{
    *state = (struct lft_stream_state){.tx_bytes = stream->tx_offset + stream->tx_queued, .rx_bytes = stream->rx_consumed,
                                       .tx_queued_bytes = stream->tx_queued, .rx_queued_bytes = stream->rx_queued + stream->rx_holed,
                                       .accepted = stream->accepted, .finished_here = stream->tx_finish,
                                       .finished_there = stream->rx_final != LFT_UNKNOWN};
}

const struct lft_session_counters *lft_session_counters(const struct lft_session *session)
{
    return &session->counters;
}

void lft_session_state(const struct lft_session *session, struct lft_session_state *state)
{
    *state = (struct lft_session_state){.streams = session->streams, .streams_active = session->active,
                                        .streams_lingering = session->lingering, .tx_queued_bytes = session->tx_queued,
                                        .rx_queued_bytes = session->rx_held};
}
