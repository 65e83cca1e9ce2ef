/* What a delay box recorded, as `pktlogger record -o` left it, to be joined with the captures of both ends: the fate of
 * each packet where the captures only show that it never arrived.
 * The folder is mapped; what is kept in memory is the order of rows by flow. Duplicates that the box made are left out. */
#ifndef PL_BOX_H
#define PL_BOX_H

#include <jansson.h>

#include "pl_column.h"
#include "pl_flows.h"

#define PL_NO_FATE UINT8_MAX /* the box's record does not know the packet, or there is no record */

struct pl_box_row {
    uint64_t seq, ack; /* relative to the box's flow */
    int64_t t_in_ns, t_exit_ns, t_out_ns; /* FORMAT.md section 3, box columns; -1: never */
    uint32_t len;
    uint8_t dir, fate;
};

enum { PL_BOX_COLUMNS = 11 };

struct pl_box {
    struct pl_flow *flows;   /* addresses, ports, SYN and base of each side; nothing else is set */
    uint32_t flow_n;
    struct pl_column_map column[PL_BOX_COLUMNS];
    uint32_t *order;         /* rows, grouped by flow, as they came in each */
    size_t *first;           /* flow f has order[first[f]] … order[first[f + 1] - 1] */
    json_t *description;     /* record.json */
};

/* 0, or -1 with a one-line reason; pl_box_close is allowed after either. */
int pl_box_open(struct pl_box *box, const char *folder, char *why, size_t why_size);
void pl_box_close(struct pl_box *box);

/* The connection `like`; *flipped: its direction 0 is direction 1 of `like`. UINT32_MAX: not recorded. */
uint32_t pl_box_lookup(const struct pl_box *box, const struct pl_flow *like, bool *flipped);

/* Row `i` of the table. */
struct pl_box_row pl_box_row(const struct pl_box *box, uint32_t i);

#endif
