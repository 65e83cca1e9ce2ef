/* Paces the writes of a stream (--pace-burst): a burst at a time, and a sleep between two.
 *
 * The kernel's own pacing sets a timer for each packet of 64 KB. Where a hypervisor makes timers dear, these and the
 * wake-ups at the receiver are a third of what a fast transfer costs. Writes can replace that pacing only while the
 * application is the limit: as long as the congestion window is, the kernel sends as acknowledgements come, twice as
 * fast as they come in slow start. So the kernel paces until the window is larger than the pace needs, and again when
 * it no longer is. The two limits differ so that this does not alternate.
 * Little may wait in the socket (TCP_NOTSENT_LOWAT), because all that waits leaves at once when the kernel stops pacing.
 * A late wake-up is made up for by one burst at most, as a router's queue would have to take what is sent at once.
 * Invariant: this is a state machine; flow.c looks at the clock and the socket, and sleeps. */
#ifndef RTTCP_PACER_H
#define RTTCP_PACER_H

#include <stdbool.h>
#include <stdint.h>

struct rttcp_pacer {
    uint64_t bytes_per_s; /* of the stream */
    uint64_t burst_bytes; /* 0: the kernel paces, always */
    bool writes;          /* the writes are paced, and the kernel does not pace */
    uint64_t next_ns;     /* when all that was written has been sent at the pace */
};

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes);

/* Takes in the congestion window and the round-trip time. Returns whether the kernel has to begin or to stop pacing,
 * as `writes` then says. */
bool rttcp_pacer_look(struct rttcp_pacer *pacer, uint64_t cwnd_bytes, uint64_t rtt_ns, uint64_t now_ns);

/* Takes in a write. Returns the time until which to sleep, or 0. */
uint64_t rttcp_pacer_wrote(struct rttcp_pacer *pacer, uint64_t bytes, uint64_t now_ns);

#endif
