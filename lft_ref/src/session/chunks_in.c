/* Distributes chunks that have arrived to their streams. Every octet of a chunk is authentic, but none is trusted. */
#include "nc_bytes.h"
#include "nc_range.h"
#include "session_internal.h"

/* The peer has violated the protocol. The stream ends on both sides, and this end waits for no more chunks about it. */
static void violate(struct lft_stream *stream, uint64_t *counter)
{
    ++*counter;
    lft_stream_reset(stream, &(struct lft_result){.code = LFT_RESULT_PROTOCOL});
    stream->rx_final = stream->rx_seen;
    lft_stream_event(stream, LFT_EVENT_RESET);
    lft_stream_disown(stream);
}

static void take_wrong(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    (void)buffer, (void)chunk;
    violate(stream, &stream->session->counters.rx_malformed);
}

static void ignore(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    (void)stream, (void)buffer, (void)chunk;
}

/* Returns whether the peer's octets can end at this offset. Three conditions must hold: the peer had credit up to it,
 * no octet beyond it has arrived, and no FIN or RESET has given another end. */
static bool final_good(const struct lft_stream *stream, uint64_t final)
{
    return final <= stream->rx_granted && final >= nc_max(stream->rx_next, stream->rx_furthest) &&
           (stream->rx_final == LFT_UNKNOWN || stream->rx_final == final);
}

/* Returns whether DATA or FIN keeps to the protocol. Errors are a second FIN, octets beyond the first FIN, octets
 * without credit, and octets that have arrived before. */
static bool data_good(const struct lft_stream *stream, const struct lft_chunk *chunk)
{
    uint64_t end = chunk->value + chunk->length;
    bool fin = chunk->type == LFT_CHUNK_FIN, again = fin && stream->rx_final != LFT_UNKNOWN && !stream->rx_failed;
    return !again && end <= stream->rx_granted && chunk->value >= stream->rx_next && end <= stream->rx_final &&
           (!fin || final_good(stream, end));
}

static void take_data(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    stream->rx_seen += chunk->length;
    lft_stream_mark_active(stream, chunk->length);
    if (!data_good(stream, chunk)) {
        violate(stream, &session->counters.rx_credit_violations);
        return;
    }
    stream->rx_furthest = nc_max(stream->rx_furthest, chunk->value + chunk->length);
    if (chunk->type == LFT_CHUNK_FIN) {
        stream->rx_final = chunk->value + chunk->length;
        stream->rx_ended = true;
    }
    if (chunk->length && !lft_stream_keep(stream, buffer, chunk)) {
        violate(stream, &session->counters.rx_malformed);
        return;
    }
    lft_stream_account(stream);
    lft_stream_readable(stream);
}

/* Data for a stream that has ended are only counted, to know how much is still in flight. */
static void count_data(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    (void)buffer;
    stream->rx_seen += chunk->length;
    if (chunk->type == LFT_CHUNK_FIN && stream->rx_final == LFT_UNKNOWN)
        stream->rx_final = chunk->value + chunk->length;
    lft_stream_grant(stream);
}

static void take_open(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_session *session = stream->session;
    bool good = lft_open_get(chunk->body, chunk->body + chunk->length, &stream->named) == 0;
    (void)buffer;
    stream->opened = true;
    stream->tx_credit = nc_max(stream->tx_credit, chunk->value); /* a later CREDIT may have overtaken the OPEN */
    session->counters.opened_there++;
    if (good) {
        stream->where = &stream->named;
        lft_client_join(stream, stream->where);
        lft_stream_event(stream, LFT_EVENT_OPENED);
        return;
    }
    session->counters.rx_malformed++;
    lft_stream_refuse(stream, &(struct lft_result){.code = LFT_RESULT_PROTOCOL});
    lft_stream_release(stream);
}

/* Returns how many octets the peer sends in all; with a REFUSE it sends none. A number beyond the credit is an error:
 * this end does not wait for those octets. */
