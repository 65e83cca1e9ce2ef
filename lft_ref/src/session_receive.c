/* What arrived, into streams; and what the peer may send. Every octet of a chunk was authenticated; none is trusted. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "session_internal.h"

enum { SMALL_PIECE = 512, CREDIT_STEP_MAX = 1 << 19 /* what is withheld to say it seldom */ };

/* --- pieces ------------------------------------------------------------------------------------------------------------------ */

static struct lft_piece *piece_take(struct lft_session *session)
{
    struct lft_piece *piece = session->free_pieces;
    if (piece)
        session->free_pieces = piece->next;
    else
        piece = malloc(sizeof *piece);
    return piece;
}

static void piece_give(struct lft_session *session, struct lft_piece *piece)
{
    lft_pool_release(session->rx_pool, piece->buffer);
    session->rx_held -= piece->length;
    piece->next = session->free_pieces;
    session->free_pieces = piece;
}

static uint32_t hole_hash(uint32_t id, uint64_t offset)
{
    uint64_t mixed = (offset ^ (uint64_t)id << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed >> 32);
}

static void holes_grow(struct lft_session *session)
{
    uint32_t size = session->holes_size * 4;
    struct lft_piece **bigger = calloc(size, sizeof *bigger);
    if (!bigger)
        return;
    for (uint32_t i = 0; i < session->holes_size; i++)
        for (struct lft_piece *piece = session->holes[i], *next; piece; piece = next) {
            next = piece->next;
            struct lft_piece **at = &bigger[hole_hash(piece->stream->id, piece->offset) % size];
            piece->next = *at;
            *at = piece;
        }
    free(session->holes);
    session->holes = bigger;
    session->holes_size = size;
}

static void hole_add(struct lft_session *session, struct lft_piece *piece)
{
    if (session->holes_n >= session->holes_size)
        holes_grow(session);
    struct lft_piece **at = &session->holes[hole_hash(piece->stream->id, piece->offset) % session->holes_size];
    piece->next = *at;
    *at = piece;
    session->holes_n++;
    piece->stream->rx_holed += piece->length;
}

static struct lft_piece *hole_remove(struct lft_session *session, struct lft_stream *stream, uint64_t offset)
{
    struct lft_piece **at = &session->holes[hole_hash(stream->id, offset) % session->holes_size];
    while (*at && ((*at)->stream != stream || (*at)->offset != offset))
        at = &(*at)->next;
    struct lft_piece *piece = *at;
    if (!piece)
        return NULL;
    *at = piece->next;
    session->holes_n--;
    stream->rx_holed -= piece->length;
    return piece;
}

static void holes_drop(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    for (uint32_t i = 0; stream->rx_holed && i < session->holes_size; i++)
        for (struct lft_piece **at = &session->holes[i]; *at;) {
            struct lft_piece *piece = *at;
            if (piece->stream != stream) {
                at = &piece->next;
                continue;
            }
            *at = piece->next;
            session->holes_n--;
            stream->rx_holed -= piece->length;
            piece_give(session, piece);
        }
}

void lft_stream_drop_rx(struct lft_stream *stream)
{
    for (struct lft_piece *piece = stream->rx_first, *next; piece; piece = next) {
        next = piece->next;
        piece_give(stream->session, piece);
    }
    stream->rx_first = stream->rx_last = NULL;
    stream->rx_queued = 0;
    holes_drop(stream);
    lft_stream_account(stream);
}

/* A small piece goes behind the last one into the same buffer where there is room: a writer of single octets must not cost
 * its reader a buffer an octet. */
static bool merge(struct lft_stream *stream, const struct lft_piece *piece)
{
    struct lft_piece *last = stream->rx_last;
    if (!last || piece->length > SMALL_PIECE || last->buffer->references != 1)
        return false;
    size_t used = (size_t)(last->at - last->buffer->at) + last->length;
    if (lft_pool_buffer_bytes(stream->session->rx_pool) - used < piece->length)
        return false;
    memcpy(last->buffer->at + used, piece->at, piece->length);
    last->length += piece->length;
    stream->session->rx_held += piece->length;
    return true;
}

static void append(struct lft_stream *stream, struct lft_piece *piece)
{
    uint32_t length = piece->length;
    stream->rx_next += length;
    stream->rx_queued += length;
    if (merge(stream, piece)) {
        piece_give(stream->session, piece);
        return;
    }
    piece->next = NULL;
    *(stream->rx_last ? &stream->rx_last->next : &stream->rx_first) = piece;
    stream->rx_last = piece;
}

/* --- credit ------------------------------------------------------------------------------------------------------------------ */

void lft_stream_account(struct lft_stream *stream)
{
    uint64_t limit = stream->rx_granted < stream->rx_final ? stream->rx_granted : stream->rx_final, promise = stream->rx_queued + stream->rx_holed;
    if (stream->rx_idle_ticks < LFT_ACTIVE_TICKS && limit > stream->rx_consumed)
        promise = limit - stream->rx_consumed;
    if (stream->reset)
        promise = 0;
    stream->session->rx_promised += promise - stream->rx_promise;
    stream->rx_promise = promise;
}

