#include "rate_auto.h"

#include <math.h>

#include "nc_clock.h"
#include "nc_range.h"

#define START_BPS 10000000
#define RATE_MOST_BPS 1e12 /* where there is no limit */
#define ROUND_LEAST_NS (10 * NC_NS_PER_MS)
#define USUAL_LOSS_MOST 0.9
#define FIRST_LOSS_MOST 0.125 /* more is a policer */
enum { FIRST_LOSS_FRAMES = 32 };

/* Trains: their length at the line's rate, and at most at LFT's rate; the least time between two. */
#define TRAIN_S 2e-3
#define TRAIN_MOST_S 10e-3
#define TRAIN_LEAST_NS (250 * NC_NS_PER_MS)
#define UNMIXED 8 /* a train that leaves so many times faster than it arrives is hardly mixed */
enum { TRAIN_FRAMES_LEAST = 4, TRAIN_FRAMES_FIRST = 16, TRAIN_FRAMES_MOST = 128 };
enum { TRAIN_ROUNDS = 16, TRAINS_SOON = 4 };

/* Rounds after which a state counts; rate_auto.h says of what. BBR sends a quarter more in one round of eight, so a
 * line is crowded only after two such cycles. */
enum {
    BETWEEN_ROUNDS = 8,
    STILL_ROUNDS = 8,
    PROBE_ROUNDS = 4, /* a change of the rate shows in the second report after it */
    FULL_ROUNDS = 4,
    CROWDED_ROUNDS = 16,
    ONSET_ROUNDS = 8,
    ALONE_ROUNDS = 64
};

void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns)
{
    *rate = (struct lft_rate_auto){.rate_bps = START_BPS,
                                   .most_bps = most_bps,
                                   .starting = true,
                                   .first_loss = true,
                                   .start.now_ns = now_ns,
                                   .trains_soon = TRAINS_SOON,
                                   .train_frames_most = TRAIN_FRAMES_FIRST,
                                   .alone = ALONE_ROUNDS,
                                   .queue_least_ns = UINT64_MAX};
    if (most_bps && rate->rate_bps > most_bps)
        rate->rate_bps = most_bps;
}

static uint64_t bounded(const struct lft_rate_auto *rate, double bps)
{
    if (bps < LFT_RATE_AUTO_MIN_BPS)
        return LFT_RATE_AUTO_MIN_BPS;
    return (uint64_t)fmin(bps, rate->most_bps ? (double)rate->most_bps : RATE_MOST_BPS);
}

/* --- capacity --- */

/* The second largest of the last trains: frames of others between those of a train lower what it measures, and a
 * receiver that is late raises it. 0: not known. */
static double capacity(const struct lft_rate_auto *rate)
{
    uint64_t first = 0, second = 0;
    for (unsigned i = 0; i < LFT_RATE_AUTO_TRAINS; i++) {
        uint64_t bps = rate->trains_bps[i];
        second = bps > first ? first : nc_max(second, bps);
        first = nc_max(first, bps);
    }
    return (double)(second ? second : first);
}

/* Frames that fit into the queue: doubled until a train has lost some, then one more at a time. */
static void train_fits(struct lft_rate_auto *rate, bool whole)
{
    unsigned most = rate->train_frames_most;
    most = whole ? most + (rate->train_cut ? 1 : most) : most / 2;
    rate->train_cut |= !whole;
    rate->train_frames_most = (unsigned)nc_min(nc_max(most, TRAIN_FRAMES_LEAST), TRAIN_FRAMES_MOST);
    rate->train_open = false;
}

bool lft_rate_auto_train_due(struct lft_rate_auto *rate)
{
    uint64_t now_ns = rate->last.now_ns;
    if (rate->rounds < (rate->trains_soon ? 2 : TRAIN_ROUNDS) ||
        (!rate->trains_soon && now_ns < rate->train_ns + TRAIN_LEAST_NS))
        return false;
    rate->rounds = 0;
    rate->train_ns = now_ns;
    rate->trains_soon -= rate->trains_soon > 0;
    if (rate->train_open) /* its last frame, or the report, is lost */
        train_fits(rate, false);
    rate->train_open = true;
    return true;
}

/* The capacity by a train that has left the bottleneck at `arrived_bps`. Both for the train and for the last round,
 * sent / arrived = (sent + others) / C; so C is the difference of what was sent over the difference of these ratios. */