static void learn_final(struct lft_stream *stream, const struct lft_chunk *chunk)
{
    uint64_t final = chunk->type == LFT_CHUNK_REFUSE ? 0 : chunk->value;
    if (stream->rx_final != LFT_UNKNOWN)
        return; /* a FIN or an earlier RESET has already given the number */
    stream->session->counters.rx_malformed += final > stream->rx_granted;
    stream->rx_final = final > stream->rx_granted ? stream->rx_seen : final;
}

/* Answers the peer's RESET or REFUSE, unless we have ended our half already. */
static void stop_sending(struct lft_stream *stream)
{
    stream->session->counters.reset_there++;
    if (!stream->tx_ended)
        lft_stream_say(stream, LFT_SAY_RESET);
    stream->tx_ended = true;
    lft_stream_drop_tx(stream);
}

/* The peer ends the stream by REFUSE or RESET. Octets that we have not read are discarded. */
static void take_end(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_result result = {.code = LFT_RESULT_PROTOCOL};
    (void)buffer;
    lft_result_get(chunk->body, chunk->body + chunk->length, &result);
    result.flags = 0;
    learn_final(stream, chunk);
    stream->reset = true;
    stream->result = result;
    stop_sending(stream);
    lft_stream_drop_rx(stream);
    stream->events &= LFT_EVENT_OPENED;
    lft_stream_event(stream, LFT_EVENT_RESET);
    lft_stream_disown(stream);
}

/* The host at the other end has failed. As after a TCP RST on Linux, octets that it had sent before are still read. */
static void take_reset(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    struct lft_result result = {.code = LFT_RESULT_PROTOCOL};
    lft_result_get(chunk->body, chunk->body + chunk->length, &result);
    if (!(result.flags & LFT_RESET_BEHIND)) {
        take_end(stream, buffer, chunk);
        return;
    }
    if (!final_good(stream, chunk->value)) {
        take_wrong(stream, buffer, chunk);
        return;
    }
    stream->rx_final = chunk->value;
    stream->rx_failed = true;
    stream->rx_ended |= result.flags & LFT_RESET_ENDED;
    result.flags = 0;
    stream->result = result;
    stop_sending(stream);
    lft_stream_account(stream);
    lft_stream_readable(stream);
}

static void note_end(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    (void)buffer;
    learn_final(stream, chunk);
}

/* Returns the number of RETURNs that a CREDIT or RETURN states: 16 bits, or 0 without a body. -1: the chunk is
 * malformed. */
static long returns_of(const struct lft_chunk *chunk)
{
    if (chunk->length == 0)
        return 0;
    return chunk->length == 2 ? (long)nc_get16(chunk->body) : -1;
}

/* Credit that was granted before our last RETURN arrived no longer counts. */
static void take_credit(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    (void)buffer;
    if (returns_of(chunk) != stream->tx_returns || chunk->value <= stream->tx_credit)
        return;
    stream->tx_credit = chunk->value;
    if (stream->write_blocked) {
        stream->write_blocked = false;
        lft_stream_event(stream, LFT_EVENT_WRITABLE);
    }
    lft_stream_update(stream);
}

static void take_accept(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    if (stream->accepted) {
        take_wrong(stream, buffer, chunk);
        return;
    }
    stream->accepted = true;
    lft_stream_event(stream, LFT_EVENT_ACCEPTED);
    take_credit(stream, buffer, chunk);
    lft_stream_grant(stream);
    if (stream->rx_failed)
        lft_stream_readable(stream);
}

/* Takes a RETURN. RETURNs may overtake one another; only the latest one sent counts. */
static void take_return(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    uint16_t ahead = (uint16_t)(returns_of(chunk) - stream->rx_returns);
    bool wrong = chunk->value > stream->rx_granted || chunk->value < stream->rx_consumed;
    bool late = ahead == 0 || ahead >= 0x8000;
    if (chunk->length != 2 || (wrong && !late))
        take_wrong(stream, buffer, chunk);
    if (chunk->length != 2 || wrong || late)
        return;
    stream->rx_returns = (uint16_t)(stream->rx_returns + ahead);
    lft_stream_take_back(stream, chunk->value);
}

