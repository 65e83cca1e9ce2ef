/* Chunks that have arrived, sorted into streams. Every octet of a chunk is authentic, and none is trusted. */
#include <stdlib.h>

#include "nc_range.h"
#include "session_internal.h"

static void violate(struct lft_stream *stream, uint64_t *counter)
{
    ++*counter;
    if (stream->reset)
        return;
    lft_stream_reset(stream, &(struct lft_result){.code = LFT_RESULT_PROTOCOL});
    lft_stream_event(stream, LFT_EVENT_RESET);
}

static void take_data(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    uint64_t end = chunk->value + chunk->length;
    stream->rx_seen += chunk->length;
    lft_stream_mark_active(stream, chunk->length);
    if (chunk->type == LFT_CHUNK_FIN && stream->rx_final == LFT_UNKNOWN)
        stream->rx_final = end;
    if (!stream->reset) {
        if (end > stream->rx_granted || chunk->value < stream->rx_next || end > stream->rx_final)
            violate(stream, &session->counters.rx_credit_violations);
        else if (chunk->length && !lft_stream_keep(stream, buffer, chunk))
            violate(stream, &session->counters.rx_malformed);
    }
    lft_stream_account(stream);
    lft_stream_readable(stream);
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
    stream->tx_credit = nc_max(stream->tx_credit, chunk->value); /* a later CREDIT may have overtaken the OPEN */
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

/* The peer ends the stream by REFUSE or RESET. As with a TCP RST, octets that we have not read are void. */
static void take_end(struct lft_stream *stream, const struct lft_chunk *chunk)
{
    struct lft_result result = {.code = LFT_RESULT_PROTOCOL};
    lft_result_get(chunk->body, chunk->body + chunk->length, &result);
    if (stream->rx_final == LFT_UNKNOWN) /* otherwise a FIN has said it already */
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

/* The stream that a chunk belongs to, or NULL when the chunk is to be ignored. Frames arrive in any order, so any
 * chunk of the opener's may arrive before the OPEN, and then begins the stream. A chunk for a stream that has ended
 * here, most often a RESET, is late and is ignored: our FIN or RESET tells the peer all that it waits for. */
static struct lft_stream *stream_for(struct lft_session *session, const struct lft_chunk *chunk)
{
    struct lft_stream *stream = lft_stream_find(session, chunk->stream);
    bool theirs = (chunk->stream & 1) == (session->config.initiator ? 1u : 0u);
    bool openers = chunk->type != LFT_CHUNK_ACCEPT && chunk->type != LFT_CHUNK_REFUSE;
    if (stream || !theirs || !openers || !lft_stream_ids_begin(&session->theirs, chunk->stream))
        return stream;
    /* A peer that opens without end gets twice the limit and no more, so that we can still send refusals. */
    if (session->streams >= 2 * session->config.streams_max)
        return NULL;
    return lft_stream_new(session, chunk->stream, false);
}

static void take(struct lft_session *session, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    if (chunk->type >= LFT_CHUNK_TYPES)
        return; /* a later version's; the length says where the next chunk begins */
    struct lft_stream *stream = stream_for(session, chunk);
    if (!stream)
        return;
    switch (chunk->type) {
    case LFT_CHUNK_DATA:
    case LFT_CHUNK_FIN:
        take_data(stream, buffer, chunk);
        break;
    case LFT_CHUNK_OPEN:
        take_open(stream, chunk);
        return; /* the stream may be gone */
    case LFT_CHUNK_REFUSE:
    case LFT_CHUNK_RESET:
        take_end(stream, chunk);
        break;
    default:
        take_credit(stream, chunk);
        break;
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