static double unmixed(const struct lft_rate_auto *rate, const struct lft_train_result *train, double arrived_bps)
{
    double sent_bps = (double)train->sent_bytes * 8e9 / (double)nc_max(train->sent_ns, 1);
    double more_bps = sent_bps - rate->busy_sent_bps;
    if (!rate->busy_sent_bps || sent_bps > UNMIXED * arrived_bps || more_bps < rate->busy_sent_bps / 4)
        return arrived_bps;
    double more = sent_bps / arrived_bps - rate->busy_sent_bps / rate->busy_arrived_bps;
    return fmin(more > 0 ? more_bps / more : 2 * arrived_bps, 2 * arrived_bps);
}

bool lft_rate_auto_train(struct lft_rate_auto *rate, const struct lft_train_result *train)
{
    uint64_t before = rate->rate_bps;
    double share = (double)train->arrived_bytes / (double)train->sent_bytes / (1 - rate->usual_loss);
    train_fits(rate, share > 0.75);
    double arrived_bps = fmin(share, 1) * (double)train->sent_bytes * 8e6 / train->us;
    rate->trains_bps[rate->trains_next++ % LFT_RATE_AUTO_TRAINS] = (uint64_t)unmixed(rate, train, arrived_bps);
    if (rate->starting)
        rate->rate_bps = bounded(rate, fmax((double)before, capacity(rate) / 2));
    return rate->rate_bps != before;
}

unsigned lft_rate_auto_train_frames(const struct lft_rate_auto *rate, uint32_t frame_bytes)
{
    double frames = fmax((double)rate->rate_bps, capacity(rate)) / 8 * TRAIN_S / frame_bytes;
    double most = fmin((double)rate->rate_bps / 8 * TRAIN_MOST_S / frame_bytes, rate->train_frames_most);
    return (unsigned)fmax(fmin(fmax(frames, TRAIN_FRAMES_FIRST), most), TRAIN_FRAMES_LEAST);
}

bool lft_rate_auto_full(const struct lft_rate_auto *rate)
{
    return rate->crowded >= FULL_ROUNDS;
}

/* --- one round --- */

struct shares {
    double sent_bps, arrived_bps; /* of what was sent in this round, and how fast it left the bottleneck */
    bool loss, queue;             /* more loss than usual; a queue above its target */
};

/* True when the loss exceeds the path's usual share plus 2 % by three standard deviations. The deviations matter
 * because a round may have few packets. */
static bool too_much_loss(struct lft_rate_auto *rate, double resolved, double lost)
{
    if (rate->first_loss && resolved >= FIRST_LOSS_FRAMES) {
        rate->first_loss = false;
        rate->usual_loss = fmin(lost / resolved, FIRST_LOSS_MOST);
    }
    double expected = resolved * (rate->usual_loss + 0.02);
    bool excess = lost > expected + 3 * sqrt(expected) + 2;
    if (!excess && resolved > 0)
        rate->usual_loss = fmin(USUAL_LOSS_MOST, rate->usual_loss + (lost / resolved - rate->usual_loss) / 16);
    return excess;
}

/* The mean queue of this round. Rejected: the longest, which on a path with jitter is no queue. */
static uint64_t queue_ns(const struct lft_rate_auto *rate)
{
    return rate->queue_sum_ns / nc_max(rate->reports, 1);
}

static uint64_t queue_target_ns(const struct lft_rate_round *round)
{
    return 5 * NC_NS_PER_MS + round->srtt_ns / 16;
}

static uint64_t frame_ns(const struct lft_rate_auto *rate)
{
    return (uint64_t)(1500 * 8e9 / fmax(capacity(rate), LFT_RATE_AUTO_MIN_BPS));
}

/* A queue that was never shorter in a round has kept the line busy, so nothing of the line was free. */
static uint64_t busy_ns(const struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    return nc_max(nc_max(NC_NS_PER_MS, round->srtt_ns / 32), 2 * frame_ns(rate));
}

