/* `auto`: a rate from what the two ends exchange - arrived octets, loss, one-way delay above its least. Once a round trip:
 *   starting:  × 2 until the queue passes the target or less arrives than was sent (beyond the loss the path had at a low rate), then down to what arrived
 *   queue below half the target:  + 1/16;  up to the target: stays;  above: 7/8 of what arrived
 *   loss 2 % above the path's usual loss, by more than chance: 7/8
 * target = 5 ms + a sixteenth of the round trip. A loss-based TCP at the same bottleneck fills the queue beyond the target and therefore
 * wins: LFT gives way. Loss without delay (the satellite's) is not taken for congestion unless it grows with the rate.
 * Rejected: BBR's probing; with one sender a tunnel and a delay signal from both ends the simpler rule is enough. */
#ifndef LFT_RATE_AUTO_H
#define LFT_RATE_AUTO_H

#include <stdbool.h>
#include <stdint.h>

struct lft_rate_auto {
    uint64_t rate_bps, most_bps; /* most: 0 none */
    bool starting;
    uint64_t round_start_ns, arrived_at_start, sent_at_start, lost_at_start;
    uint64_t queue_peak_ns;
    double usual_loss; /* share lost in rounds without too much of it, smoothed over 16 */
};

struct lft_rate_round { /* at the time of a report */
    uint64_t now_ns, srtt_ns, queue_ns, arrived_bytes;
    uint64_t sent, lost; /* transmissions resolved so far, and of them lost */
    bool limited_by_source; /* the line was idle */
};

enum { LFT_RATE_AUTO_MIN_BPS = 1000000 };
void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns);
/* True: rate_bps changed. */
bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round);

#endif
