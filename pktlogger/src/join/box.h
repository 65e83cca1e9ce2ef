/* The record of a delay box, as `pktlogger record -o` wrote it, for joining with the captures of both ends. The record
 * shows the fate of each packet. The captures only show that a packet never arrived.
 * The columns are mapped and read in order of rows. */
#ifndef PL_BOX_H
#define PL_BOX_H

#include <jansson.h>

#include "column.h"
#include "flows.h"
#include "line.h"
#include "nc_error.h"
#include "time_spans.h"

#define PL_NO_FATE UINT8_MAX /* the record does not have this packet, or there is no record */

struct pl_box_row {
    uint64_t seq, ack;                    /* relative to the SYN of the box's flow */
    int64_t t_in_ns, t_exit_ns, t_out_ns; /* FORMAT.md section 3, box columns; -1: never */
    int64_t t_due_ns,
        t_released_ns; /* when the packet was due to leave, and when it left the box; -1: it did not leave */
    uint32_t len;
    uint8_t dir, fate;
    bool corrupted; /* it left with a wrong checksum */
    bool marked;    /* CE */
};

enum { PL_BOX_COLUMNS = 14 };

struct pl_box {
    struct pl_flow *flows; /* addresses, ports, SYN and base of each side; nothing else is set */
    uint32_t flow_n;
    struct pl_column_map column[PL_BOX_COLUMNS];
    json_t *description;            /* record.json */
    uint8_t fate_of[UINT8_MAX + 1]; /* enum fate by the record's number; FATE_N: held, or an unknown name */
    bool tells_outages;    /* whether the record's fates include outage; earlier boxes counted outages as losses */
    uint8_t *ways;         /* for each flow, the direction through the box of the flow's direction 0 */
    struct pl_lines lines; /* what the box let through over time; empty in records of earlier boxes */
};

/* Returns 0, or -1 with a one-line reason; pl_box_close is allowed after either. */
int pl_box_open(struct pl_box *box, const char *folder, struct nc_error *error);
void pl_box_close(struct pl_box *box);

/* The flow in the box's record that is the same connection as `like`. *flipped: direction 0 of that flow is direction 1
 * of `like`. UINT32_MAX: the record does not have the connection. */
uint32_t pl_box_lookup(const struct pl_box *box, const struct pl_flow *like, bool *flipped);

/* The flow of row `i`, or UINT32_MAX for a row that does not count: a packet without TCP, or a duplicate that the box
 * made. */
uint32_t pl_box_flow(const struct pl_box *box, uint32_t i);

/* The direction through the box, a to b (0) or b to a (1), of direction `dir` of a flow. */
static inline unsigned pl_box_way(const struct pl_box *box, uint32_t flow, unsigned dir)
{
    return (box->ways[flow] ^ dir) & 1;
}

/* Row `i` of the table. */
struct pl_box_row pl_box_row(const struct pl_box *box, uint32_t i);

/* The times at which the line of each direction was busy: a packet was on it or waited for it. Returns 1, or 0 where
 * the record has gaps and does not show this, or -1 without memory. */
int pl_box_busy(const struct pl_box *box, struct pl_time_spans busy[2]);

#endif
