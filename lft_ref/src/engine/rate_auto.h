/* Rate mode `auto` sets the rate by what the two ends exchange: octets arrived, loss, and the one-way delay above its
 * least, which is the queue. The target for the queue is 5 ms and a sixteenth of the round trip. Once a round trip:
 *
 *   queue above the target, or loss 2 % above the path's usual loss (by more than chance)   7/8 of what arrived
 *   queue below half the target                                                             + 1/16
 *   queue between the two                                                                   no change
 *   at the start, until the first row has applied once                                      x 2
 *
 * A loss-based TCP at the same bottleneck fills the queue beyond the target, so LFT gives way to it. Loss without
 * delay, as on a satellite link, is not taken for congestion unless it grows with the rate.
 * Rejected: BBR's probing; with one sender a tunnel and a delay signal from both ends the simpler rule is enough. */
#ifndef LFT_RATE_AUTO_H
#define LFT_RATE_AUTO_H

#include <stdbool.h>
#include <stdint.h>

struct lft_rate_auto {
    uint64_t rate_bps, most_bps; /* most_bps 0: no upper bound */
    bool starting;
    uint64_t round_start_ns, arrived_at_start, sent_at_start, lost_at_start;
    uint64_t queue_peak_ns;
    double usual_loss; /* share lost, smoothed over 16 rounds without excess */
};

/* What is known at the time of a report. */
struct lft_rate_round {
    uint64_t now_ns, srtt_ns, queue_ns, arrived_bytes;
    uint64_t sent, lost;    /* transmissions whose fate is known, and those of them that were lost */
    bool limited_by_source; /* the line was idle */
};

enum { LFT_RATE_AUTO_MIN_BPS = 1000000 };
void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns);
/* Returns true when rate_bps has changed. */
bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round);

#endif
