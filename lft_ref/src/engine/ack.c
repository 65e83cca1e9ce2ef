/* Reports in both directions. A report to the peer is read from the replay window. A report from the peer frees the
 * buffers of frames that have arrived and shows which transmissions are lost (loss.c). */
#include <string.h>

#include "engine_internal.h"
#include "nc_clock.h"

/* The number of bitmap words that a report needs. The bitmap reaches back to the largest counter that was reported
 * LFT_REPORT_MEMORY reports ago. So the peer misses nothing as long as fewer consecutive reports are lost. */
static unsigned words_wanted(const struct lft_engine *engine)
{
    uint64_t oldest = engine->reported[engine->reported_next];
    uint64_t words = (engine->replay.largest - oldest) / 64 + 1;
    size_t room = (engine->payload_max - LFT_REPORT_HEADER - 3 * (size_t)engine->recovered_n) / 8;
    unsigned most = room < LFT_REPORT_WORDS_MAX ? (unsigned)room : LFT_REPORT_WORDS_MAX;
    return words < most ? (unsigned)words : most;
}

static void age_recovered(struct lft_engine *engine)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < engine->recovered_n; i++)
        if (++engine->recovered_age[i] < LFT_REPORT_MEMORY) {
            engine->recovered[kept] = engine->recovered[i];
            engine->recovered_age[kept++] = engine->recovered_age[i];
        }
    engine->recovered_n = (uint8_t)kept;
}

size_t lft_ack_build(struct lft_engine *engine, uint8_t flags, uint64_t now_ns)
{
    uint64_t largest = engine->replay.largest, delay_us = (now_ns - engine->largest_arrival_ns) / 1000;
    struct lft_report report;
    report.largest_counter = largest;
    report.arrival_us = (uint32_t)(engine->largest_arrival_ns / 1000);
    report.delay_us = delay_us < UINT32_MAX ? (uint32_t)delay_us : UINT32_MAX;
    report.received_bytes = engine->counters.rx_wire_bytes;
    report.flags = flags;
    report.words_n = largest ? (uint16_t)words_wanted(engine) : 0;
    report.recovered_n = engine->recovered_n;
    for (unsigned i = 0; i < report.words_n; i++)
        report.words[i] = largest > 64 * i ? lft_replay_word(&engine->replay, largest - 64 * i) : 0;
    memcpy(report.recovered, engine->recovered, engine->recovered_n * sizeof report.recovered[0]);
    age_recovered(engine);
    if (engine->ack_pending) {
        engine->reported[engine->reported_next] = largest;
        engine->reported_next = (engine->reported_next + 1) % LFT_REPORT_MEMORY;
    }
    return lft_report_put(engine->scratch, sizeof engine->scratch, &report);
}

/* The peer has this number, so its buffer is free. */
static void acknowledged(struct lft_engine *engine, uint64_t number)
{
    if (!lft_outstanding(engine, number))
        return;
    struct lft_tx_slot *slot = lft_slot(engine, number);
    lft_pool_release(engine->tx_pool, slot->buffer);
    slot->buffer = NULL;
    slot->queued = 0;
    engine->outstanding--;
}

static bool take_cumulative(struct lft_engine *engine, uint64_t all_before)
{
    uint64_t base = engine->tx_base;
    for (uint64_t n = base; n < all_before; n++)
        acknowledged(engine, n);
    if (all_before > engine->tx_base)
        engine->tx_base = all_before;
    /* Advances the base over numbers that a bitmap has acknowledged already. */
    while (engine->tx_base < engine->tx_next && !lft_slot(engine, engine->tx_base)->buffer)
        engine->tx_base++;
    return engine->tx_base > base;
}

static void arrived(struct lft_engine *engine, uint64_t counter)
{
    struct lft_transmission *sent = lft_history(engine, counter);
    if (sent->fate == LFT_FATE_ARRIVED)
        return;
    if (sent->fate ==
        LFT_FATE_LOST) { /* the frame was late, not lost: allow more reordering from now on, up to half a round trip */
        uint64_t late = lft_history(engine, engine->tx_largest_seen)->sent_ns - sent->sent_ns;
        uint64_t wanted = late + late / 4, most = engine->rtt.srtt_ns / 2;
        if (wanted > engine->reorder_ns)
            engine->reorder_ns = wanted < most ? wanted : most;
        engine->counters.spurious++;
    }
    sent->fate = LFT_FATE_ARRIVED;
    if (sent->number != UINT64_MAX)
        acknowledged(engine, sent->number);
}