/* Seven eighths of what is promised to nobody else: by and by all active streams have the same. Readers that stand still keep what they were
 * given, and the next ones always find something; one that has not shown that it reads gets a quarter of all at most. */
static uint64_t share(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    /* An eighth is left for buffers that are not full and for streams that come later. */
    uint64_t memory = session->config.rx_memory_bytes / 8 * 7, others = session->rx_promised - stream->rx_promise;
    uint64_t part = others < memory ? (memory - others) / 8 * 7 : 0, trusted = memory / 4 + 2 * stream->rx_consumed;
    part = part < trusted ? part : trusted;
    return part > LFT_INITIAL_CREDIT ? part : LFT_INITIAL_CREDIT;
}

void lft_stream_grant(struct lft_stream *stream)
{
    if (stream->reset || stream->rx_final != LFT_UNKNOWN)
        return;
    uint64_t part = share(stream), wanted = stream->rx_consumed + part;
    if (wanted > LFT_VALUE_MAX)
        wanted = LFT_VALUE_MAX;
    uint64_t step = part / 8 < CREDIT_STEP_MAX ? part / 8 : CREDIT_STEP_MAX;
    if (wanted <= stream->rx_granted || wanted - stream->rx_granted < step)
        return;
    stream->rx_granted = wanted;
    lft_stream_account(stream);
    if (!(stream->say & (LFT_SAY_OPEN | LFT_SAY_ACCEPT)) && (stream->ours ? stream->opened : stream->accepted))
        lft_stream_say(stream, LFT_SAY_CREDIT);
}

/* Few octets a second, a control connection's, need no share: the least credit is enough for them. */
static void mark_active(struct lft_stream *stream, uint32_t bytes)
{
    enum { ACTIVE_BYTES = 4096 };
    stream->rx_recent += bytes;
    if (stream->rx_recent < ACTIVE_BYTES)
        return;
    stream->rx_recent = 0;
    stream->session->active += stream->rx_idle_ticks == LFT_ACTIVE_TICKS;
    stream->rx_idle_ticks = 0;
}

/* --- chunks ------------------------------------------------------------------------------------------------------------------ */

static void readable(struct lft_stream *stream)
{
    if (stream->read_armed && stream->rx_queued) {
        stream->read_armed = false;
        lft_stream_event(stream, LFT_EVENT_READABLE);
    }
    if (stream->rx_final == stream->rx_consumed && !stream->rx_queued && !stream->reset)
        lft_stream_event(stream, LFT_EVENT_END);
}

static void violate(struct lft_stream *stream, uint64_t *counter)
{
    ++*counter;
    if (stream->reset)
        return;
    lft_stream_reset(stream, &(struct lft_result){.code = LFT_RESULT_PROTOCOL});
    lft_stream_event(stream, LFT_EVENT_RESET);
}

static void keep(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    struct lft_piece *piece = piece_take(session);
    if (!piece) {
        violate(stream, &session->counters.rx_malformed);
        return;
    }
    *piece = (struct lft_piece){.buffer = lft_buffer_hold(buffer), .stream = stream, .offset = chunk->value, .at = chunk->body,
                                .length = chunk->length};
    session->rx_held += piece->length;
    session->counters.rx_bytes += piece->length;
    if (chunk->value != stream->rx_next) {
        hole_add(session, piece);
        return;
    }
    append(stream, piece);
    while (stream->rx_holed && (piece = hole_remove(session, stream, stream->rx_next)))
        append(stream, piece);
}

static void take_data(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    uint64_t end = chunk->value + chunk->length;
    stream->rx_seen += chunk->length;
    mark_active(stream, chunk->length);
    if (chunk->type == LFT_CHUNK_FIN && stream->rx_final == LFT_UNKNOWN)
        stream->rx_final = end;
    if (!stream->reset) {
        if (end > stream->rx_granted || chunk->value < stream->rx_next || end > stream->rx_final)
            violate(stream, &session->counters.rx_credit_violations);
        else if (chunk->length)
            keep(stream, buffer, chunk);
    }
    lft_stream_account(stream);
    readable(stream);
}

static void take_open(struct lft_stream *stream, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    struct lft_open *open = malloc(sizeof *open);
    bool good = open && lft_open_get(chunk->body, chunk->body + chunk->length, open) == 0;
    if (stream->opened || stream->ours) {
        free(open);
        violate(stream, &session->counters.rx_malformed);
        return;
    }
    stream->opened = true;
    stream->tx_credit = chunk->value;
    session->counters.opened_there++;
    if (good && session->streams <= session->config.streams_max && !stream->reset) {
        stream->where = open;
        lft_stream_event(stream, LFT_EVENT_OPENED);
        return;
    }
    free(open);
    *(good ? &session->counters.streams_refused_full : &session->counters.rx_malformed) += 1;
    lft_stream_refuse(stream, &(struct lft_result){.code = good ? LFT_RESULT_NO_RESOURCES : LFT_RESULT_PROTOCOL});
    lft_stream_release(stream);
}

