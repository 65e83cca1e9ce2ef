/* The receiving side. All frames here are authentic, but their contents are still not trusted. */
#include <string.h>

#include "engine.h"
#include "engine_internal.h"
#include "nc_bytes.h"

bool lft_engine_fresh(struct lft_engine *engine, uint64_t counter)
{
    if (lft_replay_fresh(&engine->replay, counter))
        return true;
    engine->counters.rx_replayed++;
    return false;
}

struct lft_buffer *lft_engine_rx_buffer(struct lft_engine *engine)
{
    if (!engine->rx_scratch)
        engine->rx_scratch = lft_pool_take(engine->rx_pool, 1);
    if (!engine->rx_scratch)
        engine->counters.rx_no_memory++;
    return engine->rx_scratch;
}

static uint64_t bit_of(uint64_t number)
{
    return UINT64_C(1) << (number % 64);
}

static uint64_t *word_of(const struct lft_engine *engine, uint64_t number)
{
    return &engine->rx_bits[(number & (LFT_RX_SPAN - 1)) / 64];
}

static void advance(struct lft_engine *engine)
{
    while (*word_of(engine, engine->rx_expected) & bit_of(engine->rx_expected)) {
        *word_of(engine, engine->rx_expected) &= ~bit_of(engine->rx_expected);
        engine->rx_expected++;
    }
}

/* Takes the payload of a DATA frame, whether it was received or recovered. */
static void take_payload(struct lft_engine *engine, uint64_t number, struct lft_buffer *buffer, const uint8_t *payload,
                         size_t length, uint64_t now_ns)
{
    if (number < engine->rx_expected || (number < engine->rx_highest && *word_of(engine, number) & bit_of(number))) {
        engine->counters.rx_duplicates++;
        return;
    }
    if (number != engine->rx_expected && !engine->peer_recovery->receiver_keeps) {
        engine->counters.rx_out_of_order_discarded++;
        return;
    }
    *word_of(engine, number) |= bit_of(number);
    if (number >= engine->rx_highest)
        engine->rx_highest = number + 1;
    advance(engine);
    engine->counters.rx_delivered++;
    engine->counters.rx_payload_bytes += length;
    if (engine->fec_rx)
        lft_fec_rx_data(engine->fec_rx, number, buffer, payload, length);
    engine->source.deliver(engine->source.user, buffer, payload, length, now_ns);
}

/* The erasure code has recovered a payload. It is treated as received, and the next reports contain it. */
void lft_rx_found(void *user, uint64_t number, const uint8_t *payload, size_t length)
{
    struct lft_engine *engine = user;
    struct lft_buffer *buffer = lft_pool_take(engine->rx_pool, 1);
    if (!buffer)
        return;
    memcpy(buffer->at, payload, length);
    uint64_t before = engine->counters.rx_delivered;
    take_payload(engine, number, buffer, buffer->at, length, engine->last_heard_ns);
    if (engine->counters.rx_delivered > before) {
        engine->counters.rx_recovered++;
        if (engine->recovered_n < LFT_RECOVERED_MAX) {
            engine->recovered[engine->recovered_n] = number & LFT_NUMBER_MASK;
            engine->recovered_age[engine->recovered_n++] = 0;
        }
    }
    lft_pool_release(engine->rx_pool, buffer);
}

static void want_ack(struct lft_engine *engine, uint64_t now_ns)
{
    enum { FRAMES_AN_ACK = 512 };
    uint64_t at = ++engine->ack_pending >= FRAMES_AN_ACK ? now_ns : now_ns + lft_ack_interval(engine);
    if (engine->ack_pending == 1 || at < engine->ack_at_ns)
        engine->ack_at_ns = at;
}

/* When memory runs short, the pool's reserve is only for frames that fill a hole. Frames with later numbers are
 * refused. */
static bool out_of_memory(struct lft_engine *engine, uint64_t number)
{
    enum { RESERVE = 64 };
    return number >= engine->rx_highest && lft_pool_used(engine->rx_pool) + RESERVE >= lft_pool_limit(engine->rx_pool);
}

static bool take_data(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns)
{
    uint64_t number = lft_number_unwrap(frame->number, engine->rx_expected);
    if (number >= engine->rx_expected + LFT_RX_SPAN) {
        engine->counters.rx_beyond_window++;
        return true;
    }
    if (out_of_memory(engine, number)) {
        engine->counters.rx_no_memory++;
        return false;
    }
    lft_replay_mark(&engine->replay, frame->counter);
    take_payload(engine, number, engine->rx_scratch, frame->payload, frame->length, now_ns);
    want_ack(engine, now_ns);
    return true;
}

static void take_repair(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns)
{
    uint64_t number = lft_number_unwrap(frame->number, engine->rx_expected);
    if (!engine->fec_rx || number >= engine->rx_expected + LFT_RX_SPAN ||
        !lft_fec_rx_repair(engine->fec_rx, number, frame->payload, frame->length))
        engine->counters.rx_malformed++;
    want_ack(engine, now_ns);
}

static void take_probe(struct lft_engine *engine, const struct lft_frame *frame)
{
    engine->reply_bytes = (uint32_t)frame->length;
    engine->reply_id = frame->number;
}

static void take_probe_reply(struct lft_engine *engine, const struct lft_frame *frame)
{
    if (frame->length < 2)
        engine->counters.rx_malformed++;
    else if (frame->number == engine->probe_id)
        engine->probe_answered = nc_get16(frame->payload);
}

static void take_other(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns)
{
    switch (frame->command) {
    case LFT_ACK:
        lft_ack_take(engine, frame, now_ns);
        break;
    case LFT_REPAIR:
        take_repair(engine, frame, now_ns);
        break;
    case LFT_PROBE:
        take_probe(engine, frame);
        break;
    case LFT_PROBE_REPLY:
        take_probe_reply(engine, frame);
        break;
    case LFT_CLOSE:
        engine->closed_by_peer = frame->length && frame->payload[0] ? frame->payload[0] : LFT_RESULT_STOPPED;
        break;
    default:
        engine->counters.rx_unknown_command++;
    }
}

/* Releases the scratch buffer if the session or the erasure code holds it now. Otherwise the next frame reuses it. */
static void settle_scratch(struct lft_engine *engine)
{
    struct lft_buffer *buffer = engine->rx_scratch;
    if (buffer && buffer->references > 1) {
        lft_pool_release(engine->rx_pool, buffer);
        engine->rx_scratch = NULL;
    }
}

void lft_engine_receive(struct lft_engine *engine, uint64_t now_ns, const struct lft_frame *frame)
{
    bool first = frame->counter > engine->replay.largest;
    engine->last_heard_ns = now_ns;
    engine->counters.rx_frames++;
    engine->counters.rx_wire_bytes += frame->length + lft_padding(frame->length, engine->config.padding_block) +
                                      LFT_FRAME_OVERHEAD + engine->config.outer_bytes;
    if (lft_command_carries_data(frame->command)) {
        if (!take_data(engine, frame, now_ns))
            return;
    } else {
        lft_replay_mark(&engine->replay, frame->counter);
        take_other(engine, frame, now_ns);
    }
    if (first && frame->counter == engine->replay.largest)
        engine->largest_arrival_ns = now_ns;
    settle_scratch(engine);
}
