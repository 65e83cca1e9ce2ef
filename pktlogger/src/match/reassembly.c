/* Implements reassembly.h. A segment is consumed from its front: bytes seen before are dropped, the next bytes of the
 * stream are delivered, and bytes after a hole are copied into the list of held pieces. A piece that was cut in the
 * capture keeps its whole length in sequence space; the missing part becomes a gap when the piece is delivered. */
#include "reassembly.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_range.h"

/* A held piece: sequence space [start, start + len). Its first `have` bytes are in `data`, which has space for `room`
 * bytes. */
struct pl_held {
    struct pl_held *next;
    uint64_t start;
    uint32_t len, have, room;
    uint8_t data[];
};

/* The rest of the present segment, and its offset in the stream. */
struct piece {
    uint64_t start;
    uint32_t len, have;
    const uint8_t *data;
};

static void drop_front(struct piece *piece, uint64_t n)
{
    uint32_t had = (uint32_t)nc_min(n, piece->have);
    piece->start += n;
    piece->len -= (uint32_t)n;
    piece->have -= had;
    piece->data += had;
}

static void deliver_gap(struct pl_reassembly *stream, struct pl_stream_pool *pool, uint64_t to,
                        const struct pl_stream_output *output)
{
    if (to == stream->next)
        return;
    pool->gaps++;
    pool->gap_bytes += to - stream->next;
    output->gap(output->context, stream->next, to);
    stream->next = to;
}

/* Delivers `len` bytes of sequence space, of which the first `have` were captured. */
static void deliver(struct pl_reassembly *stream, struct pl_stream_pool *pool, const uint8_t *data, uint32_t have,
                    uint32_t len, const struct pl_stream_output *output)
{
    uint64_t end = stream->next + len;
    if (have) {
        pool->delivered_bytes += have;
        output->data(output->context, stream->next, data, have);
        stream->next += have;
    }
    deliver_gap(stream, pool, end, output);
}

static uint64_t cost(const struct pl_held *held)
{
    return sizeof *held + held->room;
}

/* Delivers the held pieces that are next in the stream. */
static void drain(struct pl_reassembly *stream, struct pl_stream_pool *pool, const struct pl_stream_output *output)
{
    for (struct pl_held *held; (held = stream->held) && held->start == stream->next; free(held)) {
        stream->held = held->next;
        if (!stream->held)
            stream->held_last = NULL;
        stream->held_bytes -= cost(held);
        pool->used -= cost(held);
        deliver(stream, pool, held->data, held->have, held->len, output);
    }
    stream->doubtful = false; /* bytes that are still missing are others, and have not been acknowledged yet */
}

/* Makes a gap of the bytes that are missing before the first held piece, but not beyond `limit`. */
static void give_up(struct pl_reassembly *stream, struct pl_stream_pool *pool, uint64_t limit,
                    const struct pl_stream_output *output)
{
    bool to_held = stream->held && stream->held->start <= limit;
    deliver_gap(stream, pool, to_held ? stream->held->start : limit, output);
    drain(stream, pool, output);
}

static bool within_limits(const struct pl_reassembly *stream, const struct pl_stream_pool *pool, uint64_t bytes)
{
    return stream->held_bytes + bytes <= pool->stream_limit && pool->used + bytes <= pool->total_limit;
}

/* Appends bytes of `piece` to a held piece that ends where `piece` begins, as many as it has room for. */
static void append(struct pl_held *held, struct piece *piece, uint64_t end)
{
    if (!held || held->start + held->len != piece->start || held->have != held->len)
        return;
    uint32_t n = (uint32_t)nc_min(nc_min(held->room - held->have, piece->have), end - piece->start);
    memcpy(held->data + held->have, piece->data, n);
    held->have += n;
    held->len += n;
    drop_front(piece, n);
}

/* Inserts the part of `piece` below `end` after `before` (NULL: at the front). Returns false when there is no memory
 * for it. */
static bool insert(struct pl_reassembly *stream, struct pl_stream_pool *pool, struct pl_held *before,
                   struct piece *piece, uint64_t end)
{
    append(before, piece, end);
    uint32_t len = (uint32_t)(end - piece->start), have = (uint32_t)nc_min(len, piece->have);
    uint32_t room = have > PL_CHUNK ? have : PL_CHUNK;
    if (len == 0)
        return true;
    if (!within_limits(stream, pool, sizeof *before + room))
        return false;
    struct pl_held *held = malloc(sizeof *held + room);
    if (!held)
        return false;
    *held = (struct pl_held){
        .next = before ? before->next : stream->held, .start = piece->start, .len = len, .have = have, .room = room};
    memcpy(held->data, piece->data, have);
    *(before ? &before->next : &stream->held) = held;
    if (!held->next)
        stream->held_last = held;
    stream->held_bytes += cost(held);
    pool->used += cost(held);
    pool->used_max = nc_max(pool->used_max, pool->used);
    drop_front(piece, len);
    return true;
}

