/* Results made from a delay box's record: captures that look as if they had been made at its ports, and a table of all
 * wire packets. The capture at port a has the packets that entered and left there (interfaces a-in, a-out). The capture
 * of both ports has four interfaces. So `analyse --sender a.pcapng --receiver b.pcapng` analyses the box from captures
 * alone. */
#ifndef PL_RECORD_OUTPUT_H
#define PL_RECORD_OUTPUT_H

#include <jansson.h>

#include "nc_error.h"
#include "flows.h"
#include "folder.h"
#include "replay.h"
#include "table.h"
#include "writer.h"

enum { PL_RECORD_FILES = 3 }; /* at port a, at port b, both */

struct pl_record_output {
    struct pl_writer writer[PL_RECORD_FILES]; /* fd -1: not wanted */
    struct pl_flows flows;
    struct pl_table *table; /* NULL: not wanted */
    struct pl_folder folder;
    json_t *gaps;              /* the first GAPS_MAX gaps */
    json_t *line[2];           /* properties of each direction's line over time */
    int64_t realtime_ns;       /* CLOCK_REALTIME at monotonic 0 */
    int64_t least_ns, most_ns; /* CLOCK_REALTIME, range of all events; most_ns < least_ns: no event */
    uint64_t in[2], held;
    bool no_memory;
};

struct pl_record_names {
    const char *file[PL_RECORD_FILES], *folder; /* NULL: not wanted */
};

/* Opens every output that has a name. `head` must have been checked. Returns 0, or -1 with a one-line reason. */
int pl_record_output_open(struct pl_record_output *output, const struct pl_record_names *names,
                          const struct comet_record_head *head, struct nc_error *error);

/* The sink that passes the events of a replay to the output. */
struct pl_replay_sink pl_record_output_sink(struct pl_record_output *output);

/* Finishes all outputs. `skipped[d]`: packets missing in the record. Returns 0, or -1 with a reason; nothing stays open
 * in either case. */
int pl_record_output_finish(struct pl_record_output *output, const uint64_t skipped[2], struct nc_error *error);

/* Gives up: removes everything that was written. */
void pl_record_output_abort(struct pl_record_output *output);

#endif
