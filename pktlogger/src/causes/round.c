/* Implements round.h. The rules are in FORMAT.md section 4, "Limits". */
#include "round.h"
#include "thresholds.h"

#define NS_PER_S 1e9

static bool grown(const struct pl_rounds *rounds, const struct pl_round *round)
{
    return (rounds->last_flight > 0 || !rounds->middle) &&
           (double)round->flight >= PL_ROUND_GROWTH * (double)rounds->last_flight &&
           round->flight >= rounds->last_flight + PL_GROWN_SEGMENTS * (uint64_t)rounds->mss;
}

/* True when the flight size has been constant for several rounds, including this one. */
static bool steady(struct pl_rounds *rounds, const struct pl_round *round)
{
    uint64_t low = rounds->steady_flight < round->flight ? rounds->steady_flight : round->flight;
    uint64_t high = rounds->steady_flight < round->flight ? round->flight : rounds->steady_flight;
    if (high - low > rounds->mss || rounds->steady_n == 0 || round->paused) {
        rounds->steady_flight = round->flight;
        rounds->steady_n = 0;
    }
    return ++rounds->steady_n >= PL_STEADY_ROUNDS;
}

/* True when the data sent kept the bottleneck busy all the time. */
static bool busy(const struct pl_round *round)
{
    return round->work_ns > 0 && round->work_ns >= PL_ROUND_BUSY * (double)(round->t1_ns - round->t0_ns);
}

/* True when this sender's data keep the bottleneck busy for only a small part of the time. Then any queue must be other
 * traffic's. */
static bool light(const struct pl_round *round)
{
    return round->work_ns > 0 && round->work_ns < PL_ROUND_LIGHT * (double)(round->t1_ns - round->t0_ns);
}

/* True when acknowledgements triggered most packets, as when a window or a buffer is full. */
static bool set_off(const struct pl_round *round)
{
    return round->clocked >= PL_ROUND_CLOCKED * round->bytes;
}

static bool paced(const struct pl_round *round, bool still)
{
    if (round->gaps < PL_ROUND_PACED || round->time_ns <= 0 || round->unpaced || round->spent)
        return false;
    double uneven = round->unevenness * round->bytes / (round->time_ns * round->time_ns);
    return (uneven < PL_ROUND_EVEN && !set_off(round)) || (still && uneven < PL_ROUND_VERY_EVEN);
}

/* True when the program's own rate limit, and not the path, set the pace. A few packets are enough as evidence, because
 * the kernel waits after each packet as the rate requires. */
bool pl_at_pace(double bytes, double time_ns, uint64_t pace_bytes_per_s)
{
    return time_ns > 0 && pace_bytes_per_s && bytes * NS_PER_S >= PL_AT_PACE * (double)pace_bytes_per_s * time_ns;
}

static bool at_pace(const struct pl_round *round)
{
    return round->program_holds ||
           (!round->filled && pl_at_pace(round->bytes, round->time_ns, round->pace_bytes_per_s));
}

/* True when few packets left, and no two at the same time: the program wrote them one by one. */
static bool few_by_themselves(const struct pl_round *round)
{
    return round->may_starve && round->packets < PL_ROUND_PACED && !set_off(round) && !round->shut && !round->blind;
}

/* True when the flight was less than a segment: the congestion window and the line had room. */
static bool little(const struct pl_rounds *rounds, const struct pl_round *round)
{
    return round->flight && round->flight < rounds->mss && !round->blind;
}

/* True when the program had written all its data. */
static bool given_no_more(const struct pl_rounds *rounds, const struct pl_round *round)
{
    return round->idle || little(rounds, round);
}

/* True when the rate that congestion control sets, as BBR does, held data back, or equals the rate at which data were
 * sent. BBR changes its rate within a round. The kernel sets a pacing rate for all senders; for a window-based control
 * it exceeds what the window sends in a round. */
static bool at_kernel_pace(const struct pl_round *round)
{
    if (round->rate_holds)
        return true;
    double bytes = round->bytes * NS_PER_S, paced = (double)round->kernel_pace_bytes_per_s * round->time_ns;
    return paced > 0 && bytes >= PL_AT_PACE * paced && bytes <= PL_PAST_PACE * paced;
}

/* True when every packet met a queue, the line was busy, and the flight was at least a segment. */
static bool standing(const struct pl_rounds *rounds, const struct pl_round *round)
{
    return round->queue_ns >= rounds->standing_ns && !round->line_idle && !little(rounds, round);
}

