/* Chooses the next transmission. The classes are tried in order of priority; the limit applies to all of them
 * together. */
#include <assert.h>
#include <string.h>

#include "engine.h"
#include "engine_internal.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_range.h"

static uint32_t wire_bytes(const struct lft_engine *engine, size_t payload)
{
    return (uint32_t)(payload + lft_padding(payload, engine->config.padding_block)) + LFT_FRAME_OVERHEAD +
           engine->config.outer_bytes;
}

/* Every transmission passes through here. It gets its counter and its entry in the history, and its octets count
 * towards the limit. Returns 1, as lft_engine_poll does. */
static int transmit(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame, uint64_t number)
{
    uint32_t wire = wire_bytes(engine, frame->length);
    frame->counter = ++engine->tx_counter;
    *lft_history(engine, frame->counter) = (struct lft_transmission){
        .number = number, .sent_ns = now_ns, .sent_bytes = engine->tx_bytes += wire, .wire_bytes = wire};
    engine->counters.tx_frames[frame->class]++;
    engine->counters.tx_wire_bytes[frame->class] += wire;
    engine->last_sent_ns = now_ns;
    lft_shaper_sent(&engine->shaper, wire, now_ns);
    return 1;
}

static int transmit_ack(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame, uint8_t flags)
{
    *frame = (struct lft_frame){.command = LFT_ACK,
                                .class = LFT_CLASS_ACK,
                                .number = engine->rx_expected & LFT_NUMBER_MASK,
                                .payload = engine->scratch,
                                .length = lft_ack_build(engine, flags, now_ns)};
    if (engine->ack_pending) {
        engine->ack_pending = 0;
        engine->ack_repeats = LFT_ACK_REPEATS;
    } else if (engine->ack_repeats)
        engine->ack_repeats--;
    engine->ack_at_ns = engine->ack_repeats ? now_ns + 4 * lft_ack_interval(engine) : LFT_NEVER;
    return transmit(engine, now_ns, frame, UINT64_MAX);
}

static int transmit_again(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame, uint64_t number,
                          bool asked)
{
    struct lft_tx_slot *slot = lft_slot(engine, number);
    *frame = (struct lft_frame){.command = asked ? LFT_RETRANSMISSION : LFT_REDUNDANT,
                                .number = number & LFT_NUMBER_MASK,
                                .class = asked ? LFT_CLASS_RETRANSMISSION : LFT_CLASS_REDUNDANT,
                                .payload = slot->buffer->at,
                                .length = slot->length};
    transmit(engine, now_ns, frame, number);
    slot->last_counter = frame->counter;
    slot->last_sent_ns = now_ns;
    if (asked && slot->sends < UINT8_MAX)
        slot->sends++;
    engine->last_data_ns = now_ns;
    return 1;
}

static bool room_for_data(const struct lft_engine *engine)
{
    return engine->tx_next - engine->tx_base < engine->config.window_frames &&
           engine->tx_next - engine->tx_base < LFT_NUMBERS_OUTSTANDING_MAX &&
           lft_pool_used(engine->tx_pool) + 64 < lft_pool_limit(engine->tx_pool);
}

/* Adds a fresh frame to the coded window. The sender plans somewhat more repairs than losses, so that a window can be
 * decoded before retransmissions would complete it. */
static void code_data(struct lft_engine *engine, uint64_t number, const uint8_t *payload, size_t length)
{
    uint64_t percent = engine->config.fec_percent;
    lft_fec_tx_data(engine->fec_tx, number, payload, length);
    engine->fec_debt += percent ? percent * 10 : engine->loss_ppb / 1000000 * 13 / 10 + 5;
}

static int transmit_data(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    struct lft_buffer *buffer = lft_pool_take(engine->tx_pool, 1);
    if (!buffer)
        return 0;
    size_t room = engine->payload_max - (engine->fec_tx ? LFT_REPAIR_HEADER + 2 : 0);
    size_t length = engine->source.fill(engine->source.user, buffer->at, room, now_ns);
    assert(length <= room);
    if (!length) {
        lft_pool_release(engine->tx_pool, buffer);
        return 0;
    }
    uint64_t number = engine->tx_next++;
    if (!engine->outstanding++)
        engine->progress_ns = now_ns;
    *frame = (struct lft_frame){.command = LFT_DATA,
                                .number = number & LFT_NUMBER_MASK,
                                .class = LFT_CLASS_DATA,
                                .payload = buffer->at,
                                .length = length};
    transmit(engine, now_ns, frame, number);
    *lft_slot(engine, number) = (struct lft_tx_slot){.buffer = buffer,
                                                     .length = (uint16_t)length,
                                                     .sends = 1,
                                                     .last_counter = frame->counter,
                                                     .last_sent_ns = now_ns};
    engine->counters.tx_payload_bytes += length;
    engine->last_data_ns = engine->fresh_ns = now_ns;
    if (engine->resend_next == number)
        engine->resend_next++;
    if (engine->fec_tx)
        code_data(engine, number, buffer->at, length);
    return 1;
}

