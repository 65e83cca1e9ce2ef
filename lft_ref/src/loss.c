/* What the reports tell: round trip, queueing delay, and which transmissions are lost. A transmission is lost when one sent reorder_ns and
 * three counters later has arrived. Because counters are of transmissions, a lost retransmission is found in the same way and as
 * fast as a lost first one. */
#include "engine_internal.h"
#include "nc_clock.h"

enum { REORDER_COUNTERS = 3, CODED_COUNTERS = LFT_FEC_WINDOW_MAX + 32 };
#define OWD_TURN_NS (30 * NC_NS_PER_S)

uint64_t lft_timeout_ns(const struct lft_engine *engine)
{
    uint64_t margin = 4 * engine->rtt.rttvar_ns, least = engine->rtt.srtt_ns / 16 + NC_NS_PER_MS;
    return engine->rtt.srtt_ns + (margin > least ? margin : least) + 3 * lft_ack_interval(engine) + engine->reorder_ns;
}

static void sample_one_way(struct lft_round_trip *rtt, const struct lft_report *report, uint64_t sent_ns, uint64_t now_ns)
{
    int64_t owd_us = (int32_t)(report->arrival_us - (uint32_t)(sent_ns / 1000));
    if (!rtt->owd_turn_ns || now_ns - rtt->owd_turn_ns > OWD_TURN_NS) {
        rtt->owd_min_us[1] = rtt->owd_turn_ns ? rtt->owd_min_us[0] : owd_us;
        rtt->owd_min_us[0] = owd_us;
        rtt->owd_turn_ns = now_ns;
    }
    if (owd_us < rtt->owd_min_us[0])
        rtt->owd_min_us[0] = owd_us;
    int64_t least = rtt->owd_min_us[0] < rtt->owd_min_us[1] ? rtt->owd_min_us[0] : rtt->owd_min_us[1];
    rtt->queue_ns = (uint64_t)(owd_us - least) * 1000;
}

void lft_round_trip_sample(struct lft_engine *engine, const struct lft_report *report, uint64_t now_ns)
{
    struct lft_round_trip *rtt = &engine->rtt;
    uint64_t sent_ns = lft_history(engine, report->largest_counter)->sent_ns;
    sample_one_way(rtt, report, sent_ns, now_ns);
    uint64_t whole = now_ns - sent_ns, delay = (uint64_t)report->delay_us * 1000;
    if (delay > whole)
        return;
    uint64_t sample = whole - delay;
    if (!rtt->min_ns) {
        *rtt = (struct lft_round_trip){.srtt_ns = sample, .rttvar_ns = sample / 4, .min_ns = sample, .owd_turn_ns = rtt->owd_turn_ns,
                                       .owd_min_us = {rtt->owd_min_us[0], rtt->owd_min_us[1]}};
        return;
    }
    uint64_t off = sample > rtt->srtt_ns ? sample - rtt->srtt_ns : rtt->srtt_ns - sample;
    rtt->rttvar_ns = (3 * rtt->rttvar_ns + off) / 4;
    rtt->srtt_ns = (7 * rtt->srtt_ns + sample) / 8;
    if (sample < rtt->min_ns)
        rtt->min_ns = sample;
}

static void count(struct lft_engine *engine, bool lost)
{
    engine->loss_ppb = engine->loss_ppb - engine->loss_ppb / 1024 + (lost ? 1000000000 / 1024 : 0);
}

static void lose(struct lft_engine *engine, uint64_t counter)
{
    struct lft_transmission *sent = lft_history(engine, counter);
    sent->fate = LFT_FATE_LOST;
    engine->counters.declared_lost++;
    if (sent->number == UINT64_MAX || !lft_outstanding(engine, sent->number))
        return;
    if (lft_slot(engine, sent->number)->last_counter == counter && engine->recovery->lost)
        engine->recovery->lost(engine, sent->number);
}

void lft_loss_resolve(struct lft_engine *engine)
{
    if (!engine->recovery->reads_bitmap) {
        engine->tx_resolved = engine->tx_largest_seen;
        return;
    }
    uint64_t margin = engine->recovery->coded ? CODED_COUNTERS : REORDER_COUNTERS;
    uint64_t largest_sent_ns = lft_history(engine, engine->tx_largest_seen)->sent_ns;
    uint64_t oldest = engine->tx_counter >= engine->history_size ? engine->tx_counter - engine->history_size + 1 : 1;
    if (engine->tx_resolved + 1 < oldest)
        engine->tx_resolved = oldest - 1;
    while (engine->tx_resolved < engine->tx_largest_seen) {
        uint64_t counter = engine->tx_resolved + 1;
        const struct lft_transmission *sent = lft_history(engine, counter);
        if (sent->fate == LFT_FATE_OPEN) {
            if (counter + margin > engine->tx_largest_seen || sent->sent_ns + engine->reorder_ns > largest_sent_ns)
                return;
            lose(engine, counter);
        }
        count(engine, sent->fate == LFT_FATE_LOST);
        engine->tx_resolved = counter;
    }
}
