/* Search for the largest payload that the path takes (RFC 8899 in outline): the whole device MTU first, then halving, by padded PROBE
 * frames that are answered. Pure: the gateway's loop asks what to try and says what was answered. Starts over when the tunnel comes up,
 * when the kernel refuses a size, when a size in use is doubted and no more answered, and now and then because paths change.
 * Rejected: trusting ICMP "fragmentation needed"; whoever can send one would set our frame size. */
#ifndef LFT_PMTU_H
#define LFT_PMTU_H

#include <stdbool.h>
#include <stdint.h>

struct pmtu {
    uint32_t base, good, bad, trying; /* payload octets; trying 0: settled */
    uint32_t limit;                   /* device's */
    unsigned tries;
    bool doubted;                     /* `good` is being tried again */
    uint64_t wait_ns, due_ns;
};

enum { PMTU_TRIES = 3 };

void pmtu_init(struct pmtu *pmtu, uint32_t base, uint32_t limit);
/* Begin anew from the base. `wait_ns`: patience with a probe. */
void pmtu_start(struct pmtu *pmtu, uint64_t wait_ns, uint64_t now_ns);
/* Frames of the size in use do not seem to arrive: try it, and begin anew below it if it is not answered. No effect during a search. */
void pmtu_doubt(struct pmtu *pmtu, uint64_t now_ns);
/* A probe of this payload size was answered. True: `good` may have grown. */
bool pmtu_answered(struct pmtu *pmtu, uint32_t payload, uint64_t now_ns);
/* The payload to probe with now; 0: none is due. */
uint32_t pmtu_poll(struct pmtu *pmtu, uint64_t now_ns);
uint64_t pmtu_next_ns(const struct pmtu *pmtu);

#endif
