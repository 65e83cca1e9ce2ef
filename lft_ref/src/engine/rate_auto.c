#include "rate_auto.h"

#include <math.h>

#include "nc_clock.h"

#define START_BPS 10000000
#define ROUND_LEAST_NS (10 * NC_NS_PER_MS)

void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns)
{
    *rate =
        (struct lft_rate_auto){.rate_bps = START_BPS, .most_bps = most_bps, .starting = true, .round_start_ns = now_ns};
    if (most_bps && rate->rate_bps > most_bps)
        rate->rate_bps = most_bps;
}

static uint64_t bounded(const struct lft_rate_auto *rate, double bps)
{
    if (bps < LFT_RATE_AUTO_MIN_BPS)
        return LFT_RATE_AUTO_MIN_BPS;
    return rate->most_bps && bps > (double)rate->most_bps ? rate->most_bps : (uint64_t)bps;
}

/* True when more was lost than the path's usual share and 2 % explain, by three standard deviations, because a round
 * may have few packets. */
static bool too_much_loss(struct lft_rate_auto *rate, double sent, double lost)
{
    double expected = sent * (rate->usual_loss + 0.02);
    bool excess = lost > expected + 3 * sqrt(expected) + 2;
    if (!excess && sent > 0)
        rate->usual_loss += (lost / sent - rate->usual_loss) / 16;
    return excess;
}

static double next_rate(struct lft_rate_auto *rate, const struct lft_rate_round *round, double arrived_bps, bool loss)
{
    double now = (double)rate->rate_bps;
    uint64_t target_ns = 5 * NC_NS_PER_MS + round->srtt_ns / 16;
    if (rate->queue_peak_ns > target_ns || loss) {
        double base = arrived_bps < now ? arrived_bps : now;
        rate->starting = false;
        return base * 7 / 8;
    }
    if (round->limited_by_source)
        return now;
    if (rate->starting)
        return now * 2;
    return rate->queue_peak_ns < target_ns / 2 ? now * 17 / 16 : now;
}

bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    if (round->queue_ns > rate->queue_peak_ns)
        rate->queue_peak_ns = round->queue_ns;
    uint64_t length_ns = round->srtt_ns > ROUND_LEAST_NS ? round->srtt_ns : ROUND_LEAST_NS;
    if (round->now_ns < rate->round_start_ns + length_ns)
        return false;
    double seconds = (double)(round->now_ns - rate->round_start_ns) / 1e9;
    double arrived_bps = (double)(round->arrived_bytes - rate->arrived_at_start) * 8 / seconds;
    double sent = (double)(round->sent - rate->sent_at_start), lost = (double)(round->lost - rate->lost_at_start);
    bool loss = too_much_loss(rate, sent, lost);
    uint64_t before = rate->rate_bps;
    rate->rate_bps = bounded(rate, next_rate(rate, round, arrived_bps, loss));
    rate->round_start_ns = round->now_ns;
    rate->arrived_at_start = round->arrived_bytes;
    rate->sent_at_start = round->sent;
    rate->lost_at_start = round->lost;
    rate->queue_peak_ns = 0;
    return rate->rate_bps != before;
}
