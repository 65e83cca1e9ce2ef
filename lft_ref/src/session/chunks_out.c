/* Writes the chunks that fill a frame. */
#include <string.h>

#include "nc_bytes.h"
#include "nc_range.h"
#include "session_internal.h"

static size_t put_data(struct lft_stream *stream, uint8_t *at, size_t room)
{
    size_t bytes = room - LFT_CHUNK_HEADER, allowed = (size_t)(stream->tx_credit - stream->tx_offset);
    bytes = nc_min(nc_min(bytes, stream->tx_queued), allowed);
    bool fin = stream->tx_finish && bytes == stream->tx_queued;
    struct lft_chunk chunk = {.type = fin ? LFT_CHUNK_FIN : LFT_CHUNK_DATA,
                              .stream = stream->id,
                              .value = stream->tx_offset,
                              .length = (uint16_t)bytes};
    lft_chunk_put(at, &chunk);
    lft_stream_dequeue(stream, at + LFT_CHUNK_HEADER, bytes);
    stream->session->counters.tx_bytes += bytes;
    lft_stream_had(stream, bytes + LFT_CHUNK_HEADER);
    stream->tx_ended |= fin;
    lft_stream_update(stream);
    lft_stream_say_failed(stream);
    lft_stream_offer_space(stream);
    return LFT_CHUNK_HEADER + bytes;
}

/* Writes one chunk without data: OPEN, ACCEPT, CREDIT, REFUSE or RESET. 0: no room for it. */
static size_t put_saying(struct lft_stream *stream, unsigned say, uint8_t *at, size_t room)
{
    uint8_t body[LFT_OPEN_BODY_MAX];
    struct lft_chunk chunk = {.stream = stream->id, .value = stream->rx_granted};
    switch (say) {
    case LFT_SAY_OPEN:
        chunk.type = LFT_CHUNK_OPEN;
        chunk.length = (uint16_t)lft_open_put(body, stream->where);
        break;
    case LFT_SAY_ACCEPT:
        chunk.type = LFT_CHUNK_ACCEPT;
        break;
    case LFT_SAY_CREDIT:
        chunk.type = LFT_CHUNK_CREDIT;
        chunk.length = stream->rx_returns ? 2 : 0;
        nc_put16(body, stream->rx_returns);
        break;
    case LFT_SAY_RETURN:
        chunk.type = LFT_CHUNK_RETURN;
        chunk.value = stream->tx_offset + stream->tx_keep;
        chunk.length = 2;
        nc_put16(body, (uint16_t)(stream->tx_returns + 1));
        break;
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

/* True when a pending chunk of the stream has become pointless. */
static bool is_useless(const struct lft_stream *stream, unsigned say)
{
    if (say == LFT_SAY_CREDIT)
        return (stream->reset && !stream->tx_failed) || stream->rx_final != LFT_UNKNOWN;
    if (say == LFT_SAY_RETURN)
        return stream->reset || stream->tx_finish || stream->tx_credit <= stream->tx_offset + stream->tx_keep;
    return false;
}

/* Updates the stream after the chunk was written. */
static void note_said(struct lft_stream *stream, unsigned say)
{
    if (say == LFT_SAY_OPEN) { /* the stream's first data travels in the same frame */
        stream->where = NULL;
    } else if (say == LFT_SAY_RETURN) {
        stream->tx_credit = stream->tx_offset + stream->tx_keep;
        stream->tx_returns++;
    }
}

/* Writes all pending chunks of a stream, the lowest bit first. False: there was no room for all of them. */
static bool put_sayings(struct lft_stream *stream, uint8_t **at, uint8_t *end)
{
    while (stream->say) {
        unsigned say = stream->say & -(unsigned)stream->say;
        bool useless = is_useless(stream, say);
        size_t used = useless ? 0 : put_saying(stream, say, *at, (size_t)(end - *at));
        if (!used && !useless)
            return false;
        *at += used;
        stream->say &= (uint8_t)~say;
        if (!useless)
            note_said(stream, say);
    }
    return true;
}

/* Writes a REFUSE for each stream of the peer that waits in `refusals`. False: the frame has no room for all of
 * them. */
static bool put_refusals(struct lft_session *session, uint8_t **at, uint8_t *end)
{
    const struct lft_result result = {.code = LFT_RESULT_NO_RESOURCES};
    while (lft_refusals_waiting(&session->refusals)) {
        struct lft_chunk chunk = {
            .type = LFT_CHUNK_REFUSE, .stream = lft_refusals_first(&session->refusals), .length = LFT_RESULT_BYTES};
        if (end - *at < LFT_CHUNK_HEADER + LFT_RESULT_BYTES)
            return false;
        lft_chunk_put(*at, &chunk);
        lft_result_put(*at + LFT_CHUNK_HEADER, &result);
        *at += LFT_CHUNK_HEADER + LFT_RESULT_BYTES;
        lft_refusals_remove(&session->refusals);
    }
    return true;
}

size_t lft_session_fill(void *user, uint8_t *at, size_t room, uint64_t now_ns)
{
    struct lft_session *session = user;
    uint8_t *next = at, *end = at + room;
    (void)now_ns;
    if (!put_refusals(session, &next, end))
        return (size_t)(next - at);
    while (session->saying.first) {
        struct lft_stream *stream = session->saying.first;
        if (!put_sayings(stream, &next, end))
            return (size_t)(next - at);
        LFT_REMOVE(&session->saying, stream, saying);
        stream->on_saying = false;
        lft_stream_maybe_free(stream);
    }
    struct lft_stream *stream;
    while (end - next > LFT_CHUNK_HEADER && (stream = lft_session_turn(session))) {
        next += put_data(stream, next, (size_t)(end - next));
        lft_stream_maybe_free(stream);
    }
    return (size_t)(next - at);
}

bool lft_session_waiting(void *user)
{
    const struct lft_session *session = user;
    return session->saying.first || session->sendable || lft_refusals_waiting(&session->refusals);
}
