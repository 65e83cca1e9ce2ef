/* Pacing before a receiver, as in TRC-TCP (tgnle-2006). A receiver that is limited by its I/O bus loses many packets as
 * soon as they arrive slightly faster than it can take them. A pacer before it releases packets at a steady rate, in
 * packets per second (fig4: best at 69,500) or in bits per second, and holds the rest in a buffer.
 *
 * Packet k leaves at max(arrival, departure of k-1 + cost of k-1), where the cost is 1 / rate or bits / rate. So the
 * bits (packets) that leave in any window are at most rate × window, to the nanosecond of the clock, plus one packet. A
 * packet that need not wait takes no room in the buffer. A packet that must wait is dropped when there is no room. */
#ifndef COMET_PACER_H
#define COMET_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "fifo.h"
#include "spacing.h"

enum pacer_unit { PACER_BITS, PACER_PACKETS };

struct pacer_params {
    uint64_t rate;         /* bit/s or packets/s; 0: none */
    int unit;              /* enum pacer_unit: what `rate` counts */
    uint64_t buffer_bytes; /* that may wait; 0: no bound */
};

struct pacer {
    struct spacing spacing;
    int unit;           /* of spacing's rate */
    struct fifo buffer; /* what waits */
};

/* A pacer starts as all zero. This frees its memory and leaves it as all zero. */
void pacer_free(struct pacer *pacer);

/* A packet of `bytes` (below 1 GiB) arrives; arrivals must never decrease. Returns true with its departure, or false
 * when it is dropped, because the buffer is full or there is no memory. Departures never decrease, whatever parameters
 * change. */
bool pacer_send(struct pacer *pacer, const struct pacer_params *params, uint64_t arrival_ns, uint32_t bytes,
                uint64_t *departure_ns);

/* Bytes that wait at `now_ns`. */
uint64_t pacer_waiting(struct pacer *pacer, uint64_t now_ns);

#endif