static int transmit_repair(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    uint64_t number = 0;
    size_t length = lft_fec_tx_repair(engine->fec_tx, engine->scratch, &number);
    if (!length)
        return 0;
    *frame = (struct lft_frame){.command = LFT_REPAIR,
                                .number = number & LFT_NUMBER_MASK,
                                .class = LFT_CLASS_RETRANSMISSION,
                                .payload = engine->scratch,
                                .length = length};
    engine->counters.tx_repairs++;
    return transmit(engine, now_ns, frame, UINT64_MAX);
}

/* The earliest time of copies, a little after the last fresh DATA. Otherwise copies would take the line from a source
 * that is only between two reads of its socket. */
static uint64_t copies_from_ns(const struct lft_engine *engine)
{
    return engine->fresh_ns + nc_max(engine->rtt.srtt_ns / 16, NC_NS_PER_MS);
}

/* The earliest time of the next pass of copies: passes begin at least an eighth of a round trip apart. A new pass
 * begins when the last one is complete or when fresh DATA was sent since it began. */
static uint64_t next_pass_ns(const struct lft_engine *engine)
{
    return engine->copy_pass_ns + engine->rtt.srtt_ns / 8;
}

static bool pass_left(const struct lft_engine *engine)
{
    return nc_max(engine->copy_from, engine->tx_base) < engine->copy_to;
}

/* Chooses the number to copy next in this pass. The newest number goes first, because a copy of a frame that was sent
 * less than half a round trip ago arrives before a retransmission could; a copy of an older frame does not. A receiver
 * that discards frames out of order can only use the oldest. */
static uint64_t next_copy(struct lft_engine *engine)
{
    engine->copy_from = nc_max(engine->copy_from, engine->tx_base);
    return engine->recovery->receiver_keeps ? --engine->copy_to : engine->copy_from++;
}

static int transmit_redundant(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    if (now_ns < copies_from_ns(engine))
        return 0;
    if (now_ns >= next_pass_ns(engine) && (!pass_left(engine) || engine->fresh_ns >= engine->copy_pass_ns)) {
        engine->copy_pass_ns = now_ns;
        engine->copy_from = engine->tx_base;
        engine->copy_to = engine->tx_next;
    }
    while (pass_left(engine)) {
        uint64_t number = next_copy(engine);
        if (lft_outstanding(engine, number) && !lft_slot(engine, number)->queued)
            return transmit_again(engine, now_ns, frame, number, false);
    }
    return 0;
}

static int transmit_management(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    *frame = (struct lft_frame){.class = LFT_CLASS_ACK, .payload = engine->scratch};
    if (engine->close_left) {
        engine->close_left--;
        frame->command = LFT_CLOSE;
        frame->length = 1;
        engine->scratch[0] = (uint8_t)engine->close_code;
    } else if (engine->reply_bytes) {
        frame->command = LFT_PROBE_REPLY;
        frame->number = engine->reply_id;
        frame->length = 2;
        nc_put16(engine->scratch, (uint16_t)engine->reply_bytes);
        engine->reply_bytes = 0;
    } else {
        frame->command = LFT_PROBE;
        frame->number = engine->probe_id;
        frame->length = engine->probe_bytes;
        memset(engine->scratch, 0, engine->probe_bytes);
        engine->probe_bytes = 0;
        engine->counters.tx_probes++;
    }
    return transmit(engine, now_ns, frame, UINT64_MAX);
}

static bool management_waiting(const struct lft_engine *engine)
{
    return engine->close_left || engine->reply_bytes || engine->probe_bytes;
}

static uint64_t ack_time(const struct lft_engine *engine)
{
    return nc_min(engine->ack_at_ns, engine->last_sent_ns + engine->config.keepalive_ns);
}

static uint64_t timeout_time(const struct lft_engine *engine)
{
    return engine->outstanding ? engine->recovery->timeout_at(engine) : LFT_NEVER;
}

static void run_timeout(struct lft_engine *engine, uint64_t now_ns)
{
    if (now_ns < timeout_time(engine))
        return;
    engine->recovery->timeout(engine);
    engine->knock = !engine->running;
    engine->counters.timeouts++;
    engine->progress_ns = now_ns;
    if (engine->backoff < 6 && lft_timeout_ns(engine) << engine->backoff < NC_NS_PER_S / 2)
        engine->backoff++;
}

static bool repair_due(const struct lft_engine *engine)
{
    return engine->fec_tx && engine->fec_debt >= 1000;
}

static void trim_pools(struct lft_engine *engine, uint64_t now_ns)
{
    if (now_ns < engine->trim_ns)
        return;
    engine->trim_ns = now_ns + NC_NS_PER_S;
    lft_pool_trim(engine->tx_pool);
    lft_pool_trim(engine->rx_pool);
}

