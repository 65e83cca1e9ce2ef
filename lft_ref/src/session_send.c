/* Send queues, what a frame is filled with, and whose turn it is. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "session_internal.h"

/* --- queue of blocks ------------------------------------------------------------------------------------------------------ */

static struct lft_block *block_take(struct lft_session *session)
{
    struct lft_buffer *buffer = lft_pool_take(session->blocks, 1);
    struct lft_block *block = buffer ? (struct lft_block *)buffer->at : NULL;
    if (block) {
        block->next = NULL;
        block->begin = block->end = 0;
    }
    return block;
}

void lft_stream_unstarve(struct lft_stream *stream)
{
    if (stream->on_starved)
        LFT_REMOVE(&stream->session->starved, stream, starved);
    stream->on_starved = false;
}

/* A block that comes back is offered to who has waited longest. */
static void block_give(struct lft_session *session, struct lft_block *block)
{
    lft_pool_release(session->blocks, (struct lft_buffer *)((uint8_t *)block - offsetof(struct lft_buffer, at)));
    struct lft_stream *starved = session->starved.first;
    if (starved) {
        lft_stream_unstarve(starved);
        starved->write_blocked = false;
        lft_stream_event(starved, LFT_EVENT_WRITABLE);
    }
}

/* A stream may queue its share, between one block and 128 of them (1 MB); without credit just one. */
static size_t queue_limit(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    size_t share = lft_pool_limit(session->blocks) / (1 + session->streams - session->lingering) / 2;
    size_t blocks = share < 1 ? 1 : share > 128 ? 128 : share;
    return (stream->tx_credit > stream->tx_offset + stream->tx_queued ? blocks : 1) * LFT_BLOCK_BYTES;
}

/* Blocks that write_space made and nothing was put into go back. */
static void trim(struct lft_stream *stream)
{
    struct lft_block **at = &stream->tx_first, *last = NULL;
    while (*at && (*at)->end > (*at)->begin) {
        last = *at;
        at = &(*at)->next;
    }
    for (struct lft_block *block = *at, *next; block; block = next) {
        next = block->next;
        block_give(stream->session, block);
    }
    *at = NULL;
    stream->tx_last = last;
}

int lft_stream_write_space(struct lft_stream *stream, struct iovec *pieces, int n)
{
    if (stream->reset || stream->tx_finish)
        return 0;
    trim(stream); /* an earlier space that was not used */
    size_t limit = queue_limit(stream), room = limit > stream->tx_queued ? limit - stream->tx_queued : 0;
    int given = 0;
    struct lft_block *block = stream->tx_last;
    if (!block || block->end == LFT_BLOCK_BYTES)
        block = NULL;
    while (given < n && room) {
        if (!block) {
            block = block_take(stream->session);
            if (!block && !given && !stream->on_starved) {
                stream->on_starved = true;
                LFT_APPEND(&stream->session->starved, stream, starved);
            }
            if (!block)
                break;
            *(stream->tx_last ? &stream->tx_last->next : &stream->tx_first) = block;
            stream->tx_last = block;
        }
        size_t space = LFT_BLOCK_BYTES - block->end;
        pieces[given++] = (struct iovec){block->at + block->end, space < room ? space : room};
        room -= space < room ? space : room;
        block = block->next;
    }
    stream->write_blocked = given == 0;
    return given;
}

void lft_stream_wrote(struct lft_stream *stream, size_t bytes)
{
    struct lft_block *block = stream->tx_first;
    while (block && block->end == LFT_BLOCK_BYTES)
        block = block->next;
    for (size_t left = bytes; left; block = block->next) {
        assert(block);
        size_t space = LFT_BLOCK_BYTES - block->end, part = left < space ? left : space;
        block->end += (uint32_t)part;
        left -= part;
    }
    stream->tx_queued += bytes;
    stream->session->tx_queued += bytes;
    trim(stream);
    lft_stream_update(stream);
}

