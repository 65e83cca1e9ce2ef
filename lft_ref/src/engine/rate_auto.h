/* Rate mode `auto` sets the rate by what the two ends exchange: octets sent and arrived, loss, the queueing delay (the
 * one-way delay minus its minimum), and the capacity of the bottleneck, which trains of frames measure (train.h).
 *
 * While a queue stands, the bottleneck sends at its capacity C, and everybody's octets share C in proportion to what
 * enters: arrived / sent = C / (sent + others). So one round trip shows `others`, the rate at which all others send
 * into the bottleneck. The target for the mean queue is 5 ms and a sixteenth of the round trip. Once a round trip:
 *
 *   queue above the target, or unusual loss with a queue   15/16 of (C - others), but at least C / 2
 *   a queue all the time, below the target                 C - others, but at least C / 2
 *   unusual loss without a queue, as of a policer          7/8 of what arrived
 *   queue below half the target                            x 5/4 up to 29/32 of C, then x 33/32, above C x 65/64;
 *                                                          x 33/32 from C / 2 on while others use the line
 *   otherwise                                              no change
 *   at the start, until 7/8 of C is reached                x 2, and C / 2 as soon as C is known
 *
 * A queue that stays between half the target and the target for 8 rounds counts as above it. Loss is unusual when it is
 * 2 % above the path's usual loss, by more than chance. The usual loss is taken out of `arrived`.
 * So LFT takes what is free, gives way to others up to half of the line, and keeps that half against a flow that would
 * take all, whatever the control of that flow. Where C / 2 does not fit, because several tunnels keep their half, more
 * than a tenth of what is sent is lost; after 16 such rounds LFT keeps only what arrived.
 * Rejected: to give way until the queue is short. CUBIC fills the queue again, and LFT kept 10 % of the line.
 * Rejected: the rules of the other flow (loss for CUBIC, the largest rate for BBR). LFT does not know which flow it
 * meets, and CUBIC keeps 7 % of the line against BBR.
 *
 * The minimum delay expires after 10 to 20 s (round_trip.c), but not while others use the line, because their queue
 * hides the empty path. A path that has become longer looks like a queue that no rate shortens. When the queue has had
 * the same length for 8 rounds, LFT sends a quarter more for a round: on a longer path all of it arrives and the delay
 * stays. Then the caller raises its minimum by base_rise_ns, and the rate returns to its earlier value.
 * Rejected: a low rate every 10 s to measure the empty path, as BBR does; a lower rate empties LFT's own queue.
 *
 * A train that may leave no faster than the limit is mixed with the frames of others: it leaves the bottleneck at
 * C x train / (train + others). Together with the last round, sent at another rate, that gives C.
 *
 * Nothing is decided from a round in which nothing was sent or nothing arrived for 20 ms and a quarter of a round trip:
 * after an outage the rate is as before. */
#ifndef LFT_RATE_AUTO_H
#define LFT_RATE_AUTO_H

#include <stdbool.h>
#include <stdint.h>

#include "train.h"

enum { LFT_RATE_AUTO_MIN_BPS = 1000000, LFT_RATE_AUTO_RECENT = 4, LFT_RATE_AUTO_TRAINS = 4 };

/* What is known at the time of a report about the transmission with the largest counter that has arrived. */
struct lft_rate_round {
    uint64_t now_ns, srtt_ns, queue_ns;
    uint64_t sent_ns, sent_bytes; /* when it was sent, and the octets sent up to then */
    uint32_t arrival_us;          /* when it arrived, by the receiver's clock, modulo 2^32 */
    uint64_t arrived_bytes;       /* octets that had arrived by then */
    uint64_t resolved, lost;      /* resolved: transmissions whose fate is known. lost: how many of them are lost */
};

struct lft_rate_auto {
    uint64_t rate_bps, most_bps; /* most_bps 0: no upper bound */
    uint64_t base_rise_ns;       /* how much longer the path has become according to the last report; 0: not longer */
    bool starting;
    struct lft_rate_round start, last; /* the reports at the beginning of this round, and before this one */
    uint64_t queue_least_ns, queue_sum_ns, reports; /* of this round */
    uint64_t queue_most_ns;                         /* the longest queue; it shrinks by a 64th a round */
    unsigned between;                               /* rounds since the queue was last below half the target */
    unsigned crowded;                               /* consecutive rounds in which less than nine tenths arrived */
    uint64_t keep_bps;                         /* what several others leave; 0: half of the capacity is free for us */
    uint64_t trains_bps[LFT_RATE_AUTO_TRAINS]; /* capacity by the last trains; 0: no train yet */
    unsigned trains_next, trains_soon;         /* trains_soon: how many trains to send, one in two rounds */
    double busy_sent_bps, busy_arrived_bps;    /* of the last round if the line was busy in it, else 0 */
    unsigned rounds;                           /* since the last train */
    uint64_t train_ns;                         /* when that left */
    unsigned train_frames_most;                /* so many frames fit into the queue */
    bool train_cut, train_open;                /* a train has lost frames; the last one has no result yet */
    unsigned alone;                            /* rounds since others took a part of the line */
    uint64_t recent_bps[LFT_RATE_AUTO_RECENT]; /* the rate in the last rounds */
    unsigned recent_next;
    /* still: consecutive rounds with a queue above its target whose least delay hardly changed; below 0: rounds until
     * the next look. still_least_ns, still_most_ns: the smallest and the largest least delay in these rounds.
     * before_bps: the highest rate before them. */
    int still;
    uint64_t still_least_ns, still_most_ns, before_bps;
    unsigned probe_left; /* rounds left to see whether more arrives when more is sent */
    uint64_t probe_from_bps;
    /* share of transmissions lost, smoothed over 16 rounds that did not have more loss than usual */
    double usual_loss;
    bool first_loss; /* usual_loss is not known yet */
};

void lft_rate_auto_init(struct lft_rate_auto *rate, uint64_t most_bps, uint64_t now_ns);
/* Returns true when rate_bps has changed. */
bool lft_rate_auto_report(struct lft_rate_auto *rate, const struct lft_rate_round *round);
/* Takes the capacity that a train has measured. Returns true when rate_bps has changed. */
bool lft_rate_auto_train(struct lft_rate_auto *rate, const struct lft_train_result *train);
/* True once when a train is due; it is then taken for sent. */
bool lft_rate_auto_train_due(struct lft_rate_auto *rate);
/* True while others use a part of the line. Their queue hides the empty path, so the minimum delay must not expire. */
bool lft_rate_auto_shares(const struct lft_rate_auto *rate);
/* True when the queue is full: much of what was sent in the last rounds was lost. */
bool lft_rate_auto_full(const struct lft_rate_auto *rate);
/* How many frames of `frame_bytes` a train has: 2 ms of the line or 16, at most 10 ms of the rate, 4 to 128. */
unsigned lft_rate_auto_train_frames(const struct lft_rate_auto *rate, uint32_t frame_bytes);

#endif
