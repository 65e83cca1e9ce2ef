#include "shaper.h"

#include "nc_clock.h"

/* Times have 8 fraction bits: 2^56 ns are two years of uptime. At 1 Tbit/s an octet costs 0.008 ns, so costs have 24. */
enum { TIME_BITS = 8, COST_BITS = 24, LATE_TURNS = 2, WINDOW_FRAMES = 4 };
#define SLOT_NS (NC_NS_PER_MS / 2)
#define DEEPER_MAX_NS NC_NS_PER_MS
#define LATENESS_MAX_NS (NC_NS_PER_MS * 3 / 2) /* that a single wake-up can tell */

static const struct { double rate; uint64_t late_ns; } kinds[LFT_BUCKETS] = {
    [LFT_BUCKET_LONG] = {1, 20 * NC_NS_PER_MS},
    [LFT_BUCKET_PEAK] = {2, 0},
};

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t to_ns(uint64_t time)
{
    return (time + (1 << TIME_BITS) - 1) >> TIME_BITS;
}

static uint64_t cost(uint64_t per_octet, uint32_t octets)
{
    return (per_octet * octets) >> (COST_BITS - TIME_BITS);
}

/* How far a clock may run ahead: the peak's deeper only where the thread cannot be in time for a burst at the limit. */
static uint64_t depth(const struct lft_shaper *shaper, unsigned kind)
{
    uint64_t deeper_ns = shaper->lateness_ns < DEEPER_MAX_NS ? shaper->lateness_ns : DEEPER_MAX_NS;
    bool deeper = kind == LFT_BUCKET_PEAK && shaper->late_turns >= LATE_TURNS;
    return shaper->buckets[kind].depth + (deeper ? deeper_ns << TIME_BITS : 0);
}

static void update_ready(struct lft_shaper *shaper)
{
    uint64_t ready = 0;
    for (unsigned i = 0; i < LFT_BUCKETS; i++) {
        uint64_t at = shaper->buckets[i].at, ahead = depth(shaper, i);
        ready = later(ready, at > ahead ? at - ahead : 0);
    }
    shaper->ready_ns = to_ns(ready);
}

void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns)
{
    bool was_limited = shaper->rate_bps;
    shaper->rate_bps = rate_bps;
    shaper->window_max = rate_bps / 80 * 1009 / 1000 + WINDOW_FRAMES * (uint64_t)frame_bytes;
    for (unsigned i = 0; rate_bps && i < LFT_BUCKETS; i++) {
        struct lft_bucket *bucket = &shaper->buckets[i];
        bucket->cost = (uint64_t)(8e9 * (double)(1 << COST_BITS) / ((double)rate_bps * kinds[i].rate));
        bucket->depth = cost(bucket->cost, frame_bytes) * (LFT_SHAPER_FRAMES - 1);
        bucket->late = kinds[i].late_ns << TIME_BITS;
        if (!was_limited)
            bucket->at = now_ns << TIME_BITS;
    }
    update_ready(shaper);
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
    return shaper->rate_bps ? later(shaper->ready_ns, window_ready_ns(shaper)) : 0;
}

bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns)
{
    return !shaper->rate_bps || (now_ns >= shaper->ready_ns && now_ns >= window_ready_ns(shaper));
}

uint64_t lft_shaper_rest_ns(const struct lft_shaper *shaper)
{
    return shaper->rate_bps ? (shaper->buckets[LFT_BUCKET_LONG].depth >> TIME_BITS) * 13 / (LFT_SHAPER_FRAMES - 1) : 0;
}

/* The first frame after a wait tells how late the thread was woken. */
static void note_lateness(struct lft_shaper *shaper, uint64_t now_ns)
{
    if (now_ns == shaper->sent_ns)
        return;
    shaper->sent_ns = now_ns;
    uint64_t late = now_ns > shaper->ready_ns && !shaper->idle ? now_ns - shaper->ready_ns : 0;
    late = late < LATENESS_MAX_NS ? late : LATENESS_MAX_NS;
    shaper->lateness_ns = (7 * shaper->lateness_ns + late) / 8;
    bool too_late = late << TIME_BITS > shaper->buckets[LFT_BUCKET_LONG].depth;
    if (too_late && shaper->late_turns < 2 * LATE_TURNS)
        shaper->late_turns++;
    else if (!too_late && shaper->late_turns)
        shaper->late_turns--;
    shaper->idle = false;
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
    note_lateness(shaper, now_ns);
    for (unsigned i = 0; i < LFT_BUCKETS; i++) {
        struct lft_bucket *bucket = &shaper->buckets[i];
        bucket->at = later(bucket->at, now > bucket->late ? now - bucket->late : 0) + cost(bucket->cost, wire_bytes);
    }
    advance(shaper, now_ns / SLOT_NS);
    shaper->slots[shaper->slot % LFT_SHAPER_SLOTS] += wire_bytes;
    shaper->window_bytes += wire_bytes;
    update_ready(shaper);
}

void lft_shaper_idle(struct lft_shaper *shaper, uint64_t now_ns)
{
    struct lft_bucket *bucket = &shaper->buckets[LFT_BUCKET_LONG];
    bucket->at = later(bucket->at, now_ns << TIME_BITS);
    shaper->idle = true;
    update_ready(shaper);
}