size_t lft_stream_write(struct lft_stream *stream, const void *at, size_t bytes)
{
    size_t done = 0;
    struct iovec piece;
    while (done < bytes && lft_stream_write_space(stream, &piece, 1)) {
        size_t part = bytes - done < piece.iov_len ? bytes - done : piece.iov_len;
        memcpy(piece.iov_base, (const uint8_t *)at + done, part);
        lft_stream_wrote(stream, part);
        done += part;
    }
    return done;
}

void lft_stream_finish(struct lft_stream *stream)
{
    if (stream->reset)
        return;
    stream->tx_finish = true;
    lft_stream_update(stream);
}

void lft_stream_drop_tx(struct lft_stream *stream)
{
    lft_stream_unstarve(stream);
    for (struct lft_block *block = stream->tx_first, *next; block; block = next) {
        next = block->next;
        block_give(stream->session, block);
    }
    stream->session->tx_queued -= stream->tx_queued;
    stream->tx_first = stream->tx_last = NULL;
    stream->tx_queued = 0;
    lft_stream_update(stream);
}

static void copy_out(struct lft_stream *stream, uint8_t *at, size_t bytes)
{
    stream->tx_queued -= bytes;
    stream->session->tx_queued -= bytes;
    stream->tx_offset += bytes;
    while (bytes) {
        struct lft_block *block = stream->tx_first;
        size_t part = block->end - block->begin < bytes ? block->end - block->begin : bytes;
        memcpy(at, block->at + block->begin, part);
        block->begin += (uint32_t)part;
        at += part;
        bytes -= part;
        if (block->begin == block->end && (block->next || block->end == LFT_BLOCK_BYTES || !stream->tx_queued)) {
            stream->tx_first = block->next;
            if (!block->next)
                stream->tx_last = NULL;
            block_give(stream->session, block);
        }
    }
}

/* --- turns ------------------------------------------------------------------------------------------------------------------- */

static bool can_send(const struct lft_stream *stream)
{
    if (stream->reset || stream->tx_ended || (!stream->ours && !stream->accepted))
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
        stream->deficit = LFT_QUANTUM;
        LFT_APPEND(&session->fresh, stream, turn);
    }
}

static void move(struct lft_stream *stream, enum lft_list to)
{
    struct lft_session *session = stream->session;
    LFT_REMOVE(stream->list == LFT_LIST_FRESH ? &session->fresh : &session->old, stream, turn);
    stream->list = to;
    if (to == LFT_LIST_OLD)
        LFT_APPEND(&session->old, stream, turn);
}

/* The stream whose turn it is, with deficit left and something to send. An idle one that was fresh goes behind the old ones before it may be
 * fresh again, so that stopping and starting gains nothing. */
static struct lft_stream *turn(struct lft_session *session)
{
    while (session->sendable) {
        struct lft_stream *stream = session->fresh.first ? session->fresh.first : session->old.first;
        if (stream->deficit <= 0) {
            stream->deficit += LFT_QUANTUM;
            move(stream, LFT_LIST_OLD);
        } else if (stream->sendable)
            return stream;
        else
            move(stream, stream->list == LFT_LIST_FRESH && session->old.first ? LFT_LIST_OLD : LFT_LIST_NONE);
    }
    return NULL;
}

/* --- chunks ------------------------------------------------------------------------------------------------------------------- */