bool pl_round_may_be(const struct pl_round *round, enum pl_limit_cause cause)
{
    if (cause == PL_LIMIT_RECEIVER_WINDOW)
        return round->shut;
    if (cause == PL_LIMIT_APPLICATION)
        return !round->unsent;
    return cause != PL_LIMIT_SEND_BUFFER || (set_off(round) && !(round->unheld || round->shut || round->blind));
}

/* True when a gateway sent less because no more data had come to it. Otherwise its congestion window, not reduced,
 * would have grown. */
static bool not_fed(const struct pl_rounds *rounds)
{
    return rounds->passes_on && !rounds->reduced && !rounds->grew;
}

/* The cause when neither the program's rate, nor the path's, nor slow start shows. For a gateway the pattern of sending
 * misleads: data that reach it at an even rate look paced, and data that reach it a window at a time look as if its
 * send buffer held the rest. */
static enum pl_limit_cause rest(struct pl_rounds *rounds, const struct pl_round *round, bool still)
{
    bool held = still && pl_round_may_be(round, PL_LIMIT_SEND_BUFFER);
    if (held && !rounds->reduced)
        rounds->cap = round->flight;
    if (paced(round, still && !rounds->reduced && !round->blind))
        return rounds->passes_on ? PL_LIMIT_APPLICATION : PL_LIMIT_PACING;
    if (still && !round->rate_holds && pl_round_may_be(round, PL_LIMIT_RECEIVER_WINDOW))
        return PL_LIMIT_RECEIVER_WINDOW;
    if (held && rounds->cap && round->flight + rounds->mss >= rounds->cap)
        return rounds->passes_on ? PL_LIMIT_APPLICATION : PL_LIMIT_SEND_BUFFER;
    if (at_kernel_pace(round))
        return PL_LIMIT_PACING;
    if (round->spent && !round->shut && !round->blind)
        return PL_LIMIT_SEND_BUFFER;
    if (given_no_more(rounds, round) || (still && few_by_themselves(round)) || not_fed(rounds))
        return PL_LIMIT_APPLICATION;
    return pl_round_window(rounds, round->slow);
}

struct pl_judged pl_round_judge(struct pl_rounds *rounds, const struct pl_round *round)
{
    bool still = steady(rounds, round);
    rounds->grew = grown(rounds, round);
    bool slow = rounds->grew && rounds->opening && round->slow != PL_NO && !round->idle && !round->spent;
    rounds->last_flight = round->flight;
    rounds->filled = rounds->filled || standing(rounds, round);
    if (at_pace(round))
        return (struct pl_judged){.cause = PL_LIMIT_PACING};
    if (standing(rounds, round) && !(slow && light(round)))
        return (struct pl_judged){.cause = PL_LIMIT_PATH_RATE};
    if (slow)
        return (struct pl_judged){.cause = PL_LIMIT_SLOW_START};
    if (round->flight >= PL_DATA_SEGMENTS * (uint64_t)rounds->mss && round->slow != PL_YES)
        rounds->opening = false;
    if (rounds->filled && busy(round) && !round->line_idle && !round->idle)
        return (struct pl_judged){.cause = PL_LIMIT_PATH_RATE};
    enum pl_limit_cause cause = rest(rounds, round, still);
    bool left = cause == pl_round_window(rounds, round->slow);
    return (struct pl_judged){.cause = cause, .left = left, .relabel = still && !left};
}

enum pl_limit_cause pl_round_carry(const struct pl_rounds *rounds, const struct pl_round *round,
                                   enum pl_limit_cause before)
{
    enum pl_limit_cause window = pl_round_window(rounds, round->slow);
    if (at_pace(round))
        return PL_LIMIT_PACING;
    if (standing(rounds, round) && (before != PL_LIMIT_SLOW_START || round->slow == PL_NO))
        return PL_LIMIT_PATH_RATE;
    if (before != PL_LIMIT_PACING && given_no_more(rounds, round))
        return PL_LIMIT_APPLICATION;
    switch (before) {
    case PL_LIMIT_APPLICATION:
        return not_fed(rounds) ? before : window;
    case PL_LIMIT_SLOW_START:
        return round->slow == PL_NO ? window : before;
    case PL_LIMIT_CONGESTION_AVOIDANCE:
    case PL_LIMIT_ECN:
        return round->slow == PL_YES ? window : before;
    case PL_LIMIT_SEND_BUFFER:
        return round->shut ? PL_LIMIT_RECEIVER_WINDOW : round->unheld ? window : before;
    case PL_LIMIT_PACING:
        return round->unpaced ? window : before;
    case PL_LIMIT_PATH_RATE:
        return round->line_idle ? window : before;
    default:
        return before;
    }
}
