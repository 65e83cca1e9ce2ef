/* Credit: how many octets of each stream the peer may send. Credit that is not consumed is promised memory. All
 * promises together stay within the memory, except for the minimum credit that every stream has.
 *   - A stream that is read gets what it needs: twice the octets read in a round trip plus twice the octets that waited
 *     for a missing one, at most seven eighths of the memory that is not promised to other streams.
 *   - While more than four streams carry data, together they may have a part of the memory that shrinks to two fifths
 *     as their number grows, and each of them at most four times its share. All their readers may stop at once; the
 *     remaining memory must then be enough for one stream, because in-order delivery at 1 % loss takes 2.5 round trips
 *     at the line's rate.
 *   - A stream that was accepted and has not yet been read for a round trip gets two thirds of what is left of an
 *     allowance. All such streams share this allowance, which is three eighths of the memory, for the same reason. The
 *     first of them gets a quarter of the memory; with less it could not fill a long path with loss from the start.
 *   - A stream whose octets wait for its reader gets no further credit: its reader is the bottleneck.
 *   - A sender that has much more credit than it uses gives it back, once a second (RETURN).
 * The receiver cannot revoke granted credit, because the sender may have used it by then. Rejected for the same reason:
 * a chunk that demands credit back. A fast sender has used the credit when the demand arrives, and a slow one gives it
 * back by itself. */
#include "nc_clock.h"
#include "nc_range.h"
#include "session_internal.h"

enum {
    CREDIT_STEP_MAX = 1 << 19, /* the most credit that is withheld to make CREDIT chunks rare */
    LEAST_MAX = 1 << 16,       /* upper bound of a stream's minimum credit */
    DECAY_ROUNDS_MAX = 64,
    FEW = 4 /* up to this many active streams may use all of the memory */
};
/* On a short path credit takes little memory, and loss may delay a CREDIT. */
#define ROUND_LEAST_NS (100 * NC_NS_PER_MS)

void lft_stream_account(struct lft_stream *stream)
{
    struct lft_session *session = stream->session;
    uint64_t promise = stream->reset ? 0 : nc_min(stream->rx_granted, stream->rx_final) - stream->rx_consumed;
    session->rx_promised += promise - stream->rx_promise;
    if (!stream->rx_proven)
        session->rx_unproven += promise - stream->rx_promise;
    stream->rx_promise = promise;
}

static void set_proven(struct lft_stream *stream, bool proven)
{
    if (stream->rx_proven != proven)
        stream->session->rx_unproven += proven ? -stream->rx_promise : stream->rx_promise;
    stream->rx_proven = proven;
}

static uint64_t usable(const struct lft_session *session)
{
    /* an eighth of the memory is left out, because buffers are not full */
    return session->config.rx_memory_bytes / 8 * 7;
}

/* The credit of a stream that has not been read yet; 0 before it is accepted, because it may never be read. */
static uint64_t allowance(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    uint64_t all = usable(session) / 8 * 3, others = session->rx_unproven - stream->rx_promise;
    return stream->accepted && others < all ? (all - others) / 3 * 2 : 0;
}

/* The credit that all streams may have together. */
static uint64_t shared(const struct lft_session *session)
{
    uint64_t fifth = usable(session) / 5;
    return session->active <= FEW ? 5 * fifth : 2 * fifth + 3 * fifth / session->active * FEW;
}

static uint64_t window(const struct lft_stream *stream)
{
    const struct lft_session *session = stream->session;
    uint64_t memory = shared(session), others = session->rx_promised - stream->rx_promise;
    uint64_t most =
        nc_min(others < memory ? (memory - others) / 8 * 7 : 0, usable(session) / nc_max(session->active, FEW) * FEW);
    uint64_t least = nc_min(nc_max(usable(session) / 32 / (session->streams + 1), LFT_EARLY_CREDIT), LEAST_MAX);
    uint64_t seen = stream->rx_rate_peak + stream->rx_hole_peak;
    uint64_t need = 2 * seen;
    if (others < memory / 2) /* memory is plentiful, so a small stream's credit grows fast */
        need = nc_max(need, nc_min(4 * seen, most / 8));
    if (!stream->rx_proven)
        need = nc_max(need, allowance(stream));
    return nc_max(nc_min(need, most), least);
}