static size_t put_data(struct lft_stream *stream, uint8_t *at, size_t room)
{
    size_t bytes = room - LFT_CHUNK_HEADER, allowed = (size_t)(stream->tx_credit - stream->tx_offset);
    bytes = bytes < stream->tx_queued ? bytes : stream->tx_queued;
    bytes = bytes < allowed ? bytes : allowed;
    bool fin = stream->tx_finish && bytes == stream->tx_queued;
    struct lft_chunk chunk = {.type = fin ? LFT_CHUNK_FIN : LFT_CHUNK_DATA, .stream = stream->id, .value = stream->tx_offset,
                              .length = (uint16_t)bytes};
    lft_chunk_put(at, &chunk);
    copy_out(stream, at + LFT_CHUNK_HEADER, bytes);
    stream->session->counters.tx_bytes += bytes;
    stream->deficit -= (int32_t)(bytes + LFT_CHUNK_HEADER);
    stream->tx_ended |= fin;
    lft_stream_update(stream);
    if (stream->write_blocked && !stream->tx_finish && stream->tx_queued <= queue_limit(stream) / 2) {
        stream->write_blocked = false;
        lft_stream_event(stream, LFT_EVENT_WRITABLE);
    }
    return LFT_CHUNK_HEADER + bytes;
}

void lft_stream_say(struct lft_stream *stream, unsigned say)
{
    stream->say |= (uint8_t)say;
    if (!stream->on_control)
        LFT_APPEND(&stream->session->control, stream, control);
    stream->on_control = true;
}

static size_t put_control(struct lft_stream *stream, unsigned say, uint8_t *at, size_t room)
{
    uint8_t body[LFT_OPEN_BODY_MAX];
    struct lft_chunk chunk = {.stream = stream->id, .value = stream->rx_granted};
    switch (say) {
    case LFT_SAY_OPEN: chunk.type = LFT_CHUNK_OPEN; chunk.length = (uint16_t)lft_open_put(body, stream->where); break;
    case LFT_SAY_ACCEPT: chunk.type = LFT_CHUNK_ACCEPT; break;
    case LFT_SAY_CREDIT: chunk.type = LFT_CHUNK_CREDIT; break;
    default:
        chunk.type = say == LFT_SAY_REFUSE ? LFT_CHUNK_REFUSE : LFT_CHUNK_RESET;
        chunk.value = say == LFT_SAY_REFUSE ? 0 : stream->tx_offset;
        chunk.length = LFT_RESULT_BYTES;
        lft_result_put(body, &stream->result);
    }
    if (room < LFT_CHUNK_HEADER + (size_t)chunk.length)
        return 0;
    lft_chunk_put(at, &chunk);
    memcpy(at + LFT_CHUNK_HEADER, body, chunk.length);
    return LFT_CHUNK_HEADER + chunk.length;
}

/* All that a stream has to say, lowest bit first; false: no room for the rest. */
static bool fill_control(struct lft_stream *stream, uint8_t **at, uint8_t *end)
{
    while (stream->say) {
        unsigned say = stream->say & -(unsigned)stream->say;
        bool useless = say == LFT_SAY_CREDIT && (stream->reset || stream->rx_final != LFT_UNKNOWN);
        size_t used = useless ? 0 : put_control(stream, say, *at, (size_t)(end - *at));
        if (!used && !useless)
            return false;
        *at += used;
        stream->say &= (uint8_t)~say;
        if (say == LFT_SAY_OPEN) { /* data of an opening stream rides with it */
            free(stream->where);
            stream->where = NULL;
        }
    }
    return true;
}

size_t lft_session_fill(void *user, uint8_t *at, size_t room, uint64_t now_ns)
{
    struct lft_session *session = user;
    uint8_t *next = at, *end = at + room;
    (void)now_ns;
    while (session->control.first) {
        struct lft_stream *stream = session->control.first;
        if (!fill_control(stream, &next, end))
            return (size_t)(next - at);
        LFT_REMOVE(&session->control, stream, control);
        stream->on_control = false;
        lft_stream_maybe_free(stream);
    }
    struct lft_stream *stream;
    while (end - next > LFT_CHUNK_HEADER && (stream = turn(session))) {
        next += put_data(stream, next, (size_t)(end - next));
        lft_stream_maybe_free(stream);
    }
    return (size_t)(next - at);
}

bool lft_session_waiting(void *user)
{
    const struct lft_session *session = user;
    return session->control.first || session->sendable;
}