/* Holds the bytes that no held piece covers. Returns false if there is no memory for the rest of them. */
static bool hold(struct pl_reassembly *stream, struct pl_stream_pool *pool, struct piece *piece)
{
    struct pl_held *before = stream->held_last; /* most segments come after everything that is held */
    if (before && before->start > piece->start)
        before = NULL;
    while (piece->len) {
        struct pl_held *after = before ? before->next : stream->held;
        uint64_t covered = before ? before->start + before->len : 0;
        if (covered > piece->start) {
            uint64_t n = nc_min(covered - piece->start, piece->len);
            pool->duplicate_bytes += n;
            drop_front(piece, n);
        } else if (after && after->start <= piece->start)
            before = after;
        else if (!insert(stream, pool, before, piece,
                         after ? nc_min(after->start, piece->start + piece->len) : piece->start + piece->len))
            return false;
    }
    return true;
}

static void take(struct pl_reassembly *stream, struct pl_stream_pool *pool, struct piece *piece,
                 const struct pl_stream_output *output)
{
    for (;;) {
        if (piece->start < stream->next) {
            uint64_t old = nc_min(stream->next - piece->start, piece->len);
            pool->duplicate_bytes += old;
            drop_front(piece, old);
        }
        if (piece->len == 0)
            return;
        if (piece->start == stream->next) {
            uint64_t n = stream->held ? nc_min(piece->len, stream->held->start - piece->start) : piece->len;
            struct piece now = *piece;
            drop_front(piece, n);
            deliver(stream, pool, now.data, (uint32_t)nc_min(now.have, n), (uint32_t)n, output);
            drain(stream, pool, output);
        } else if (hold(stream, pool, piece))
            return;
        else
            give_up(stream, pool, piece->start, output);
    }
}

/* The offset of a raw sequence number, which is assumed to be within 2^31 of the next one. */
static int64_t offset_of(const struct pl_reassembly *stream, uint32_t raw)
{
    return (int64_t)stream->next + (int32_t)(raw - (stream->base + (uint32_t)stream->next));
}

void pl_reassembly_base(struct pl_reassembly *stream, uint32_t raw)
{
    if (stream->based)
        return;
    stream->based = true;
    stream->base = raw;
}

void pl_reassembly_segment(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                           const struct pl_stream_segment *segment, const struct pl_stream_output *output)
{
    assert(segment->have <= segment->len && segment->len <= UINT32_MAX / 4);
    pl_reassembly_base(stream, segment->raw);
    int64_t start = offset_of(stream, segment->raw), end = start + segment->len;
    int64_t from = start > 0 ? start : 0,
            to = stream->has_fin && end > (int64_t)stream->fin ? (int64_t)stream->fin : end;
    if (start - (int64_t)stream->next > PL_AHEAD_MAX || to <= from) {
        pool->outside_bytes += segment->len;
        return;
    }
    pool->outside_bytes += (uint64_t)(from - start) + (uint64_t)(end - to);
    struct piece piece = {(uint64_t)start, segment->len - (uint32_t)(end - to), 0, segment->data};
    piece.have = (uint32_t)nc_min(segment->have, piece.len);
    drop_front(&piece, (uint64_t)(from - start));
    take(stream, pool, &piece, output);
    stream->ended = stream->has_fin && stream->next >= stream->fin;
}

void pl_reassembly_fin(struct pl_reassembly *stream, uint32_t raw)
{
    pl_reassembly_base(stream, raw);
    int64_t fin = offset_of(stream, raw);
    struct pl_held *last = stream->held_last;
    uint64_t seen = last ? last->start + last->len : stream->next;
    if (stream->has_fin || fin < (int64_t)seen || fin - (int64_t)stream->next > PL_AHEAD_MAX)
        return; /* a FIN below data already seen is stray or forged */
    stream->has_fin = true;
    stream->fin = (uint64_t)fin;
    stream->ended = stream->next >= stream->fin;
}

void pl_reassembly_acked(struct pl_reassembly *stream, struct pl_stream_pool *pool, uint32_t raw, uint64_t packets,
                         const struct pl_stream_output *output)
{
    if (!stream->held)
        return;
    int64_t acked = offset_of(stream, raw);
    if (acked > (int64_t)stream->next) {
        stream->acked = nc_max(stream->acked, (uint64_t)acked);
        stream->doubtful_since = stream->doubtful ? stream->doubtful_since : packets;
        stream->doubtful = true;
    }
    if (!stream->doubtful || packets - stream->doubtful_since < PL_REORDER_PACKETS)
        return;
    while (stream->held && stream->held->start <= stream->acked)
        give_up(stream, pool, stream->acked, output);
    stream->doubtful = false;
    stream->ended = stream->has_fin && stream->next >= stream->fin;
}

void pl_reassembly_flush(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                         const struct pl_stream_output *output)
{
    while (stream->held)
        give_up(stream, pool, UINT64_MAX, output);
}
