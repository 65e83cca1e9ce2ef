/* All flows that a sink has seen, and their common delays and throughput. Session and number identify a flow. There are
 * at most PL_PROBE_FLOWS_MAX flows; packets of further flows count as foreign, as do packets that are not probes. Times
 * are passed in. */
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
    uint64_t first_ns, last_ns; /* arrival times of probes, CLOCK_REALTIME */
    struct nc_spread delay; /* one-way delays. If clocks differ, a delay may be negative; it counts as 0 here, and in
                             * `negative` */
    uint64_t negative;      /* number of negative delays */
    int64_t delay_min_ns;   /* smallest delay, with its sign */
};

/* Returns 0, or -1 without memory. */
int pl_arrivals_init(struct pl_arrivals *arrivals);

/* Takes a payload of `len` octets, of which the first `have` are at `data`. Returns 0, or -1 without memory. */
int pl_arrivals_take(struct pl_arrivals *arrivals, const uint8_t *data, size_t have, size_t len, uint64_t arrival_ns);

/* Whether every flow of every session has received its end packet. */
bool pl_arrivals_ended(const struct pl_arrivals *arrivals);

void pl_arrivals_free(struct pl_arrivals *arrivals);

#endif