static void take_bitmap(struct lft_engine *engine, const struct lft_report *report)
{
    uint64_t oldest = engine->tx_counter >= engine->history_size ? engine->tx_counter - engine->history_size + 1 : 1;
    arrived(engine, report->largest_counter);
    for (unsigned i = 0; i < report->words_n; i++)
        for (uint64_t word = report->words[i]; word;) {
            unsigned bit = (unsigned)__builtin_clzll(word);
            word &= ~(UINT64_C(1) << (63 - bit));
            uint64_t back = 1 + 64 * (uint64_t)i + bit;
            if (back + oldest > report->largest_counter)
                return;
            arrived(engine, report->largest_counter - back);
        }
}

/* A false report harms only the peer that sends it, but it must not lead to accesses outside our memory. */
static bool plausible(const struct lft_engine *engine, const struct lft_report *report, uint64_t cumulative)
{
    return report->largest_counter <= engine->tx_counter && cumulative <= engine->tx_next &&
           engine->tx_counter - report->largest_counter < engine->history_size;
}

static void report_rate(struct lft_engine *engine, const struct lft_report *report, uint64_t now_ns)
{
    const struct lft_transmission *sent = lft_history(engine, report->largest_counter);
    struct lft_rate_round round = {.now_ns = now_ns,
                                   .srtt_ns = engine->rtt.srtt_ns,
                                   .queue_ns = engine->rtt.queue_ns,
                                   .sent_ns = sent->sent_ns,
                                   .sent_bytes = sent->sent_bytes,
                                   .arrival_us = report->arrival_us,
                                   .arrived_bytes = report->received_bytes,
                                   .resolved = engine->tx_resolved,
                                   .lost = engine->counters.declared_lost};
    if (engine->config.rate_mode != LFT_RATE_AUTO)
        return;
    struct lft_train_result train;
    bool changed = lft_train_report(&engine->train, report, sent->sent_ns, sent->sent_bytes, &train) &&
                   lft_rate_auto_train(&engine->rate, &train);
    changed |= lft_rate_auto_report(&engine->rate, &round);
    if (engine->rate.base_rise_ns)
        lft_round_trip_raise_base(&engine->rtt, engine->rate.base_rise_ns, now_ns);
    if (changed && !engine->train.left)
        lft_shaper_set(&engine->shaper, engine->rate.rate_bps, lft_frame_bytes(engine), now_ns);
}

void lft_ack_take(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns)
{
    struct lft_report report;
    if (lft_report_get(frame->payload, frame->payload + frame->length, &report) < 0) {
        engine->counters.rx_malformed++;
        return;
    }
    uint64_t cumulative = lft_number_unwrap(frame->number, engine->tx_base);
    if (!plausible(engine, &report, cumulative)) {
        engine->counters.rx_bad_ack++;
        return;
    }
    uint64_t before = engine->outstanding;
    bool moved = take_cumulative(engine, cumulative);
    bool newest = report.largest_counter > engine->tx_largest_seen;
    if (newest) {
        engine->tx_largest_seen = report.largest_counter;
        lft_round_trip_sample(engine, &report, now_ns);
        if (engine->source.round_trip)
            engine->source.round_trip(engine->source.user, engine->rtt.srtt_ns);
    }
    if (engine->recovery->reads_bitmap && report.largest_counter) {
        for (unsigned i = 0; i < report.recovered_n; i++)
            acknowledged(engine, lft_number_unwrap(report.recovered[i], engine->tx_base));
        take_bitmap(engine, &report);
        moved |= take_cumulative(engine, engine->tx_base);
    }
    lft_loss_resolve(engine);
    if (moved || engine->outstanding < before) {
        engine->progress_ns = now_ns;
        engine->backoff = 0;
    }
    if (report.flags & LFT_REPORT_ASK)
        engine->ack_at_ns = now_ns;
    if (newest)
        report_rate(engine, &report, now_ns);
}