/* Octets for a failing stream are discarded and take no memory. It still needs credit: two ends that fail at the same
 * time would otherwise wait for each other's credit for ever. */
static void grant_failing(struct lft_stream *stream)
{
    if (stream->rx_final != LFT_UNKNOWN || stream->rx_granted >= stream->rx_seen + LFT_EARLY_CREDIT / 2)
        return;
    stream->rx_granted = nc_min(stream->rx_seen + LFT_EARLY_CREDIT, LFT_VALUE_MAX);
    lft_stream_say(stream, LFT_SAY_CREDIT);
}

void lft_stream_grant(struct lft_stream *stream)
{
    if (stream->tx_failed)
        grant_failing(stream);
    if (stream->reset || stream->rx_final != LFT_UNKNOWN)
        return;
    uint64_t part = window(stream), wanted = nc_min(stream->rx_consumed + part, LFT_VALUE_MAX);
    uint64_t step = nc_min(part / 8, CREDIT_STEP_MAX);
    if (wanted <= stream->rx_granted || wanted - stream->rx_granted < step)
        return;
    stream->rx_granted = wanted;
    lft_stream_account(stream);
    if (!(stream->say & (LFT_SAY_OPEN | LFT_SAY_ACCEPT)) && (stream->ours ? stream->opened : stream->accepted))
        lft_stream_say(stream, LFT_SAY_CREDIT);
}

/* Only octets that wait for a missing one show a need for credit. Octets that wait for the reader do not. */
static void measure_holes(struct lft_stream *stream)
{
    if (!stream->rx_queued)
        stream->rx_hole_peak = nc_max(stream->rx_hole_peak, stream->rx_holed);
}

void lft_stream_measure(struct lft_stream *stream, size_t consumed, uint64_t now_ns)
{
    uint64_t round_ns = nc_max(stream->session->round_trip_ns, ROUND_LEAST_NS);
    if (now_ns - stream->rx_round_ns >= round_ns) {
        uint64_t rounds = nc_min((now_ns - stream->rx_round_ns) / round_ns, DECAY_ROUNDS_MAX);
        for (; rounds; rounds--) {
            stream->rx_rate_peak -= stream->rx_rate_peak / 8;
            stream->rx_hole_peak -= stream->rx_hole_peak / 8;
        }
        if (stream->rx_round_ns)
            set_proven(stream, true);
        stream->rx_round_ns = now_ns;
        stream->rx_round_bytes = 0;
    }
    stream->rx_round_bytes += consumed;
    stream->rx_rate_peak = nc_max(stream->rx_rate_peak, stream->rx_round_bytes);
    measure_holes(stream);
}

/* The sender's half: returns credit beyond what four round trips need at the rate of the last second. Its source is
 * slow, or its share of the line is small. */
static void give_back(struct lft_stream *stream)
{
    uint64_t sent = stream->tx_offset - stream->tx_marked;
    uint64_t round_us = nc_max(stream->session->round_trip_ns, ROUND_LEAST_NS) / NC_NS_PER_US;
    bool first = stream->tx_marked == LFT_UNKNOWN;
    stream->tx_marked = stream->tx_offset;
    if (first || !stream->accepted || stream->tx_finish || !lft_stream_is_read(stream))
        return;
    stream->tx_keep = nc_max(4 * sent * round_us / 1000000, LFT_EARLY_CREDIT);
    if (stream->tx_credit > stream->tx_offset + nc_max(2 * stream->tx_keep, LEAST_MAX))
        lft_stream_say(stream, LFT_SAY_RETURN);
}

void lft_stream_credit_tick(struct lft_stream *stream, bool second)
{
    measure_holes(stream);
    if (stream->opened && !stream->rx_queued)
        lft_stream_grant(stream);
    if (second)
        give_back(stream);
}

void lft_stream_take_back(struct lft_stream *stream, uint64_t limit)
{
    stream->rx_granted = limit;
    lft_stream_account(stream);
    set_proven(stream, true); /* the allowance was not used: from now on the stream gets what it needs */
    lft_stream_grant(stream);
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
