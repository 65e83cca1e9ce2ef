/* A stream's send queue: a chain of blocks from the session's pool, filled by the relay and emptied into frames. */
#include <assert.h>
#include <string.h>

#include "nc_range.h"
#include "session_internal.h"

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

static void unstarve(struct lft_stream *stream)
{
    if (stream->on_starved)
        LFT_REMOVE(&stream->session->starved, stream, starved);
    stream->on_starved = false;
}

/* Returns a block to the pool, and offers it to the stream that has waited longest for a block. */
static void block_give(struct lft_session *session, struct lft_block *block)
{
    lft_pool_release(session->blocks, (struct lft_buffer *)((uint8_t *)block - offsetof(struct lft_buffer, at)));
    struct lft_stream *starved = session->starved.first;
    if (starved) {
        unstarve(starved);
        starved->write_blocked = false;
        lft_stream_event(starved, LFT_EVENT_WRITABLE);
    }
}

/* How many octets a stream may queue: its credit, but at most a quarter of the unused part of the pool, between one
 * block and 128 (1 MB). While a quarter of the pool is unused, a stream may queue one block without credit. So sending
 * streams converge to equal shares, and streams that wait for credit leave the rest to streams that have credit.
 * Rejected: the pool divided by the number of streams. With a thousand waiting streams, a sender would get one block
 * per turn of the loop, which fills only a third of a fast line. */
static size_t queue_limit(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    size_t all = lft_pool_limit(session->blocks), unused = all - lft_pool_used(session->blocks);
    size_t blocks = nc_min(nc_max(unused / 4, 1), 128), least = unused > all / 4 ? LFT_BLOCK_BYTES : 0;
    return nc_max(nc_min(blocks * LFT_BLOCK_BYTES, stream->tx_credit - stream->tx_offset), least);
}

/* Returns the first block after the blocks that hold octets. */
static struct lft_block **behind_written(struct lft_stream *stream)
{
    return stream->tx_written ? &stream->tx_written->next : &stream->tx_first;
}

/* Gives back the blocks that lft_stream_write_space added and that hold no octets. */
static void trim(struct lft_stream *stream)
{
    struct lft_block **at = behind_written(stream);
    for (struct lft_block *block = *at, *next; block; block = next) {
        next = block->next;
        block_give(stream->session, block);
    }
    *at = NULL;
    stream->tx_last = stream->tx_written;
}

int lft_stream_write_space(struct lft_stream *stream, struct iovec *pieces, int n)
{
    if (stream->tx_finish || !lft_stream_is_read(stream))
        return 0;
    trim(stream); /* space that an earlier call returned and the relay has not used */
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
        pieces[given++] = (struct iovec){block->at + block->end, nc_min(space, room)};
        room -= nc_min(space, room);
        block = block->next;
    }
    stream->write_blocked = given == 0;
    return given;
}

void lft_stream_wrote(struct lft_stream *stream, size_t bytes)
{
    struct lft_block *block = stream->tx_written;
    if (!block || block->end == LFT_BLOCK_BYTES)
        block = *behind_written(stream);
    for (size_t left = bytes; left; block = block->next) {
        assert(block);
        size_t space = LFT_BLOCK_BYTES - block->end, part = nc_min(left, space);
        block->end += (uint32_t)part;
        left -= part;
        stream->tx_written = block;
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
        size_t part = nc_min(bytes - done, piece.iov_len);
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

bool lft_stream_is_read(const struct lft_stream *stream)
{
    return !stream->reset && !stream->rx_failed;
}

void lft_stream_drop_tx(struct lft_stream *stream)
{
    unstarve(stream);
    for (struct lft_block *block = stream->tx_first, *next; block; block = next) {
        next = block->next;
        block_give(stream->session, block);
    }
    stream->session->tx_queued -= stream->tx_queued;
    stream->tx_first = stream->tx_last = stream->tx_written = NULL;
    stream->tx_queued = 0;
    stream->tx_failed = false; /* octets before the RESET are discarded */
    lft_stream_update(stream);
}

void lft_stream_dequeue(struct lft_stream *stream, uint8_t *at, size_t bytes)
{
    stream->tx_queued -= bytes;
    stream->session->tx_queued -= bytes;
    stream->tx_offset += bytes;
    while (bytes) {
        struct lft_block *block = stream->tx_first;
        size_t part = nc_min(block->end - block->begin, bytes);
        memcpy(at, block->at + block->begin, part);
        block->begin += (uint32_t)part;
        at += part;
        bytes -= part;
        if (block->begin == block->end && (block->next || block->end == LFT_BLOCK_BYTES || !stream->tx_queued)) {
            stream->tx_first = block->next;
            if (!block->next)
                stream->tx_last = NULL;
            if (block == stream->tx_written)
                stream->tx_written = NULL;
            block_give(stream->session, block);
        }
    }
}

void lft_stream_offer_space(struct lft_stream *stream)
{
    if (!stream->write_blocked || stream->tx_finish || stream->tx_queued > queue_limit(stream) / 2)
        return;
    stream->write_blocked = false;
    lft_stream_event(stream, LFT_EVENT_WRITABLE);
}
