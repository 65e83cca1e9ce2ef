/* Paces the writes of a stream: a burst at a time, and a sleep between two (--pace-burst), or at a low rate one small
 * write at a time.
 *
 * The kernel's pacing to a given rate sets a timer for each packet of 64 KB. Where a hypervisor makes timers expensive,
 * these timers and the wake-ups at the receiver are a third of the cost of a fast transfer. TCP cannot send data that
 * was not written, so the writes bound the sending rate whatever the congestion window does. A router's queue has to
 * hold at most three bursts beyond the pace. One is written at once, one makes up for a late wake-up or a closed
 * window, and one may wait in the socket (TCP_NOTSENT_LOWAT, sockopt.c).
 * Rejected: the kernel's pacing whenever the window is less than a quarter above what the pace needs. After one
 * loss the window is no larger than that, and does not grow while the pace is the limit, so the timers never
 * ended.
 *
 * The kernel does not pace the first ten segments of a connection, and paces a segment at a time. At 10 kbit/s the
 * former are 12 s of the pace. So where ten segments exceed what the pace sends in RTTCP_AHEAD_NS, the writes are
 * paced: nothing is written before all earlier bytes are due, and a write has what the pace sends in RTTCP_AHEAD_NS.
 * Above that rate the kernel paces, and no more than the same time's bytes wait in the socket (sockopt.c). Either way a
 * transfer ends within about that time of its duration.
 * Invariant: this is a state machine; pace.c looks at the clock and sleeps. */
#ifndef RTTCP_PACER_H
#define RTTCP_PACER_H

#include <stdint.h>

#define RTTCP_AHEAD_NS UINT64_C(100000000)
#define RTTCP_UNPACED_SEGMENTS 10 /* tcp_update_skb_after_send */

struct rttcp_pacer {
    uint64_t bytes_per_s; /* of the stream */
    uint64_t burst_bytes; /* 0: the kernel paces */
    uint64_t ahead_bytes; /* bytes of these that may be written before they are due */
    uint64_t next_ns;     /* when all that was written has been sent at the pace */
};

/* The largest write where the kernel's pacing to `bytes_per_s` is too coarse; 0 where it is not. */
uint64_t rttcp_pacer_small_write(uint64_t bytes_per_s, uint64_t mss);

/* What the pace sends in RTTCP_AHEAD_NS; at least 1. */
uint64_t rttcp_pacer_ahead(uint64_t bytes_per_s);

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t now_ns);

/* Takes in a write. Returns the time until which to sleep, or 0. */
uint64_t rttcp_pacer_wrote(struct rttcp_pacer *pacer, uint64_t bytes, uint64_t now_ns);

#endif