static bool too_much_queue(struct lft_rate_auto *rate, uint64_t target_ns)
{
    rate->between = queue_ns(rate) < target_ns / 2 ? 0 : rate->between + 1;
    return queue_ns(rate) > target_ns || rate->between > BETWEEN_ROUNDS;
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

/* A queue that others keep changes by more than this within STILL_ROUNDS rounds. A frame's own time on the line, which
 * a short frame does not have, is no change. */
static uint64_t still_slack_ns(const struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    return NC_NS_PER_MS / 4 + round->srtt_ns / 256 + frame_ns(rate);
}

/* True when a queue has been above its target and of the same length for STILL_ROUNDS rounds. `bps`: the rate at the
 * beginning of the round. */
static bool stands_still(struct lft_rate_auto *rate, const struct lft_rate_round *round, bool queue, uint64_t bps)
{
    uint64_t least_ns = rate->queue_least_ns, slack_ns = still_slack_ns(rate, round);
    uint64_t most_bps = recent_most(rate, bps);
    if (rate->still <= 0 || least_ns + slack_ns < rate->still_most_ns || least_ns > rate->still_least_ns + slack_ns) {
        rate->still = nc_min(rate->still, 0);
        rate->still_least_ns = rate->still_most_ns = least_ns;
        rate->before_bps = most_bps;
    }
    if (rate->still >= 0 && (!queue || least_ns < queue_target_ns(round) / 4)) {
        rate->still = 0;
        return false;
    }
    rate->still_least_ns = nc_min(rate->still_least_ns, least_ns);
    rate->still_most_ns = nc_max(rate->still_most_ns, least_ns);
    return ++rate->still >= STILL_ROUNDS;
}

/* Such a queue is that of a full line, or the path has become longer. A quarter more is sent: on a path that is only
 * longer, all of it arrives. */
static void begin_probe(struct lft_rate_auto *rate)
{
    rate->probe_left = PROBE_ROUNDS;
    rate->probe_from_bps = rate->rate_bps;
    rate->rate_bps = bounded(rate, (double)rate->rate_bps * 5 / 4);
    rate->still = 0;
}

static void go_on_probing(struct lft_rate_auto *rate, const struct lft_rate_round *round, const struct shares *shares)
{
    uint64_t least_ns = rate->queue_least_ns, slack_ns = still_slack_ns(rate, round);
    bool still = least_ns + slack_ns > rate->still_most_ns && least_ns < rate->still_least_ns + slack_ns;
    bool seen = shares->sent_bps > 1.1 * (double)rate->probe_from_bps;
    if (!seen && --rate->probe_left)
        return;
    rate->probe_left = 0;
    if (seen && still && shares->arrived_bps > 0.96 * shares->sent_bps) {
        rate->base_rise_ns = rate->still_least_ns;
        rate->rate_bps = rate->before_bps;
        rate->between = 0;
        rate->queue_most_ns = 0;
    } else {
        rate->rate_bps = rate->probe_from_bps;
        rate->still = -STILL_ROUNDS * 4;
    }
}

/* The part of the capacity that LFT keeps against others: half of it, or what arrived while that did not fit. */
static double kept(struct lft_rate_auto *rate, const struct shares *shares, double capacity_bps)
{
    rate->crowded = shares->arrived_bps < 0.9 * shares->sent_bps ? rate->crowded + 1 : 0;
    if (rate->crowded == FULL_ROUNDS)
        rate->trains_soon = TRAINS_SOON;
    if (rate->crowded >= CROWDED_ROUNDS) {
        rate->keep_bps = (uint64_t)shares->arrived_bps;
        rate->crowded = 0;
    } else if (rate->keep_bps && shares->arrived_bps > 0.95 * shares->sent_bps)
        rate->keep_bps += rate->keep_bps / 32;
    if (rate->keep_bps >= capacity_bps / 2)
        rate->keep_bps = 0;
    return rate->keep_bps ? (double)rate->keep_bps : capacity_bps / 2;
}

/* `part`: of what is free; below 1 for a queue to drain. */
static double fair(struct lft_rate_auto *rate, const struct shares *shares, double part)
{
    double now = (double)rate->rate_bps, capacity_bps = capacity(rate);
    double others_bps = fmax(0, capacity_bps * shares->sent_bps / shares->arrived_bps - shares->sent_bps);
    if (others_bps > capacity_bps / 8) {
        if (rate->alone >= ONSET_ROUNDS) /* somebody else has come, or the line has become slower */
            rate->trains_soon = TRAINS_SOON;
        rate->alone = 0;
    }
    double free_bps = fmin(now, (capacity_bps - others_bps) * part);
    return fmin(now * 5 / 4, fmax(free_bps, kept(rate, shares, capacity_bps)));
}

bool lft_rate_auto_shares(const struct lft_rate_auto *rate)
{
    return rate->alone < ALONE_ROUNDS;
}

static double lower(struct lft_rate_auto *rate, const struct shares *shares)
{
    bool overflow = queue_ns(rate) > NC_NS_PER_MS && queue_ns(rate) > rate->queue_most_ns / 2;
    if (!capacity(rate) || (shares->loss && !shares->queue && !overflow))
        return fmin((double)rate->rate_bps, shares->arrived_bps) * 7 / 8;
    return fair(rate, shares, 15.0 / 16);
}

static double raise(struct lft_rate_auto *rate, const struct shares *shares)
{
    double now = (double)rate->rate_bps, capacity_bps = capacity(rate);
    if (shares->sent_bps < 0.75 * now) /* the source or the processor sets the rate */
        return now;
    rate->starting &= now < capacity_bps * 7 / 8 || !capacity_bps;
    if (rate->starting)
        return capacity_bps ? fmin(now * 2, capacity_bps * 15 / 16) : now * 2;
    if (!capacity_bps)
        return now * 17 / 16;
    bool careful = now >= capacity_bps / 2 && lft_rate_auto_shares(rate);
    return now < capacity_bps * 7 / 8 && !careful ? fmin(now * 5 / 4, capacity_bps * 29 / 32)
           : now < capacity_bps                   ? now * 33 / 32
                                                  : now * 65 / 64;
}

static double next_rate(struct lft_rate_auto *rate, const struct lft_rate_round *round, const struct shares *shares)
{
    if (shares->loss || shares->queue) {
        rate->starting = false;
        return lower(rate, shares);
    }
    if (!rate->starting && capacity(rate) && rate->queue_least_ns > busy_ns(rate, round))
        return fair(rate, shares, 1);
    return queue_ns(rate) < queue_target_ns(round) / 2 ? raise(rate, shares) : (double)rate->rate_bps;
}

static void next_round(struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    rate->start = *round;
    rate->queue_sum_ns = rate->reports = 0;
    rate->queue_least_ns = UINT64_MAX;
    rate->rounds++;
    rate->alone++;
}

/* True when nothing was sent, or nothing arrived, for so long that this round says nothing about the bottleneck: the
 * source was idle, or there was an outage. */
static bool interrupted(const struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    uint64_t most_ns = 20 * NC_NS_PER_MS + round->srtt_ns / 4;
    uint32_t silence_us = round->arrival_us - rate->last.arrival_us;
    return !rate->last.sent_ns || round->sent_ns - rate->last.sent_ns > most_ns || silence_us > most_ns / NC_NS_PER_US;
}

bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round)
{
    rate->base_rise_ns = 0;
    bool interruption = interrupted(rate, round);
    rate->last = *round;
    if (interruption) {
        next_round(rate, round);
        return false;
    }
    rate->reports++;
    rate->queue_sum_ns += round->queue_ns;
    rate->queue_least_ns = nc_min(rate->queue_least_ns, round->queue_ns);
    rate->queue_most_ns = nc_max(rate->queue_most_ns, round->queue_ns);
    const struct lft_rate_round *start = &rate->start;
    uint64_t length_ns = nc_max(round->srtt_ns, ROUND_LEAST_NS);
    uint32_t span_us = round->arrival_us - start->arrival_us;
    if (round->now_ns < start->now_ns + length_ns || round->sent_ns == start->sent_ns || !span_us)
        return false;
    double resolved = (double)(round->resolved - start->resolved), lost = (double)(round->lost - start->lost);
    double arrived_bps = (double)(round->arrived_bytes - start->arrived_bytes) * 8e6 / span_us;
    struct shares shares = {.sent_bps = (double)(round->sent_bytes - start->sent_bytes) * 8e9 /
                                        (double)(round->sent_ns - start->sent_ns),
                            .arrived_bps = arrived_bps / (1 - rate->usual_loss),
                            .loss = too_much_loss(rate, resolved, lost),
                            .queue = too_much_queue(rate, queue_target_ns(round))};
    uint64_t before = rate->rate_bps;
    if (rate->probe_left)
        go_on_probing(rate, round, &shares);
    else {
        rate->rate_bps = bounded(rate, next_rate(rate, round, &shares));
        if (stands_still(rate, round, shares.queue, before))
            begin_probe(rate);
    }
    bool busy = rate->queue_least_ns > busy_ns(rate, round);
    rate->busy_sent_bps = busy ? shares.sent_bps : 0;
    rate->busy_arrived_bps = shares.arrived_bps;
    rate->queue_most_ns -= rate->queue_most_ns / 64;
    next_round(rate, round);
    return rate->rate_bps != before;
}