/* The peer ends the stream: what it sent and we have not read is void, as with a TCP RST. */
static void take_end(struct lft_stream *stream, const struct lft_chunk *chunk)
{
    struct lft_result result = {.code = LFT_RESULT_PROTOCOL};
    lft_result_get(chunk->body, chunk->body + chunk->length, &result);
    stream->rx_final = chunk->value;
    if (stream->reset)
        return;
    stream->session->counters.reset_there++;
    stream->reset = true;
    stream->result = result;
    if (!stream->tx_ended)
        lft_stream_say(stream, LFT_SAY_RESET);
    stream->tx_ended = true;
    lft_stream_drop_data(stream);
    stream->events &= LFT_EVENT_OPENED;
    lft_stream_event(stream, LFT_EVENT_RESET);
}

static void take_credit(struct lft_stream *stream, const struct lft_chunk *chunk)
{
    if (chunk->type == LFT_CHUNK_ACCEPT && stream->ours && !stream->accepted && !stream->reset) {
        stream->accepted = true;
        lft_stream_event(stream, LFT_EVENT_ACCEPTED);
    }
    if (chunk->value <= stream->tx_credit)
        return;
    stream->tx_credit = chunk->value;
    if (stream->write_blocked && !stream->reset) {
        stream->write_blocked = false;
        lft_stream_event(stream, LFT_EVENT_WRITABLE);
    }
    lft_stream_update(stream);
}

/* Frames come in any order: data may arrive before its OPEN, and makes the stream. */
static struct lft_stream *stream_for(struct lft_session *session, const struct lft_chunk *chunk)
{
    struct lft_stream *stream = lft_stream_find(session, chunk->stream);
    bool theirs = (chunk->stream & 1) == (session->config.initiator ? 1u : 0u);
    bool makes = chunk->type <= LFT_CHUNK_OPEN /* DATA, FIN, OPEN */ || chunk->type == LFT_CHUNK_RESET;
    if (stream || !theirs || !makes)
        return stream;
    /* Memory of a peer that opens without end is bounded: twice the limit, so that refusals can still be said. */
    if (session->streams >= 2 * session->config.streams_max)
        return NULL;
    return lft_stream_new(session, chunk->stream, false);
}

static void take(struct lft_session *session, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    if (chunk->type >= LFT_CHUNK_TYPES)
        return; /* of a later version: the length says how to go on */
    struct lft_stream *stream = stream_for(session, chunk);
    if (!stream)
        return;
    switch (chunk->type) {
    case LFT_CHUNK_DATA:
    case LFT_CHUNK_FIN: take_data(stream, buffer, chunk); break;
    case LFT_CHUNK_OPEN: take_open(stream, chunk); return; /* may be gone */
    case LFT_CHUNK_REFUSE:
    case LFT_CHUNK_RESET: take_end(stream, chunk); break;
    default: take_credit(stream, chunk); break;
    }
    lft_stream_maybe_free(stream);
}

void lft_session_deliver(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns)
{
    struct lft_session *session = user;
    const uint8_t *cursor = payload, *end = payload + length;
    struct lft_chunk chunk;
    int got;
    (void)now_ns;
    while ((got = lft_chunk_get(&cursor, end, &chunk)) > 0)
        take(session, buffer, &chunk);
    session->counters.rx_malformed += got < 0;
}

/* --- the relay's reading ----------------------------------------------------------------------------------------------------- */

int lft_stream_read_view(struct lft_stream *stream, struct iovec *pieces, int n)
{
    int given = 0;
    for (struct lft_piece *piece = stream->rx_first; piece && given < n; piece = piece->next)
        pieces[given++] = (struct iovec){(void *)(uintptr_t)piece->at, piece->length};
    stream->read_armed = given == 0;
    return given;
}

void lft_stream_consumed(struct lft_stream *stream, size_t bytes, uint64_t now_ns)
{
    struct lft_session *session = stream->session;
    (void)now_ns;
    assert(bytes <= stream->rx_queued);
    stream->rx_consumed += bytes;
    stream->rx_queued -= bytes;
    while (bytes) {
        struct lft_piece *piece = stream->rx_first;
        if (bytes < piece->length) {
            piece->at += bytes;
            piece->length -= (uint32_t)bytes;
            session->rx_held -= bytes;
            break;
        }
        bytes -= piece->length;
        stream->rx_first = piece->next;
        if (!piece->next)
            stream->rx_last = NULL;
        piece_give(session, piece);
    }
    if (!stream->rx_queued)
        stream->read_armed = true;
    lft_stream_account(stream);
    lft_stream_grant(stream);
    readable(stream);
}
