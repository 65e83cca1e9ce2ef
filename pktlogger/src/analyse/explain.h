/* Connects the walk along a sender (walk.h) with the rules in causes/ and with the tables that hold the causes. */
#ifndef PL_EXPLAIN_H
#define PL_EXPLAIN_H

#include "both_ways.h"
#include "limits.h"
#include "losses.h"
#include "study.h"
#include "tables.h"

struct pl_explain {
    struct pl_transfer *t;
    struct pl_tables *tables;
    struct pl_limits *limits;
    struct pl_study own; /* the study of the transfer by itself */
    const struct pl_study
        *study; /* `own`, or the study of all transfers that share its queue; NULL: no longer needed */
    struct pl_samples_of samples; /* of the sender's socket */
    struct pl_time_spans down;    /* when nothing passed the path */
    pl_ack_runs ack_runs;         /* runs of lost acknowledgements */
    size_t down_at;               /* index of the first outage that is not over */
    double own_ns_a_byte;         /* the bottleneck's time for a byte of any flow (path_base.h) */
    int64_t box_exit_ns;          /* when the previous part left the box's queue, by the record */
    uint64_t high;                /* end of the last byte sent */
};

/* Finds out why each part was lost. `explain` must stay where it is. Returns 0, or -1 without memory; pl_explain_end is
 * allowed after either. */
int pl_explain_begin(struct pl_explain *explain, struct pl_transfer *t, struct pl_tables *tables);

/* Counts the next part in order of sending. */
void pl_explain_part(struct pl_explain *explain, const struct pl_segment *segment);

/* Whether the path was down at t_ns, judged by all losses and acknowledgements. t_ns never decreases. */
bool pl_explain_down(struct pl_explain *explain, int64_t t_ns);

/* How long the next part waited in queues. Called before pl_explain_part takes the part. -1: it did not arrive. */
int64_t pl_explain_queue_ns(const struct pl_explain *explain, const struct pl_segment *segment);

/* The line's time for a full segment at t_ns, by the line's known rate; 0: not known. */
int64_t pl_explain_segment_ns(const struct pl_transfer *t, int64_t t_ns);

/* As pl_explain_queue_ns, but the box's queue alone, by its record; -1 where the record lacks the part. */
int64_t pl_explain_line_ns(const struct pl_explain *explain, const struct pl_segment *segment);

void pl_explain_end(struct pl_explain *explain);

#endif
