/* The transfers that one host sends to another, if they share one queue. Together they fill the queue. So the queue
 * that one of them alone meets looks like chance, or like a line whose rate changes. The rules about queues need all
 * parts in the order in which they came to the queue.
 * A shared queue is first in, first out: a part that was sent later arrives later, whichever transfer it belongs to. If
 * parts of one transfer overtake parts of another, each transfer has a queue of its own (fair queueing, several paths)
 * and is studied by itself. A transfer is also studied by itself if the others carry hardly any octets.
 * Rejected: transfers of other hosts that share the line. Their captures are seldom available, and they may share only
 * a part of the path. */
#ifndef PL_AGGREGATE_H
#define PL_AGGREGATE_H

#include "study.h"
#include "tables.h"
#include "vector.h"

struct pl_aggregate;

/* It starts as {0}. */
struct pl_aggregates {
    PL_VECTOR(struct pl_aggregate *) list;
};

/* Sets `aggregate` of those of the `n` transfers that share a queue with others. Call it after pl_others_note. With
 * more than a thousand transfers it sets nothing. Returns 0, or -1 without memory; pl_aggregates_free is allowed after
 * either. */
int pl_aggregates_find(struct pl_aggregates *aggregates, struct pl_transfer *transfers, uint32_t n,
                       const struct pl_tables *tables);
void pl_aggregates_free(struct pl_aggregates *aggregates);

/* Gives a transfer its results of the study, which is made when the first transfer asks. Call pl_aggregate_release once
 * for each transfer; until the last call *study is valid. Returns 0, or -1 without memory. */
int pl_aggregate_study(struct pl_aggregate *aggregate, struct pl_transfer *t, const struct pl_tables *tables,
                       const struct pl_study **study);
void pl_aggregate_release(struct pl_aggregate *aggregate);

#endif
