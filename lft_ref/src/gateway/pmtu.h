/* The search for the largest payload that the path carries, similar to RFC 8899. Padded PROBE frames, which the peer
 * answers, try the whole MTU of the device first, and then halve the interval. A pure state machine: the gateway's loop
 * asks for the size to try and reports the answers. The search starts over from the base when the tunnel comes up, when
 * the kernel refuses a size, when the oldest frame stays unacknowledged, and when the size in use is doubted and its
 * probe is not answered. The size is doubted every ten minutes, because paths change. When the probe of a doubted size
 * is answered, the search goes on with larger sizes.
 * Rejected: doubting the size first when the oldest frame stays unacknowledged. Nothing arrives until three probes are
 * known to be lost, while a search that was not needed costs a round trip with smaller frames.
 * Rejected: trusting ICMP "fragmentation needed"; whoever can send one would set our frame size. */
#ifndef LFT_PMTU_H
#define LFT_PMTU_H

#include <stdbool.h>
#include <stdint.h>

#include "engine_types.h"

struct pmtu {
    /* Octets of payload. `good`: the largest size known to pass. `bad`: the smallest size known not to pass. `trying`:
     * the size probed now, 0 when the search is over. */
    uint32_t base, good, bad, trying;
    uint32_t limit; /* the largest payload that the device takes */
    unsigned tries;
    bool doubted; /* the probe tests `good` again, because frames of that size seem to be lost */
    uint64_t wait_ns, due_ns;
    uint64_t oldest, oldest_since_ns; /* the oldest number not acknowledged, and since when */
};

enum { PMTU_TRIES = 3 };

void pmtu_init(struct pmtu *pmtu, uint32_t base, uint32_t limit);
/* How long to wait for the answer to a probe. */
uint64_t pmtu_wait_ns(const struct lft_engine_state *state);
/* Starts over from the base. `wait_ns`: from pmtu_wait_ns(). */
void pmtu_start(struct pmtu *pmtu, uint64_t wait_ns, uint64_t now_ns);
/* Probes the size in use again. Without an answer the search starts over below it. During a search the call has no
 * effect. */
void pmtu_doubt(struct pmtu *pmtu, uint64_t now_ns);
/* Starts over when the oldest number is not acknowledged for a second and four round trips. This detects a path whose
 * MTU has shrunk although smaller frames are still acknowledged. To be called several times a second while frames are
 * unacknowledged. */
void pmtu_watch(struct pmtu *pmtu, const struct lft_engine_state *state, uint64_t now_ns);
/* Call this when the peer has answered a probe of this payload. Returns true when `good` may have grown. */
bool pmtu_answered(struct pmtu *pmtu, uint32_t payload, uint64_t now_ns);
/* Returns the payload of the probe to send now; 0: none is due. */
uint32_t pmtu_poll(struct pmtu *pmtu, uint64_t now_ns);
uint64_t pmtu_next_ns(const struct pmtu *pmtu);

#endif
