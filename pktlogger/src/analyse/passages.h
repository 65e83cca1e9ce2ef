/* The parts of one transfer, or of several, in the order in which they were sent. Memory holds only the next part of
 * each transfer. */
#ifndef PL_PASSAGES_H
#define PL_PASSAGES_H

#include "tables.h"

struct pl_next_part;

/* Transfers that are studied as one. `whole`: the transfer if it is the only one; otherwise the sum of all. */
struct pl_together {
    struct pl_transfer *whole;
    struct pl_transfer *const *transfers; /* n, at least one */
    uint32_t n;
};

struct pl_passages {
    const struct pl_tables *tables;
    struct pl_transfer *t;             /* whose part was taken last */
    struct pl_cursor cursor;           /* in the only transfer */
    struct pl_next_part *next, **heap; /* several transfers: the next part of each, and a heap of these with the
                                        * earliest at [0] */
    uint32_t n;                        /* in the heap */
};

/* Returns 0, or -1 without memory; pl_passages_end is allowed after either. */
int pl_passages_begin(struct pl_passages *passages, const struct pl_tables *tables, const struct pl_together *of);
bool pl_passages_next_of_several(struct pl_passages *passages, struct pl_segment *part);
void pl_passages_end(struct pl_passages *passages);

/* Takes the next part, and sets the same members as pl_tables_passage. Returns false at the end. */
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
