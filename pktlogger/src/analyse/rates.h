/* The rates of a transfer in intervals of fixed length, at several time scales at once, and its bursts: data packets
 * sent back to back.
 * An interval is written when the walk has passed its end, because every packet that arrives in it was sent before
 * that. So memory holds only as many intervals as one one-way delay has. An interval in which nothing happened has no
 * row. A burst ends at the first gap that is longer than --burst-gap. Packets count as on the wire, in parts. */
#ifndef PL_RATES_H
#define PL_RATES_H

#include "tables.h"
#include "transfer.h"

struct pl_rates;

/* Returns NULL without memory. */
struct pl_rates *pl_rates_new(struct pl_transfer *transfer, struct pl_tables *tables);

/* The sender sent a data packet of `n` parts. Calls are in order of time. */
struct pl_rates_send {
    int64_t t_ns;
    uint64_t flight;
    uint32_t bytes, n, window;
};
/* They return 0, or -1 without memory. */
int pl_rates_send(struct pl_rates *rates, const struct pl_rates_send *sent);
int pl_rates_arrival(struct pl_rates *rates, int64_t t_ns, uint32_t bytes);
/* `bytes`: newly acknowledged. rtt_ns: the sample of the round-trip time (round_trips.h), or -1. */
int pl_rates_ack(struct pl_rates *rates, int64_t t_ns, uint64_t bytes, uint32_t window, int64_t rtt_ns);

/* Writes the open intervals and frees the object. NULL is allowed. */
void pl_rates_free(struct pl_rates *rates);

#endif
