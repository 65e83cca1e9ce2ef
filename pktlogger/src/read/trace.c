/* Implements trace.h. The grouping is one stable counting sort. */
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

struct loader {
    PL_VECTOR(struct pl_packet) packets;
    PL_VECTOR(uint32_t) flows;
};

static int load_row(void *context, const struct pl_row *row)
{
    struct loader *loader = context;
    struct pl_packet packet = {
        .frame = row->frame,
        .t_ns = row->t_ns,
        .seq = row->seq,
        .ack = row->ack,
        .len = row->len,
        .window = row->window,
        .tsval = row->tsval,
        .flags = row->flags,
        .ip_id = row->ip_id,
        .dir = row->dir,
        .sack_n = row->sack_n,
    };
    return PL_APPEND(&loader->packets, packet) || PL_APPEND(&loader->flows, row->flow) ? -1 : 0;
}

static int group(struct pl_trace *trace, const struct loader *loader)
{
    size_t flow_n = trace->index.flows.n, n = loader->packets.n;
    trace->first = calloc(flow_n + 2, sizeof *trace->first);
    trace->packets = calloc(n + 1, sizeof *trace->packets);
    if (!trace->first || !trace->packets)
        return -1;
    trace->n = n;
    for (size_t i = 0; i < n; i++) /* counts, one place late … */
        trace->first[loader->flows.at[i] + 2]++;
    for (size_t f = 2; f <= flow_n; f++)
        trace->first[f] += trace->first[f - 1];
    for (size_t i = 0; i < n; i++) /* … so that this leaves every start in its own place */
        trace->packets[trace->first[loader->flows.at[i] + 1]++] = loader->packets.at[i];
    return 0;
}

enum pl_status pl_trace_load(struct pl_trace *trace, const uint8_t *data, size_t len, struct nc_error *error)
{
    struct loader loader = {0};
    *trace = (struct pl_trace){0};
    enum pl_status status = pl_index_run(&trace->index, data, len, load_row, &loader, error);
    if (status == PL_SINK_FAILED || (status == PL_OK && group(trace, &loader) < 0)) {
        status = PL_NO_MEMORY;
        nc_fail(error, NC_EXIT_FAILED, "out of memory");
    }
    free(loader.packets.at);
    free(loader.flows.at);
    return status;
}

void pl_trace_free(struct pl_trace *trace)
{
    pl_index_free(&trace->index);
    free(trace->packets);
    free(trace->first);
}
