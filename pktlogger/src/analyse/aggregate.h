/* The traffic aggregate of two hosts: the transfers that one sends to the other, where they share one queue. Together
 * they fill it, so what each alone meets looks like chance, or like a line whose rate changes. The queue's rules need
 * all parts in the order in which they came to it.
 * A shared queue is first in, first out: what was sent later arrives later, whichever transfer it belongs to. Where parts
 * of one transfer overtake those of another, each has a queue of its own (fair queueing, several paths), and each
 * transfer is studied by itself. So is a transfer next to others with hardly any octets.
 * Rejected: transfers of other hosts that share the line. Their captures seldom are at hand, and they may share only a
 * part of the path. */
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

/* Sets `aggregate` of the transfers that share a queue with others, of `n` transfers, after pl_others_note. With more
 * than a thousand transfers it sets nothing. Returns 0, or -1 without memory; pl_aggregates_free is allowed after
 * either. */
int pl_aggregates_find(struct pl_aggregates *aggregates, struct pl_transfer *transfers, uint32_t n,
                       const struct pl_tables *tables);
void pl_aggregates_free(struct pl_aggregates *aggregates);

/* Gives a transfer its results of the study, which is made for the first one that asks. *study holds until
 * pl_aggregate_release, once for each transfer. Returns 0, or -1 without memory. */
int pl_aggregate_study(struct pl_aggregate *aggregate, struct pl_transfer *t, const struct pl_tables *tables,
                       const struct pl_study **study);
void pl_aggregate_release(struct pl_aggregate *aggregate);

#endif
