#include "rate_auto.h"

#include <math.h>

#include "nc_clock.h"
#include "nc_range.h"

#define START_BPS 10000000
#define ROUND_LEAST_NS (10 * NC_NS_PER_MS)
enum { STILL_ROUNDS = 8, BETWEEN_ROUNDS = 8 };

void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns)
{
    *rate = (struct lft_rate_auto){.rate_bps = START_BPS,
                                   .most_bps = most_bps,
                                   .starting = true,
                                   .round_start_ns = now_ns,
                                   .queue_least_ns = UINT64_MAX};
    if (most_bps && rate->rate_bps > most_bps)
        rate->rate_bps = most_bps;
}

static uint64_t bounded(const struct lft_rate_auto *rate, double bps)
{
    if (bps < LFT_RATE_AUTO_MIN_BPS)
        return LFT_RATE_AUTO_MIN_BPS;
    return rate->most_bps && bps > (double)rate->most_bps ? rate->most_bps : (uint64_t)bps;
}

/* True when the loss exceeds the path's usual share plus 2 % by three standard deviations. The deviations matter
 * because a round may have few packets. */
static bool too_much_loss(struct lft_rate_auto *rate, double sent, double lost)
{
    double expected = sent * (rate->usual_loss + 0.02);
    bool excess = lost > expected + 3 * sqrt(expected) + 2;
    if (!excess && sent > 0)
        rate->usual_loss += (lost / sent - rate->usual_loss) / 16;
    return excess;
}

static uint64_t queue_target_ns(const struct lft_rate_round *round)
{
    return 5 * NC_NS_PER_MS + round->srtt_ns / 16;
}

static bool too_much_queue(struct lft_rate_auto *rate, uint64_t target_ns)
{
    rate->between = rate->queue_peak_ns < target_ns / 2 ? 0 : rate->between + 1;
    return rate->queue_peak_ns > target_ns || rate->between > BETWEEN_ROUNDS;
}

/* Returns the highest rate of the last LFT_RATE_AUTO_RECENT rounds. */
static uint64_t recent_most(struct lft_rate_auto *rate, uint64_t bps)
{
    rate->recent_bps[rate->recent_next] = bps;
    rate->recent_next = (rate->recent_next + 1) % LFT_RATE_AUTO_RECENT;
    for (unsigned i = 0; i < LFT_RATE_AUTO_RECENT; i++)
        bps = nc_max(bps, rate->recent_bps[i]);
    return bps;
}

/* True when the delay has stayed the same for STILL_ROUNDS rounds although the rate fell. `queue`: the queue was above
 * its target in this round. `bps`: the rate at the beginning of the round. */
static bool stands_still(struct lft_rate_auto *rate, const struct lft_rate_round *round, bool queue, uint64_t bps)
{
    uint64_t least_ns = rate->queue_least_ns, slack_ns = NC_NS_PER_MS + round->srtt_ns / 64;
    uint64_t most_bps = recent_most(rate, bps);
    if (!rate->still || least_ns + slack_ns < rate->still_most_ns || least_ns > rate->still_least_ns + slack_ns) {
        rate->still = 0;
        rate->still_least_ns = rate->still_most_ns = least_ns;
        rate->before_bps = most_bps;
    }
    if (!queue || least_ns < queue_target_ns(round) / 4 || rate->rate_bps >= rate->before_bps) {
        rate->still = 0;
        return false;
    }
    rate->still_least_ns = nc_min(rate->still_least_ns, least_ns);
    rate->still_most_ns = nc_max(rate->still_most_ns, least_ns);
    return ++rate->still >= STILL_ROUNDS;
}

static double next_rate(struct lft_rate_auto *rate, const struct lft_rate_round *round, double arrived_bps, bool down)
{
    double now = (double)rate->rate_bps;
    if (down) {
        double base = arrived_bps < now ? arrived_bps : now;
        rate->starting = false;
        return base * 7 / 8;
    }
    if (round->limited_by_source)
        return now;
    if (rate->starting)
        return now * 2;
    return rate->queue_peak_ns < queue_target_ns(round) / 2 ? now * 17 / 16 : now;
}

static void next_round(struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    rate->round_start_ns = round->now_ns;
    rate->arrived_at_start = round->arrived_bytes;
    rate->sent_at_start = round->sent;
    rate->lost_at_start = round->lost;
    rate->queue_peak_ns = 0;
    rate->queue_least_ns = UINT64_MAX;
}

bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    rate->base_rise_ns = 0;
    rate->queue_peak_ns = nc_max(rate->queue_peak_ns, round->queue_ns);
    rate->queue_least_ns = nc_min(rate->queue_least_ns, round->queue_ns);
    uint64_t length_ns = round->srtt_ns > ROUND_LEAST_NS ? round->srtt_ns : ROUND_LEAST_NS;
    if (round->now_ns < rate->round_start_ns + length_ns)
        return false;
    double seconds = (double)(round->now_ns - rate->round_start_ns) / 1e9;
    double arrived_bps = (double)(round->arrived_bytes - rate->arrived_at_start) * 8 / seconds;
    double sent = (double)(round->sent - rate->sent_at_start), lost = (double)(round->lost - rate->lost_at_start);
    bool loss = too_much_loss(rate, sent, lost), queue = too_much_queue(rate, queue_target_ns(round));
    uint64_t before = rate->rate_bps;
    rate->rate_bps = bounded(rate, next_rate(rate, round, arrived_bps, loss || queue));
    if (stands_still(rate, round, queue, before)) {
        rate->base_rise_ns = rate->still_least_ns;
        rate->rate_bps = rate->before_bps;
        rate->still = rate->between = 0;
    }
    next_round(rate, round);
    return rate->rate_bps != before;
}
