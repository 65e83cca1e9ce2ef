/* A capture in memory for the analysis: its flows, and its TCP packets grouped by flow, in file order within each. */
#ifndef PL_TRACE_H
#define PL_TRACE_H

#include "index.h"

/* The members of a pl_row that the analysis needs. */
struct pl_packet {
    uint64_t frame;
    int64_t t_ns;
    uint64_t seq, ack; /* relative; ack PL_NO_ACK without the flag */
    uint32_t len, window, tsval;
    uint16_t flags, ip_id;
    uint8_t dir, sack_n;
};

struct pl_trace {
    struct pl_index index;
    struct pl_packet *packets;
    size_t n;
    size_t *first; /* flow f has packets [first[f], first[f + 1]) */
};

/* Loads a capture; results are as of pl_index_run. pl_trace_free is allowed after every result. */
enum pl_status pl_trace_load(struct pl_trace *trace, const uint8_t *data, size_t len, struct nc_error *error);
void pl_trace_free(struct pl_trace *trace);

#endif
