#include "shaper.h"

#include "nc_range.h"

/* Times have 8 fraction bits: 2^56 ns are two years of uptime. Costs have 24, because an octet at 1 Tbit/s costs
 * 0.008 ns. */
enum { TIME_BITS = 8, COST_BITS = 24 };
/* UNSEEN: the virtual clock misses two frames of a burst, namely the last one allowed and one that waits for its batch.
 * REST_FRAMES: the frames in the batch of one system call. */
enum { UNSEEN = 2, REST_FRAMES = 44 };

static uint64_t cost(const struct lft_shaper *shaper, uint32_t octets)
{
    return (shaper->cost * octets) >> (COST_BITS - TIME_BITS);
}

/* While the virtual clock is ahead of real time, the sender must wait. A higher limit shortens this wait. A lower limit
 * leaves it unchanged; otherwise a short excess over the new limit would cost seconds of silence. */
static void change_rate(struct lft_shaper *shaper, uint64_t rate_bps, uint64_t now_ns)
{
    uint64_t now = now_ns << TIME_BITS;
    if (!shaper->rate_bps)
        shaper->at = now;
    else if (rate_bps > shaper->rate_bps && shaper->at > now)
        shaper->at = now + (uint64_t)((double)(shaper->at - now) * (double)shaper->rate_bps / (double)rate_bps);
    shaper->rate_bps = rate_bps;
}

void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    change_rate(shaper, rate_bps, now_ns);
    if (!rate_bps)
        return;
    /* Rounded up, so that the rate is never above the limit. */
    shaper->cost = (uint64_t)(8e9 * (double)(1 << COST_BITS) / (double)rate_bps) + 1;
    uint64_t frame = cost(shaper, frame_bytes) + 1;
    uint64_t span = nc_max(shaper->burst_ns << TIME_BITS, LFT_SHAPER_FRAMES_LEAST * frame) - UNSEEN * frame;
    shaper->depth = nc_min(span, (LFT_SHAPER_FRAMES - 1) * frame);
    shaper->late = span - shaper->depth;
}

void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint64_t burst_ns, uint32_t frame_bytes,
                     uint64_t now_ns)
{
    *shaper = (struct lft_shaper){.burst_ns = burst_ns ? burst_ns : LFT_SHAPER_BURST_NS};
    lft_shaper_set(shaper, rate_bps, frame_bytes, now_ns);
}

uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper)
{
    if (!shaper->rate_bps || shaper->at <= shaper->depth)
        return 0;
    return (shaper->at - shaper->depth + (1 << TIME_BITS) - 1) >> TIME_BITS;
}

bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns)
{
    return now_ns >= lft_shaper_next_ns(shaper);
}

uint64_t lft_shaper_rest_ns(const struct lft_shaper *shaper)
{
    if (!shaper->rate_bps)
        return 0;
    uint64_t short_burst = shaper->depth * REST_FRAMES / (LFT_SHAPER_FRAMES - 1);
    return nc_min(short_burst, (shaper->depth + shaper->late) / 2) >> TIME_BITS;
}

static uint64_t behind_at_most(const struct lft_shaper *shaper, uint64_t now_ns)
{
    uint64_t now = now_ns << TIME_BITS;
    return now > shaper->late ? now - shaper->late : 0;
}

void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns)
{
    if (!shaper->rate_bps)
        return;
    uint64_t takes = cost(shaper, wire_bytes) + 1;
    shaper->at = nc_max(shaper->at, shaper->idle ? now_ns << TIME_BITS : behind_at_most(shaper, now_ns)) + takes;
    shaper->idle = false;
    shaper->leaving += takes;
}

void lft_shaper_left(struct lft_shaper *shaper, uint64_t now_ns)
{
    shaper->at = nc_max(shaper->at, behind_at_most(shaper, now_ns) + shaper->leaving);
    shaper->leaving = 0;
}

void lft_shaper_owe(struct lft_shaper *shaper, uint64_t bytes, uint64_t now_ns)
{
    if (shaper->rate_bps)
        shaper->at = nc_max(shaper->at, now_ns << TIME_BITS) + shaper->cost * bytes / (1 << (COST_BITS - TIME_BITS));
}

void lft_shaper_idle(struct lft_shaper *shaper)
{
    shaper->idle = true;
}
