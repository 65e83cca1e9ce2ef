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
    bool rows;                         /* takes all columns, as pl_tables_segment does */
    struct pl_transfer *t;             /* whose part was taken last */
    struct pl_cursor cursor;           /* in the only transfer */
    struct pl_next_part *next, **heap; /* several transfers: the next part of each, and a heap of these with the
                                        * earliest at [0] */
    uint32_t n;                        /* in the heap */
};

/* `rows`: whether all columns are needed; without, only those of pl_tables_passage are taken. Returns 0, or -1 without
 * memory; pl_passages_end is allowed after either. */
int pl_passages_begin(struct pl_passages *passages, const struct pl_tables *tables, const struct pl_together *of,
                      bool rows);
bool pl_passages_next_of_several(struct pl_passages *passages, struct pl_segment *part);
void pl_passages_end(struct pl_passages *passages);

static inline bool pl_passages_read(const struct pl_passages *passages, const struct pl_transfer *t,
                                    struct pl_cursor *cursor, struct pl_segment *part)
{
    uint64_t at;
    return passages->rows ? pl_tables_segment(passages->tables, t, cursor, part, &at)
                          : pl_tables_passage(passages->tables, t, cursor, part);
}

/* Takes the next part. Returns false at the end. */
static inline bool pl_passages_next(struct pl_passages *passages, struct pl_segment *part)
{
    if (passages->next)
        return pl_passages_next_of_several(passages, part);
    if (!pl_passages_read(passages, passages->t, &passages->cursor, part))
        return false;
    passages->cursor.row++;
    return true;
}

#endif
