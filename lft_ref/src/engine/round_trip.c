/* The times that follow from reports: the round trip, the queueing delay, the acknowledgement delay and the
 * time-out. */
#include "engine_internal.h"
#include "nc_clock.h"
#include "nc_range.h"

#define OWD_TURN_NS (10 * NC_NS_PER_S)

uint64_t lft_ack_interval(const struct lft_engine *engine)
{
    return nc_min(nc_max(engine->rtt.srtt_ns / 32, 100 * NC_NS_PER_US), 4 * NC_NS_PER_MS);
}

uint64_t lft_timeout_ns(const struct lft_engine *engine)
{
    uint64_t margin = nc_max(4 * engine->rtt.rttvar_ns, engine->rtt.srtt_ns / 16 + NC_NS_PER_MS);
    return engine->rtt.srtt_ns + margin + 3 * lft_ack_interval(engine) + engine->reorder_ns;
}

/* `expires`: whether the minimum may grow with time. */
static void sample_one_way(struct lft_round_trip *rtt, const struct lft_report *report, uint64_t sent_ns,
                           uint64_t now_ns, bool expires)
{
    int64_t owd_us = (int32_t)(report->arrival_us - (uint32_t)(sent_ns / 1000));
    if (!rtt->owd_turn_ns || (expires && now_ns - rtt->owd_turn_ns > OWD_TURN_NS)) {
        rtt->owd_min_us[1] = rtt->owd_turn_ns ? rtt->owd_min_us[0] : owd_us;
        rtt->owd_min_us[0] = owd_us;
        rtt->owd_turn_ns = now_ns;
    }
    if (owd_us < rtt->owd_min_us[0])
        rtt->owd_min_us[0] = owd_us;
    int64_t least = rtt->owd_min_us[0] < rtt->owd_min_us[1] ? rtt->owd_min_us[0] : rtt->owd_min_us[1];
    rtt->queue_ns = (uint64_t)(owd_us - least) * 1000;
}

void lft_round_trip_raise_base(struct lft_round_trip *rtt, uint64_t rise_ns, uint64_t now_ns)
{
    int64_t least = rtt->owd_min_us[0] < rtt->owd_min_us[1] ? rtt->owd_min_us[0] : rtt->owd_min_us[1];
    rtt->owd_min_us[0] = rtt->owd_min_us[1] = least + (int64_t)(rise_ns / NC_NS_PER_US);
    rtt->owd_turn_ns = now_ns;
    rtt->queue_ns -= nc_min(rtt->queue_ns, rise_ns);
}

void lft_round_trip_sample(struct lft_engine *engine, const struct lft_report *report, uint64_t now_ns)
{
    struct lft_round_trip *rtt = &engine->rtt;
    uint64_t sent_ns = lft_history(engine, report->largest_counter)->sent_ns;
    bool hidden = engine->config.rate_mode == LFT_RATE_AUTO && lft_rate_auto_shares(&engine->rate);
    sample_one_way(rtt, report, sent_ns, now_ns, !hidden);
    uint64_t whole = now_ns - sent_ns, delay = (uint64_t)report->delay_us * 1000;
    if (delay > whole)
        return;
    uint64_t sample = whole - delay;
    if (!rtt->min_ns) {
        *rtt = (struct lft_round_trip){.srtt_ns = sample,
                                       .rttvar_ns = sample / 4,
                                       .min_ns = sample,
                                       .owd_turn_ns = rtt->owd_turn_ns,
                                       .owd_min_us = {rtt->owd_min_us[0], rtt->owd_min_us[1]}};
        return;
    }
    uint64_t off = sample > rtt->srtt_ns ? sample - rtt->srtt_ns : rtt->srtt_ns - sample;
    rtt->rttvar_ns = (3 * rtt->rttvar_ns + off) / 4;
    rtt->srtt_ns = (7 * rtt->srtt_ns + sample) / 8;
    rtt->min_ns = nc_min(rtt->min_ns, sample);
}
