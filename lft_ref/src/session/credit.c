/* Credit: how many octets each peer's stream may send. It is granted out of memory that holds no data and is promised
 * to no other stream. A stream's promise is what may yet have to be kept for it: its credit while it is active,
 * otherwise only what it holds. Credit is never taken back. */
#include "nc_range.h"
#include "session_internal.h"

enum { CREDIT_STEP_MAX = 1 << 19 /* the most that is withheld so that CREDIT is sent seldom */ };

void lft_stream_account(struct lft_stream *stream)
{
    uint64_t limit = nc_min(stream->rx_granted, stream->rx_final), promise = stream->rx_queued + stream->rx_holed;
    if (stream->rx_idle_ticks < LFT_ACTIVE_TICKS && limit > stream->rx_consumed)
        promise = limit - stream->rx_consumed;
    if (stream->reset)
        promise = 0;
    stream->session->rx_promised += promise - stream->rx_promise;
    stream->rx_promise = promise;
}

/* A stream gets seven eighths of what is promised to nobody else, so that all active streams come to have the same.
 * Readers that stand still keep what they were given, and the next stream always finds something. A stream that has
 * not shown that it is read gets at most a quarter of all memory. */
static uint64_t share(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    /* An eighth is left for buffers that are not full and for streams that come later. */
    uint64_t memory = session->config.rx_memory_bytes / 8 * 7, others = session->rx_promised - stream->rx_promise;
    uint64_t part = others < memory ? (memory - others) / 8 * 7 : 0, trusted = memory / 4 + 2 * stream->rx_consumed;
    return nc_max(nc_min(part, trusted), LFT_INITIAL_CREDIT);
}

void lft_stream_grant(struct lft_stream *stream)
{
    if (stream->reset || stream->rx_final != LFT_UNKNOWN)
        return;
    uint64_t part = share(stream), wanted = nc_min(stream->rx_consumed + part, LFT_VALUE_MAX);
    uint64_t step = nc_min(part / 8, CREDIT_STEP_MAX);
    if (wanted <= stream->rx_granted || wanted - stream->rx_granted < step)
        return;
    stream->rx_granted = wanted;
    lft_stream_account(stream);
    if (!(stream->say & (LFT_SAY_OPEN | LFT_SAY_ACCEPT)) && (stream->ours ? stream->opened : stream->accepted))
        lft_stream_say(stream, LFT_SAY_CREDIT);
}

void lft_stream_mark_active(struct lft_stream *stream, uint32_t bytes)
{
    enum { ACTIVE_BYTES = 4096 };
    stream->rx_recent += bytes;
    if (stream->rx_recent < ACTIVE_BYTES)
        return;
    stream->rx_recent = 0;
    stream->session->active += stream->rx_idle_ticks == LFT_ACTIVE_TICKS;
    stream->rx_idle_ticks = 0;
}