static int transmit_next(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    if (now_ns >= ack_time(engine))
        return transmit_ack(engine, now_ns, frame, 0);
    if (management_waiting(engine))
        return transmit_management(engine, now_ns, frame);
    uint64_t number;
    bool may_repeat = engine->running || engine->knock;
    engine->knock = false;
    if (may_repeat && engine->recovery->next(engine, &number)) {
        if (lft_outstanding(engine, number))
            return transmit_again(engine, now_ns, frame, number, true);
    }
    if (engine->running) {
        if (repair_due(engine)) {
            engine->fec_debt -= 1000;
            if (transmit_repair(engine, now_ns, frame))
                return 1;
        }
        if (engine->source.waiting(engine->source.user) && room_for_data(engine) &&
            transmit_data(engine, now_ns, frame))
            return 1;
        if (engine->config.redundancy && engine->outstanding && transmit_redundant(engine, now_ns, frame))
            return 1;
    }
    return 0;
}

/* The sender pauses for as long as the octets of a train take: behind it, and in front of it where the queue is full,
 * so that it has room for the train. */
static void pause_for_train(struct lft_engine *engine, uint64_t bytes, uint64_t now_ns)
{
    lft_shaper_owe(&engine->shaper, bytes, now_ns);
    engine->train.paid = true;
}

static void plan_train(struct lft_engine *engine, uint64_t now_ns)
{
    if (engine->config.rate_mode != LFT_RATE_AUTO || !engine->running || !engine->tx_largest_seen ||
        !engine->source.waiting(engine->source.user) || !room_for_data(engine) ||
        !lft_rate_auto_train_due(&engine->rate))
        return;
    unsigned frames = lft_rate_auto_train_frames(&engine->rate, lft_frame_bytes(engine));
    lft_train_begin(&engine->train, frames);
    if (lft_rate_auto_full(&engine->rate))
        pause_for_train(engine, (uint64_t)frames * lft_frame_bytes(engine), now_ns);
}

static void end_train(struct lft_engine *engine, uint64_t now_ns)
{
    engine->train.left = 0;
    uint64_t bytes = engine->tx_bytes - engine->train.sent_bytes;
    engine->train.bytes = engine->train.last ? bytes : 0;
    lft_shaper_set(&engine->shaper, engine->rate.rate_bps, lft_frame_bytes(engine), now_ns);
    if (!engine->train.paid)
        pause_for_train(engine, bytes, now_ns);
}

/* The next frame of a train, whose first and last ask for a report. A train whose source runs dry measures nothing. */
static int transmit_train(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    struct lft_train *train = &engine->train;
    int sent = 1;
    if (!train->first) { /* the pause is over */
        train->sent_bytes = engine->tx_bytes;
        lft_shaper_set(&engine->shaper, engine->config.rate_bps, lft_frame_bytes(engine), now_ns);
    }
    if (!train->first || train->left == 1) {
        transmit_ack(engine, now_ns, frame, LFT_REPORT_ASK);
        *(train->first ? &train->last : &train->first) = frame->counter;
    } else if (!(sent = transmit_next(engine, now_ns, frame)))
        train->left = 1;
    if (!--train->left)
        end_train(engine, now_ns);
    return sent;
}

int lft_engine_poll(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame)
{
    run_timeout(engine, now_ns);
    trim_pools(engine, now_ns);
    if (!engine->train.left)
        plan_train(engine, now_ns);
    if (!lft_shaper_ready(&engine->shaper, now_ns))
        return 0;
    int sent = engine->train.left ? transmit_train(engine, now_ns, frame) : transmit_next(engine, now_ns, frame);
    if (!sent)
        lft_shaper_idle(&engine->shaper);
    return sent;
}

void lft_engine_left(struct lft_engine *engine, uint64_t now_ns)
{
    lft_shaper_left(&engine->shaper, now_ns);
}

static bool work_waiting(const struct lft_engine *engine)
{
    if (management_waiting(engine) || engine->train.left)
        return true;
    if (!engine->running)
        return engine->knock;
    bool again = engine->recovery->reads_bitmap ? engine->queue_head != engine->queue_tail
                                                : engine->resend_next < engine->tx_next;
    return again || repair_due(engine) || (engine->source.waiting(engine->source.user) && room_for_data(engine));
}

uint64_t lft_engine_next_ns(const struct lft_engine *engine, uint64_t now_ns)
{
    uint64_t next = nc_min(ack_time(engine), timeout_time(engine));
    if (work_waiting(engine))
        next = now_ns;
    else if (engine->config.redundancy && engine->running && engine->outstanding) {
        uint64_t copy = pass_left(engine) ? now_ns : next_pass_ns(engine);
        next = nc_min(next, nc_max(copy, copies_from_ns(engine)));
    }
    return nc_max(next, lft_shaper_next_ns(&engine->shaper));
}

uint64_t lft_engine_rest_ns(const struct lft_engine *engine)
{
    uint64_t rest = nc_min(engine->rtt.srtt_ns / 128, 2 * NC_NS_PER_MS);
    return engine->shaper.rate_bps && work_waiting(engine) ? nc_min(rest, lft_shaper_rest_ns(&engine->shaper)) : rest;
}
