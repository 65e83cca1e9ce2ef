/* What becomes of a delay box's record: captures as if taken at its ports, and a table of all wire packets.
 * A capture at port a holds what came in there and what left there (interfaces a-in, a-out); one of both ports has four
 * interfaces. So `analyse --sender a.pcapng --receiver b.pcapng` says what the box did, by capture alone. */
#ifndef PL_RECORD_OUTPUT_H
#define PL_RECORD_OUTPUT_H

#include <jansson.h>

#include "pl_flows.h"
#include "pl_folder.h"
#include "pl_record.h"
#include "pl_table.h"
#include "pl_writer.h"

enum { PL_RECORD_FILES = 3 }; /* at port a, at port b, both */

struct pl_record_output {
    struct pl_writer writer[PL_RECORD_FILES]; /* fd -1: not asked for */
    struct pl_flows flows;
    struct pl_table *table;   /* NULL: not asked for */
    struct pl_folder folder;
    json_t *gaps;             /* the first GAPS_MAX of them */
    int64_t realtime_ns;      /* at monotonic 0 */
    int64_t least_ns, most_ns; /* CLOCK_REALTIME, of all events; most_ns < least_ns: none */
    uint64_t in[2], held;
    bool no_memory;
};

struct pl_record_names {
    const char *file[PL_RECORD_FILES], *folder; /* NULL: not wanted */
};

/* Begins every output that has a name. `head` has been checked. 0, or -1 with a one-line reason. */
int pl_record_output_open(struct pl_record_output *output, const struct pl_record_names *names,
                          const struct nc_record_head *head, char *why, size_t why_size);

/* What pl_record tells goes to the output. */
struct pl_record_sink pl_record_output_sink(struct pl_record_output *output);

/* Finishes them all. `skipped[d]`: packets not in the record. 0, or -1 with a reason; nothing is left open either way. */
int pl_record_output_finish(struct pl_record_output *output, const uint64_t skipped[2], char *why, size_t why_size);

/* Gives up: nothing stays. */
void pl_record_output_abort(struct pl_record_output *output);

#endif
