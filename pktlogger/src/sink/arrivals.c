/* Implements arrivals.h. */
#include "arrivals.h"

#include <stdlib.h>

#include "nc_range.h"

enum { SLOTS = 4 * PL_PROBE_FLOWS_MAX };

int pl_arrivals_init(struct pl_arrivals *arrivals)
{
    *arrivals = (struct pl_arrivals){.flows = calloc(SLOTS, sizeof *arrivals->flows)};
    return arrivals->flows ? 0 : -1;
}

/* The index of a flow's slot, or of the free slot for the flow. */
static struct pl_sink_flow **slot_of(struct pl_arrivals *arrivals, const struct pl_probe *probe)
{
    uint32_t hash = (probe->session ^ (uint32_t)probe->flow * 0x9e3779b1u) * 0x85ebca6bu;
    for (uint32_t i = hash >> 16;; i++) {
        struct pl_sink_flow **slot = &arrivals->flows[i % SLOTS];
        if (!*slot || ((*slot)->session == probe->session && (*slot)->flow == probe->flow))
            return slot;
    }
}

static void take_delay(struct pl_arrivals *arrivals, int64_t delay_ns)
{
    arrivals->delay_min_ns = arrivals->delay.n && arrivals->delay_min_ns < delay_ns ? arrivals->delay_min_ns : delay_ns;
    arrivals->negative += delay_ns < 0;
    nc_spread_add(&arrivals->delay, delay_ns > 0 ? (uint64_t)delay_ns : 0);
}

static int take_probe(struct pl_arrivals *arrivals, const struct pl_probe *probe, size_t len, uint64_t arrival_ns)
{
    struct pl_sink_flow **slot = slot_of(arrivals, probe);
    if (!*slot && arrivals->flows_n == PL_PROBE_FLOWS_MAX) {
        arrivals->foreign++;
        return 0;
    }
    if (!*slot) {
        if (!(*slot = calloc(1, sizeof **slot)))
            return -1;
        (*slot)->session = probe->session;
        (*slot)->flow = probe->flow;
        (*slot)->flows = probe->flows;
        arrivals->flows_n++;
    }
    struct pl_flow_account *account = &(*slot)->account;
    if (probe->end) {
        arrivals->ended_n += !account->ended;
        pl_flow_account_end(account, probe->sequence);
        return 0;
    }
    int64_t delay_ns = (int64_t)(arrival_ns - probe->sent_ns);
    pl_flow_account_take(account, probe->sequence, delay_ns, len);
    take_delay(arrivals, delay_ns);
    arrivals->first_ns = arrivals->packets++ ? arrivals->first_ns : arrival_ns;
    arrivals->last_ns = nc_max(arrivals->last_ns, arrival_ns);
    return 0;
}

int pl_arrivals_take(struct pl_arrivals *arrivals, const uint8_t *data, size_t have, size_t len, uint64_t arrival_ns)
{
    struct pl_probe probe;
    if (pl_probe_read(data, have, &probe))
        return take_probe(arrivals, &probe, len, arrival_ns);
    arrivals->foreign++;
    return 0;
}

bool pl_arrivals_ended(const struct pl_arrivals *arrivals)
{
    if (arrivals->flows_n == 0 || arrivals->ended_n < arrivals->flows_n)
        return false;
    for (size_t i = 0; i < SLOTS; i++) {
        const struct pl_sink_flow *flow = arrivals->flows[i];
        if (!flow)
            continue;
        struct pl_probe other = {.session = flow->session, .flow = 0};
        for (; other.flow < flow->flows; other.flow++) /* checks whether flows of the session have not begun */
            if (!*slot_of((struct pl_arrivals *)(uintptr_t)arrivals, &other))
                return false;
    }
    return true;
}

void pl_arrivals_free(struct pl_arrivals *arrivals)
{
    for (size_t i = 0; arrivals->flows && i < SLOTS; i++)
        free(arrivals->flows[i]);
    free(arrivals->flows);
    arrivals->flows = NULL;
}
