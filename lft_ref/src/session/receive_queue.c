/* A stream's received octets: pieces in order, which the relay reads, and pieces that wait for one before them. The
 * latter are in a hash of the session by stream and offset. A piece is a part of a frame buffer and holds it. The
 * number of pieces is bounded, too: a frame can hold a hundred pieces of one octet, whose descriptions take five times
 * the memory of the frame. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "session_internal.h"

enum { SMALL_PIECE = 512 };

/* --- pieces that wait for an earlier one --- */

static struct lft_piece *piece_take(struct lft_session *session)
{
    struct lft_piece *piece = session->free_pieces;
    if (piece) {
        session->free_pieces = piece->next;
        __builtin_prefetch(piece->next, 1);
        return piece;
    }
    return nc_slots_take(&session->all_pieces);
}

static void piece_give(struct lft_session *session, struct lft_piece *piece)
{
    lft_pool_release(session->rx_pool, piece->buffer);
    session->rx_held -= piece->length;
    piece->next = session->free_pieces;
    session->free_pieces = piece;
}

static uint32_t hole_hash(const struct lft_session *session, uint32_t id, uint64_t offset, uint32_t size)
{
    return lft_session_hash(session, offset ^ (uint64_t)id << 40, size);
}

static struct lft_piece **hole_bucket(const struct lft_session *session, uint32_t id, uint64_t offset)
{
    return &session->holes[hole_hash(session, id, offset, session->holes_size)];
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
            struct lft_piece **at = &bigger[hole_hash(session, piece->stream->id, piece->offset, size)];
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
    struct lft_piece **at = hole_bucket(session, piece->stream->id, piece->offset);
    piece->next = *at;
    *at = piece;
    session->holes_n++;
    struct lft_stream *stream = piece->stream;
    piece->hole_previous = NULL;
    piece->hole_next = stream->rx_holes;
    if (stream->rx_holes)
        stream->rx_holes->hole_previous = piece;
    stream->rx_holes = piece;
    stream->rx_holed += piece->length;
}

/* Removes the piece that *at points to from the hash and from its stream's list. */
static struct lft_piece *hole_take(struct lft_session *session, struct lft_piece **at)
{
    struct lft_piece *piece = *at;
    *at = piece->next;
    *(piece->hole_previous ? &piece->hole_previous->hole_next : &piece->stream->rx_holes) = piece->hole_next;
    if (piece->hole_next)
        piece->hole_next->hole_previous = piece->hole_previous;
    session->holes_n--;
    piece->stream->rx_holed -= piece->length;
    return piece;
}

static struct lft_piece *hole_remove(struct lft_session *session, struct lft_stream *stream, uint64_t offset)
{
    struct lft_piece **at = hole_bucket(session, stream->id, offset);
    while (*at && ((*at)->stream != stream || (*at)->offset != offset))
        at = &(*at)->next;
    return *at ? hole_take(session, at) : NULL;
}

static void holes_drop(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    while (stream->rx_holes) {
        struct lft_piece **at = hole_bucket(session, stream->id, stream->rx_holes->offset);
        while (*at != stream->rx_holes)
            at = &(*at)->next;
        piece_give(session, hole_take(session, at));
    }
}

/* --- pieces in order --- */

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

/* Copies a small piece behind the last one, into the same buffer, if there is room. Otherwise a writer of single octets
 * would cost its reader a buffer for each. */
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

/* Gives a small piece a buffer of its own, into which later ones are merged. Otherwise a reader that has stopped would
 * keep whole frames in memory for a few octets of each, most of which belongs to other streams. */
static void move_small(struct lft_stream *stream, struct lft_piece *piece)
{
    struct lft_pool *pool = stream->session->rx_pool;
    struct lft_buffer *own = piece->length <= SMALL_PIECE ? lft_pool_take(pool, 0) : NULL;
    if (!own)
        return;
    memcpy(own->at, piece->at, piece->length);
    lft_pool_release(pool, piece->buffer);
    piece->buffer = own;
    piece->at = own->at;
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
    move_small(stream, piece);
    piece->next = NULL;
    *(stream->rx_last ? &stream->rx_last->next : &stream->rx_first) = piece;
    stream->rx_last = piece;
}

bool lft_stream_keep(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    struct lft_piece *piece = piece_take(session);
    if (!piece)
        return false;
    *piece = (struct lft_piece){.buffer = lft_buffer_hold(buffer),
                                .stream = stream,
                                .offset = chunk->value,
                                .at = chunk->body,
                                .length = chunk->length};
    session->rx_held += piece->length;
    session->counters.rx_bytes += piece->length;
    if (chunk->value != stream->rx_next) {
        hole_add(session, piece);
        return true;
    }
    append(stream, piece);
    while (stream->rx_holed && (piece = hole_remove(session, stream, stream->rx_next))) {
        __builtin_prefetch(*hole_bucket(session, stream->id, stream->rx_next + piece->length), 1);
        append(stream, piece);
    }
    return true;
}

/* --- what the relay reads --- */

void lft_stream_readable(struct lft_stream *stream)
{
    if (stream->read_armed && stream->rx_queued) {
        stream->read_armed = false;
        lft_stream_event(stream, LFT_EVENT_READABLE);
    }
    if (stream->rx_final != stream->rx_consumed || stream->rx_queued || stream->reset)
        return;
    if (stream->rx_ended)
        lft_stream_event(stream, LFT_EVENT_END);
    if (stream->rx_failed && stream->accepted) { /* a RESET may arrive before the ACCEPT */
        stream->reset = true;
        lft_stream_event(stream, LFT_EVENT_FAILED);
    }
}

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
    assert(bytes <= stream->rx_queued);
    size_t consumed = bytes;
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
    lft_stream_measure(stream, consumed, now_ns);
    lft_stream_grant(stream);
    lft_stream_readable(stream);
}
