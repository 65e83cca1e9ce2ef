/* Paces the writes of a stream: bursts with sleeps between them (--pace-burst), or at a low rate small writes.
 *
 * The kernel's pacing to a given rate sets a timer for each super-packet of 64 KB. When a hypervisor makes timers
 * expensive, these timers and the wake-ups at the receiver are a third of the cost of a fast transfer. TCP cannot send
 * data that was not written, so the writes bound the sending rate whatever the congestion window does. Traffic exceeds
 * the pace by at most three bursts, which a router's queue must hold: one is written at once, one makes up for a late
 * wake-up or a closed window, and one may wait in the socket (TCP_NOTSENT_LOWAT, sockopt.c).
 * Rejected: using the kernel's pacing while the window is less than a quarter above what the pace needs. After one loss
 * the window stays below that limit, because it does not grow while the pace is the bottleneck, so the timers never
 * ended.
 *
 * The kernel does not pace the first ten segments of a connection, and paces whole segments. At 10 kbit/s ten segments
 * take 12 s at the pace. So when ten segments exceed the bytes that the pace sends in RTTCP_AHEAD_NS, the writes are
 * paced: nothing is written before all earlier bytes are due, and each write has the bytes that the pace sends in
 * RTTCP_AHEAD_NS, but at most one segment. Above that rate the kernel paces, and at most the same number of bytes waits
 * in the socket (sockopt.c). In both cases a transfer ends about RTTCP_AHEAD_NS after its duration at most.
 * Invariant: this is a state machine; pace.c reads the clock and sleeps. */
#ifndef RTTCP_PACER_H
#define RTTCP_PACER_H

#include <stdint.h>

#define RTTCP_AHEAD_NS UINT64_C(100000000)
#define RTTCP_UNPACED_SEGMENTS 10 /* tcp_update_skb_after_send */

struct rttcp_pacer {
    uint64_t bytes_per_s; /* pace of the stream */
    uint64_t burst_bytes; /* 0: the kernel paces */
    uint64_t ahead_bytes; /* bytes that may be written before they are due */
    uint64_t next_ns;     /* when all written bytes have been sent at the pace */
};

/* Returns the largest write when the kernel's pacing to `bytes_per_s` is too coarse, otherwise 0. */
uint64_t rttcp_pacer_small_write(uint64_t bytes_per_s, uint64_t mss);

/* Returns the bytes that the pace sends in RTTCP_AHEAD_NS; at least 1. */
uint64_t rttcp_pacer_ahead(uint64_t bytes_per_s);

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t now_ns);

/* Counts a write. Returns the time until which to sleep, or 0. */
uint64_t rttcp_pacer_wrote(struct rttcp_pacer *pacer, uint64_t bytes, uint64_t now_ns);

#endif
