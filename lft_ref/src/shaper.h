/* When the next frame may be on the wire. Three limits, all of which must allow it:
 *   long:   a virtual clock (GCRA) at the limit, 16 frames deep, and behind by what the thread was late, 20 ms at most, while there was
 *           something to send; idle time is not saved up
 *   peak:   a clock at twice the limit, 16 frames deep: what is caught up is spread, so that short queues take it. Where most wake-ups
 *           are later than 16 frames at the limit take, it is the smoothed lateness deeper, 1 ms at most, or rate would be lost
 *   window: octets of the last 100.5 ms, in slots of 0.5 ms: 1.009 × limit × 100 ms + 4 frames
 * So no 100 ms carry more than 1.01 × limit + 5 frames, or 16 more when the thread was stopped between the clock and the wire; in the
 * long run the limit passes, a thread that the machine wakes up to 20 ms late still fills the line, and no burst is longer than 16
 * frames as long as it is woken in time for them.
 * Rejected: one bucket 20 frames deep (0.24 ms at 800 Mbit/s): every later wake-up is rate lost for ever. A
 * second bucket at 1.01 × limit in place of the window: wake-ups 1.5 ms late as on a busy machine cost half of the rate. */
#ifndef LFT_SHAPER_H
#define LFT_SHAPER_H

#include <stdbool.h>
#include <stdint.h>

struct lft_bucket { uint64_t at, cost, depth, late; }; /* at: when the frame after the last is due; all 2^-8 ns, cost 2^-24 ns an octet */

enum lft_bucket_kind { LFT_BUCKET_LONG, LFT_BUCKET_PEAK, LFT_BUCKETS };
enum { LFT_SHAPER_SLOTS = 201 };

struct lft_shaper {
    uint64_t rate_bps; /* 0: no limit */
    struct lft_bucket buckets[LFT_BUCKETS];
    uint64_t slot, window_bytes, window_max; /* slot: number of the newest one, its time / 0.5 ms */
    uint32_t slots[LFT_SHAPER_SLOTS];        /* octets */
    uint64_t ready_ns;                       /* by the buckets */
    uint64_t sent_ns, lateness_ns;           /* of the last frame; of first frames after a wait, smoothed over 8 */
    unsigned late_turns;                     /* more than others, lately */
    bool idle;                               /* there was nothing to send when there might have been */
};

enum { LFT_SHAPER_FRAMES = 16 };

/* `frame_bytes`: the largest frame on the wire, for the depth of the buckets. */
void lft_shaper_init(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);
/* A new limit from now on; what was sent before still counts. */
void lft_shaper_set(struct lft_shaper *shaper, uint64_t rate_bps, uint32_t frame_bytes, uint64_t now_ns);
/* True: a frame may be sent now. */
bool lft_shaper_ready(const struct lft_shaper *shaper, uint64_t now_ns);
/* Earliest time at which lft_shaper_ready holds. */
uint64_t lft_shaper_next_ns(const struct lft_shaper *shaper);
/* What 13 frames of the largest size take at the limit: a thread that rests no longer than that under load is in time. 0: no limit. */
uint64_t lft_shaper_rest_ns(const struct lft_shaper *shaper);
/* `wire_bytes` left now, outer headers included. */
void lft_shaper_sent(struct lft_shaper *shaper, uint32_t wire_bytes, uint64_t now_ns);
/* There was nothing to send. */
void lft_shaper_idle(struct lft_shaper *shaper, uint64_t now_ns);

#endif