/* The table of FORMAT.md, "Chunks": what a chunk does to a stream in each state. */
typedef void take_chunk(struct lft_stream *stream, struct lft_buffer *buffer, const struct lft_chunk *chunk);
/* clang-format off */
static take_chunk *const takes[LFT_STREAM_STATES][LFT_CHUNK_TYPES] = {
    /*   END   DATA        FIN         OPEN        ACCEPT       REFUSE      RESET       CREDIT       RETURN */
    [LFT_STREAM_EARLY] =
        {NULL, take_data,  take_data,  take_open,  take_wrong,  take_wrong, take_end,   take_credit, take_wrong},
    [LFT_STREAM_OPENING] =
        {NULL, take_data,  take_data,  take_wrong, take_accept, take_end,   take_reset, take_credit, take_return},
    [LFT_STREAM_ASKED] =
        {NULL, take_data,  take_data,  take_wrong, take_wrong,  take_wrong, take_end,   take_credit, take_wrong},
    [LFT_STREAM_OPEN] =
        {NULL, take_data,  take_data,  take_wrong, take_wrong,  take_wrong, take_reset, take_credit, take_return},
    [LFT_STREAM_FAILING] =
        {NULL, count_data, count_data, ignore,     ignore,      take_end,   take_end,   take_credit, take_return},
    [LFT_STREAM_FAILED] =
        {NULL, take_data,  take_data,  take_wrong, take_accept, take_wrong, take_wrong, ignore,      ignore},
    [LFT_STREAM_ENDED] =
        {NULL, count_data, count_data, ignore,     ignore,      note_end,   note_end,   ignore,      ignore},
};
/* clang-format on */

/* Creates the stream of a chunk whose stream is not in the table, or returns NULL. Frames arrive in any order, so any
 * chunk of the opener may arrive before the OPEN. A chunk for a stream that has ended here, most often a RESET, is late
 * and is ignored: our FIN or RESET has already given the peer the information that it waits for. When there is no room,
 * the first chunk is answered by REFUSE, whatever its type, because an OPEN that comes later is ignored. */
static struct lft_stream *begin(struct lft_session *session, const struct lft_chunk *chunk)
{
    bool theirs = (chunk->stream & 1) == (session->config.initiator ? 1u : 0u);
    bool openers = chunk->type != LFT_CHUNK_ACCEPT && chunk->type != LFT_CHUNK_REFUSE;
    enum lft_stream_id id =
        theirs && openers ? lft_stream_ids_begin(&session->theirs, chunk->stream) : LFT_STREAM_ID_SEEN;
    session->counters.rx_malformed += id == LFT_STREAM_ID_WRONG;
    if (id != LFT_STREAM_ID_NEW)
        return NULL;
    bool room = session->streams < session->config.streams_max;
    struct lft_stream *stream = room ? lft_stream_new(session, chunk->stream, false) : NULL;
    if (stream)
        return stream;
    session->counters.streams_refused_full++;
    session->counters.rx_malformed += !lft_refusals_add(&session->refusals, chunk->stream);
    return NULL;
}

static void take(struct lft_session *session, struct lft_buffer *buffer, const struct lft_chunk *chunk)
{
    if (chunk->type >= LFT_CHUNK_TYPES)
        return; /* a type of a later version; the length shows where the next chunk begins */
    struct lft_stream *stream = lft_stream_find(session, chunk->stream);
    if (!stream)
        stream = begin(session, chunk);
    if (!stream)
        return;
    takes[lft_stream_state(stream)][chunk->type](stream, buffer, chunk);
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
