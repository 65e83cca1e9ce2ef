/* The parts of one transfer, or of several together, in the order in which they were sent. Memory holds the next part of
 * each. */
#ifndef PL_PASSAGES_H
#define PL_PASSAGES_H

#include "tables.h"

struct pl_next_part;

/* Transfers that are studied as one. `whole`: the only one, or a sum of all. */
struct pl_together {
    struct pl_transfer *whole;
    struct pl_transfer *const *transfers; /* n, at least one */
    uint32_t n;
};

struct pl_passages {
    const struct pl_tables *tables;
    struct pl_transfer *t;             /* whose part was taken last */
    struct pl_cursor cursor;           /* in the only transfer */
    struct pl_next_part *next, **heap; /* of several: the next part of each; a heap, with the next one of all at [0] */
    uint32_t n;                        /* in the heap */
};

/* Returns 0, or -1 without memory; pl_passages_end is allowed after either. */
int pl_passages_begin(struct pl_passages *passages, const struct pl_tables *tables, const struct pl_together *of);
bool pl_passages_next_of_several(struct pl_passages *passages, struct pl_segment *part);
void pl_passages_end(struct pl_passages *passages);

/* Takes the next part: what pl_tables_passage sets. False at the end. */
static inline bool pl_passages_next(struct pl_passages *passages, struct pl_segment *part)
{
    if (passages->next)
        return pl_passages_next_of_several(passages, part);
    if (!pl_tables_passage(passages->tables, passages->t, &passages->cursor, part))
        return false;
    passages->cursor.row++;
    return true;
}

#endif
