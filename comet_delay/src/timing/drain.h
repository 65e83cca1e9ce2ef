/* A receiver whose I/O bus is slower than its line (lsr-2007, cause 7; tgnle-2006, fig4). The NIC keeps arriving
 * packets in a small buffer, and the bus takes them out at its rate. A packet that finds the buffer full is lost,
 * although no line and no switch of the path is full.
 *
 * The bus takes packets one after the other: a packet has crossed it at max(arrival, exit of the one before) +
 * bits / rate. The packet takes room in the buffer until then, so the buffer includes the packet on the bus. If the
 * buffer is smaller than a packet, nothing passes. Rejected: the pacer with a small buffer. Like a pacer in the
 * network, it releases the first packet of a burst at once, which takes no room in the buffer. */
#ifndef COMET_DRAIN_H
#define COMET_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "fifo.h"
#include "lines.h"

struct drain_params {
    uint64_t rate_bps;     /* of the bus; 0: no drain */
    uint64_t buffer_bytes; /* of the NIC; 0: no bound */
};

/* All zero is fresh. */
struct drain {
    struct serial_line bus;
    struct fifo buffer;
};

/* Frees its memory and leaves it as all zero. */
void drain_free(struct drain *drain);

/* A packet of `bytes` (below 1 GiB) arrives; arrivals must never decrease. Returns true with the time when it has
 * crossed the bus, or false when it is dropped, because the buffer is full or there is no memory. Departures never
 * decrease, whatever parameters change. */
bool drain_send(struct drain *drain, const struct drain_params *params, uint64_t arrival_ns, uint32_t bytes,
                uint64_t *departure_ns);

#endif
