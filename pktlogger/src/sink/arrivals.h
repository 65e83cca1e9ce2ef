/* All flows that a sink has seen, and what they have in common: delays and throughput. Flows are told apart by session
 * and number, and there are at most PL_PROBE_FLOWS_MAX of them; packets of further ones are counted as foreign, as is
 * everything that is no probe. Times are passed in. */
#ifndef PL_ARRIVALS_H
#define PL_ARRIVALS_H

#include <stddef.h>

#include "flow_account.h"
#include "probe.h"
#include "nc_spread.h"

struct pl_sink_flow {
    uint32_t session;
    uint16_t flow, flows;
    struct pl_flow_account account;
};

struct pl_arrivals {
    struct pl_sink_flow **flows; /* a hash table with open addressing */
    size_t flows_n, ended_n;
    uint64_t packets, foreign;
    uint64_t first_ns, last_ns; /* arrivals of probes, CLOCK_REALTIME */
    struct nc_spread delay;     /* one-way; a negative one, of clocks that differ, counts as 0 … */
    uint64_t negative;          /* … and here */
    int64_t delay_min_ns;       /* with its sign */
};

/* Returns 0, or -1 without memory. */
int pl_arrivals_init(struct pl_arrivals *arrivals);

/* A payload of `len` octets came, of which the first `have` are at `data`. Returns 0, or -1 without memory. */
int pl_arrivals_take(struct pl_arrivals *arrivals, const uint8_t *data, size_t have, size_t len, uint64_t arrival_ns);

/* Whether every flow of every session has come to its end. */
bool pl_arrivals_ended(const struct pl_arrivals *arrivals);

void pl_arrivals_free(struct pl_arrivals *arrivals);

#endif
