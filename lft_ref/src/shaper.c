#include "shaper.h"

#include "nc_clock.h"

/* Times have 8 fraction bits: 2^56 ns are two years of uptime. At 1 Tbit/s an octet costs 0.008 ns, so costs have 24. */
enum { TIME_BITS = 8, COST_BITS = 24 };
#define SLOT_NS (NC_NS_PER_MS / 2)

static const struct { double rate; uint64_t deeper_ns, late_ns; } kinds[LFT_BUCKETS] = {
    [LFT_BUCKET_LONG] = {1, 0, 20 * NC_NS_PER_MS},
    [LFT_BUCKET_PEAK] = {2, NC_NS_PER_MS, 0},
};

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
    shaper->window_max = rate_bps / 80 * 1009 / 1000 + LFT_SHAPER_FRAMES * (uint64_t)frame_bytes;
    for (unsigned i = 0; rate_bps && i < LFT_BUCKETS; i++) {
        struct lft_bucket *bucket = &shaper->buckets[i];
        bucket->cost = (uint64_t)(8e9 * (double)(1 << COST_BITS) / ((double)rate_bps * kinds[i].rate));
        bucket->depth = cost(bucket->cost, frame_bytes) * (LFT_SHAPER_FRAMES - 1) + (kinds[i].deeper_ns << TIME_BITS);
        bucket->late = kinds[i].late_ns << TIME_BITS;
        if (!was_limited)
            bucket->at = now_ns << TIME_BITS;
    }
}

void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    *shaper = (struct lft_shaper){.slot = now_ns / SLOT_NS};
    lft_shaper_set(shaper, rate_bps, frame_bytes, now_ns);
}

/* When so much of the window is over that there is room in it. */
static uint64_t window_ready_ns(const struct lft_shaper *shaper)
{
    uint64_t octets = shaper->window_bytes, slot = shaper->slot;
    if (octets < shaper->window_max)
        return 0;
    while (octets >= shaper->window_max && slot < shaper->slot + LFT_SHAPER_SLOTS)
        octets -= shaper->slots[++slot % LFT_SHAPER_SLOTS];
    return slot * SLOT_NS;
}

uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper)
{
    uint64_t ready = 0;
    if (!shaper->rate_bps)
        return 0;
    for (unsigned i = 0; i < LFT_BUCKETS; i++) {
        const struct lft_bucket *bucket = &shaper->buckets[i];
        ready = later(ready, bucket->at > bucket->depth ? bucket->at - bucket->depth : 0);
    }
    return later((ready + (1 << TIME_BITS) - 1) >> TIME_BITS, window_ready_ns(shaper));
}

bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns)
{
    return now_ns >= lft_shaper_next_ns(shaper);
}

static void advance(struct lft_shaper *shaper, uint64_t slot)
{
    if (slot >= shaper->slot + LFT_SHAPER_SLOTS)
        shaper->slot = slot - LFT_SHAPER_SLOTS;
    while (shaper->slot < slot) {
        uint32_t *oldest = &shaper->slots[++shaper->slot % LFT_SHAPER_SLOTS];
        shaper->window_bytes -= *oldest;
        *oldest = 0;
    }
}

void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns)
{
    uint64_t now = now_ns << TIME_BITS;
    if (!shaper->rate_bps)
        return;
    for (unsigned i = 0; i < LFT_BUCKETS; i++) {
        struct lft_bucket *bucket = &shaper->buckets[i];
        bucket->at = later(bucket->at, now > bucket->late ? now - bucket->late : 0) + cost(bucket->cost, wire_bytes);
    }
    advance(shaper, now_ns / SLOT_NS);
    shaper->slots[shaper->slot % LFT_SHAPER_SLOTS] += wire_bytes;
    shaper->window_bytes += wire_bytes;
}

void lft_shaper_idle(struct lft_shaper *shaper, uint64_t now_ns)
{
    struct lft_bucket *bucket = &shaper->buckets[LFT_BUCKET_LONG];
    bucket->at = later(bucket->at, now_ns << TIME_BITS);
}
