#include "rate_trace.h"

#include <assert.h>

#include "nc_clock.h"
#include "nc_range.h"

/* Bytes of an opportunity, overhead of a packet, and whether a packet that arrives at the time of an opportunity misses
 * it. */
static const struct {
    uint32_t bytes, header_bytes;
    bool before;
} opportunities[RATE_KINDS] = {
    [RATE_MAHIMAHI] = {.bytes = 1500},
    [RATE_MM_LINK] = {.bytes = 1504, .header_bytes = 4, .before = true},
};

struct rate_trace rate_trace_share(const struct rate_trace *trace)
{
    struct rate_trace copy = *trace;
    copy.table = table_share(trace->table);
    return copy;
}

void rate_trace_free(struct rate_trace *trace)
{
    table_release(trace->table);
    *trace = (struct rate_trace){0};
}

uint64_t rate_trace_planning_bps(const struct rate_trace *trace)
{
    const struct table *table = trace->table;
    uint64_t highest = trace->rate_bps;
    if (opportunities[trace->kind].bytes)
        return (uint64_t)((unsigned __int128)table->n * opportunities[trace->kind].bytes * 8 * NC_NS_PER_S /
                          table->at[table->n - 1]);
    for (size_t i = 1; table && i < table->n; i += 2)
        if (table->at[i] > highest)
            highest = table->at[i];
    return highest;
}

void rate_trace_init(struct rate_trace_state *state, uint64_t now_ns)
{
    *state = (struct rate_trace_state){.origin_ns = now_ns};
}

void rate_trace_restart(struct rate_trace_state *state, uint64_t now_ns, uint64_t exit_ns)
{
    uint64_t owed = exit_ns > state->exit_ns ? 0 : state->owed;
    *state = (struct rate_trace_state){.origin_ns = now_ns, .exit_ns = nc_max(exit_ns, state->exit_ns), .owed = owed};
}

uint32_t rate_trace_bytes(const struct rate_trace *trace, uint32_t line_bytes, uint32_t ip_bytes)
{
    uint32_t header_bytes = opportunities[trace->kind].header_bytes;
    return header_bytes ? ip_bytes + header_bytes : line_bytes;
}

/* The rate at `now_ns` and when it ends. */
static uint64_t rate_at(struct rate_trace_state *state, const struct rate_trace *trace, uint64_t now_ns,
                        uint64_t *until_ns)
{
    *until_ns = UINT64_MAX;
    if (trace->kind == RATE_CONSTANT)
        return trace->rate_bps;
    const struct table *table = trace->table;
    size_t steps = table->n / 2;
    uint64_t since_ns = now_ns > state->origin_ns ? now_ns - state->origin_ns : 0;
    while (state->step + 1 < steps && table->at[2 * (state->step + 1)] <= since_ns)
        state->step++;
    if (state->step + 1 < steps)
        *until_ns = state->origin_ns + table->at[2 * (state->step + 1)];
    return table->at[2 * state->step + 1];
}

static uint64_t steps_exit(struct rate_trace_state *state, const struct rate_trace *trace, uint64_t bytes)
{
    uint64_t need = bytes * 8 * NC_NS_PER_S + state->owed, now_ns = state->exit_ns, until_ns;
    for (;;) {
        uint64_t rate_bps = rate_at(state, trace, now_ns, &until_ns);
        if (rate_bps && need / rate_bps <= until_ns - now_ns) {
            state->owed = need % rate_bps;
            return state->exit_ns = now_ns + need / rate_bps;
        }
        need -= rate_bps * (until_ns - now_ns);
        now_ns = until_ns;
    }
}

static uint64_t opportunity_ns(const struct rate_trace_state *state, const struct table *table, uint64_t opportunity)
{
    return state->origin_ns + opportunity / table->n * table->at[table->n - 1] + table->at[opportunity % table->n];
}

/* The first opportunity at or after `now_ns`. */
static uint64_t seek(const struct rate_trace_state *state, const struct table *table, uint64_t now_ns)
{
    uint64_t since_ns = now_ns > state->origin_ns ? now_ns - state->origin_ns : 0, period_ns = table->at[table->n - 1];
    /* the last opportunity of a cycle falls on the first instant of the next */
    uint64_t cycle = since_ns ? (since_ns - 1) / period_ns : 0;
    uint64_t within_ns = since_ns - cycle * period_ns;
    size_t low = 0, high = table->n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table->at[middle] < within_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return cycle * table->n + low;
}

/* When the last byte of a packet leaves that starts at the line's exit or, if later, at its arrival. */
static uint64_t opportunities_exit(struct rate_trace_state *state, const struct rate_trace *trace, uint64_t arrival_ns,
                                   uint64_t bytes)
{
    const struct table *table = trace->table;
    uint32_t each = opportunities[trace->kind].bytes;
    bool before = opportunities[trace->kind].before;
    uint64_t last_ns = state->begun ? opportunity_ns(state, table, state->opportunity) : 0;
    if (!state->begun || state->exit_ns > last_ns || (before && arrival_ns >= last_ns)) {
        state->begun = true;
        state->opportunity = seek(state, table, state->exit_ns + before);
        state->left = each;
    }
    if (bytes <= state->left)
        state->left -= bytes;
    else {
        uint64_t need = bytes - state->left, more = (need - 1) / each + 1;
        state->opportunity += more;
        state->left = more * each - need;
    }
    return state->exit_ns = opportunity_ns(state, table, state->opportunity);
}

uint64_t rate_trace_exit(struct rate_trace_state *state, const struct rate_trace *trace, uint64_t arrival_ns,
                         uint32_t bytes)
{
    assert(bytes <= RATE_PACKET_BYTES_MAX);
    if (arrival_ns > state->exit_ns) {
        state->exit_ns = arrival_ns;
        state->owed = 0;
    }
    if (opportunities[trace->kind].bytes)
        return opportunities_exit(state, trace, arrival_ns, bytes);
    if (trace->kind == RATE_CONSTANT && !trace->rate_bps)
        return state->exit_ns;
    return steps_exit(state, trace, bytes);
}
