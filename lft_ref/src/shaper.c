#include "shaper.h"

#include "nc_clock.h"

/* Times have 8 fraction bits: 2^56 ns are two years of uptime. At 1 Tbit/s an octet costs 0.008 ns, so costs have 24. */
enum { TIME_BITS = 8, COST_BITS = 24 };
#define SHORT_NUMERATOR 1008
#define LONG_DEPTH_NS (10 * NC_NS_PER_MS)

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t cost(uint64_t per_octet, uint32_t octets)
{
    return (per_octet * octets) >> (COST_BITS - TIME_BITS);
}

void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    bool was_limited = shaper->rate_bps;
    shaper->rate_bps = rate_bps;
    if (!rate_bps)
        return;
    shaper->long_cost = (uint64_t)(8e9 * (double)(1 << COST_BITS) / (double)rate_bps);
    shaper->short_cost = (uint64_t)(8e12 * (double)(1 << COST_BITS) / ((double)rate_bps * SHORT_NUMERATOR));
    shaper->short_depth = cost(shaper->short_cost, frame_bytes) * (LFT_SHAPER_FRAMES - 1);
    shaper->long_depth = LONG_DEPTH_NS << TIME_BITS;
    if (!was_limited)
        shaper->short_at = shaper->long_at = now_ns << TIME_BITS;
}

void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    *shaper = (struct lft_shaper){0};
    lft_shaper_set(shaper, rate_bps, frame_bytes, now_ns);
}

uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper)
{
    if (!shaper->rate_bps)
        return 0;
    uint64_t short_ready = shaper->short_at > shaper->short_depth ? shaper->short_at - shaper->short_depth : 0;
    /* The long clock runs up to long_depth behind the time; it may be as far ahead as the short bucket is deep. */
    uint64_t long_ready = shaper->long_at > shaper->short_depth ? shaper->long_at - shaper->short_depth : 0;
    return (later(short_ready, long_ready) + (1 << TIME_BITS) - 1) >> TIME_BITS;
}

bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns)
{
    return now_ns >= lft_shaper_next_ns(shaper);
}

void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns)
{
    if (!shaper->rate_bps)
        return;
    uint64_t now = now_ns << TIME_BITS, oldest = now > shaper->long_depth ? now - shaper->long_depth : 0;
    shaper->short_at = later(shaper->short_at, now) + cost(shaper->short_cost, wire_bytes);
    shaper->long_at = later(shaper->long_at, oldest) + cost(shaper->long_cost, wire_bytes);
}

void lft_shaper_idle(struct lft_shaper *shaper, uint64_t now_ns)
{
    shaper->long_at = later(shaper->long_at, now_ns << TIME_BITS);
}
