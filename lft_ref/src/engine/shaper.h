/* The shaper decides when the next frame may leave for the wire. Its invariant, measured where frames leave:
 *
 *     in every interval of length T at most rate x T + burst octets,
 *     where burst = max(rate x burst_ns, 8 of the largest frames)
 *
 * One virtual clock (GCRA, ITU-T I.371) advances by each frame's time at the limit. It may be ahead of real time by
 * `depth`, at most 15 frames, and behind it by `late`, the rest of the burst. It falls behind only while frames wait to
 * be sent, so idle time earns no credit. A thread that was stopped for longer than `late` loses the excess. A frame may
 * also reach the wire later than it was allowed, because the thread was stopped in between; lft_shaper_left corrects
 * the clock for that.
 * Rejected: catching up at twice the limit for up to 20 ms, while every 100 ms stay within 1.01 x limit. A thread that
 * is 20 ms late would then lose no rate, but a circuit that drops traffic above the limit would drop the excess. And
 * when the thread was stopped between poll and send, an interval of 100 ms had 133 frames too many. */
#ifndef LFT_SHAPER_H
#define LFT_SHAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_clock.h"

/* the default burst; docs/explanation/lft-recovery.md compares other values */
#define LFT_SHAPER_BURST_NS NC_NS_PER_MS
enum { LFT_SHAPER_FRAMES = 16, LFT_SHAPER_FRAMES_LEAST = 8 };

struct lft_shaper {
    uint64_t rate_bps; /* 0: no limit */
    uint64_t burst_ns;
    /* `at`: when the next frame is due. `at`, `depth` and `late` are in 2^-8 ns, `cost` in 2^-24 ns per octet. */
    uint64_t at, cost, depth, late;
    uint64_t leaving; /* how long the frames that were allowed, but may not have left, take at the limit, in 2^-8 ns */
    bool idle;        /* a frame was allowed and there was none to send */
};

/* `burst_ns` 0 stands for LFT_SHAPER_BURST_NS; `frame_bytes` is the largest frame on the wire. */
void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint64_t burst_ns, uint32_t frame_bytes,
                     uint64_t now_ns);
/* Sets a new limit from now on. Earlier frames still count. */
void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);
/* True when a frame may be sent now. */
bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns);
/* The earliest time at which lft_shaper_ready is true. */
uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper);
/* How long a thread may rest under load: half of the burst, so that the other half remains for late wake-ups, and at
 * most the time of 44 frames, the batch of one system call. 0 without a limit.
 * Rejected: a quarter of the burst and 13 frames. On a machine that wakes threads late it sustains no more of the rate
 * and costs twice as many turns (docs/reference/performance.md). */
uint64_t lft_shaper_rest_ns(const struct lft_shaper *shaper);
/* Counts a frame of `wire_bytes`, outer headers included, as sent at `now_ns`. */
void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns);
/* Reports that all frames counted so far had left by `now_ns`. One frame that still waits for its batch does no harm:
 * the burst leaves room for two frames that the clock does not see. */
void lft_shaper_left(struct lft_shaper *shaper, uint64_t now_ns);
/* Delays the next frame by the time that `bytes` take at the limit. */
void lft_shaper_owe(struct lft_shaper *shaper, uint64_t bytes, uint64_t now_ns);
/* Reports that a frame was allowed and there was none to send. */
void lft_shaper_idle(struct lft_shaper *shaper);

#endif
