/* Rate mode `auto` sets the rate by what the two ends exchange: octets arrived, loss, and the queueing delay, which is
 * the one-way delay minus its minimum. The target for the queue is 5 ms and a sixteenth of the round trip. Once a round
 * trip:
 *
 *   queue above the target, or loss 2 % above the path's usual loss (by more than chance)   7/8 of what arrived
 *   queue below half the target                                                             + 1/16
 *   queue between the two                                                                   no change
 *   at the start, until the first row has applied once                                      x 2
 *
 * A queue that stays between the two for 8 rounds counts as one above the target.
 *
 * The minimum delay expires. Otherwise a path that has become longer would count as a queue for the rest of the
 * session. A queue of LFT's own shrinks when the rate falls; the length of a path does not. When 8 consecutive rounds
 * each lowered the rate because of a queue, and their minimum delays differ by at most a millisecond and a 64th of the
 * round trip, the path itself must have become longer. The caller then raises its minimum by base_rise_ns, up to the
 * smallest of those delays, and the rate returns to its earlier value. The standing queue of a window-based competitor
 * changes with LFT's share of it, so LFT goes on yielding. When that share is too small to be measured, or while a path
 * goes on growing, the minimum of the last 10 to 20 s decides (round_trip.c).
 * Rejected: a low rate every 10 s to measure the empty path, as BBR does; each decrease empties LFT's own queue.
 *
 * A loss-based TCP at the same bottleneck fills the queue beyond the target, so LFT gives way to it. Loss without
 * delay, as on a satellite link, is not taken for congestion unless it grows with the rate.
 * Rejected: BBR's probing; with one sender a tunnel and a delay signal from both ends the simpler rule is enough. */
#ifndef LFT_RATE_AUTO_H
#define LFT_RATE_AUTO_H

#include <stdbool.h>
#include <stdint.h>

enum { LFT_RATE_AUTO_MIN_BPS = 1000000, LFT_RATE_AUTO_RECENT = 4 };

struct lft_rate_auto {
    uint64_t rate_bps, most_bps; /* most_bps 0: no upper bound */
    uint64_t base_rise_ns;       /* how much longer the path has become according to the last report; 0: not longer */
    bool starting;
    uint64_t round_start_ns, arrived_at_start, sent_at_start, lost_at_start;
    uint64_t queue_peak_ns, queue_least_ns;    /* of this round */
    unsigned between;                          /* rounds since the queue was last below half the target */
    uint64_t recent_bps[LFT_RATE_AUTO_RECENT]; /* the rate in the last rounds */
    unsigned recent_next;
    /* still: consecutive rounds in which a queue lowered the rate and the minimum delay hardly changed. still_least_ns,
     * still_most_ns: smallest and largest minimum delay in these rounds. before_bps: the highest rate before them. */
    unsigned still;
    uint64_t still_least_ns, still_most_ns, before_bps;
    /* share of transmissions lost, smoothed over 16 rounds that did not have more loss than usual */
    double usual_loss;
};

/* The measurements available at the time of a report. */
struct lft_rate_round {
    uint64_t now_ns, srtt_ns, queue_ns, arrived_bytes;
    uint64_t sent, lost;    /* sent: transmissions whose fate is known. lost: how many of them are lost */
    bool limited_by_source; /* the line was idle */
};

void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns);
/* Returns true when rate_bps has changed. */
bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round);

#endif
