/* When the next frame may be on the wire. A virtual clock a bucket (GCRA), so that a late wake-up does not shift what follows:
 *   short bucket: 1.008 × limit, 16 frames deep     - bounds bursts
 *   long bucket:  limit, 10 ms deep, filled only by lateness while there was something to send (idle time is not saved up)
 * A frame may go when both allow it. So in any window of T seconds at most 1.008 × limit × T + 16 frames pass, in the long run
 * the limit, and a thread that the machine wakes up to 10 ms late still fills the line.
 * Rejected: one bucket 20 frames deep (0.24 ms at 800 Mbit/s): every later wake-up is rate lost for ever. */
#ifndef LFT_SHAPER_H
#define LFT_SHAPER_H

#include <stdbool.h>
#include <stdint.h>

struct lft_shaper {
    uint64_t rate_bps;             /* 0: no limit */
    uint64_t short_at, long_at;    /* virtual clocks, units of 2^-8 ns, of the frame after the last */
    uint64_t short_cost, long_cost; /* 2^-24 ns per octet */
    uint64_t short_depth, long_depth;
};

enum { LFT_SHAPER_FRAMES = 16 };

/* `frame_bytes`: the largest frame on the wire, for the depth of the short bucket. */
void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);
/* A new limit from now on; what was sent before still counts. */
void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);
/* True: a frame may be sent now. */
bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns);
/* Earliest time at which lft_shaper_ready holds. */
uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper);
/* `wire_bytes` left now, outer headers included. */
void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns);
/* There was nothing to send. */
void lft_shaper_idle(struct lft_shaper *shaper, uint64_t now_ns);

#endif
