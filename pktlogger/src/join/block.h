/* A block of a connection while it is joined (block.c, block_rest.c, block_shown.c). */
#ifndef PL_BLOCK_H
#define PL_BLOCK_H

#include "join.h"
#include "match.h"

/* A part that was sent, as a member of the block. */
struct pl_member {
    size_t segment; /* index among the open parts */
    size_t border, pieces;
    size_t arrived; /* number of its pieces that arrived */
    bool corrupted; /* the box corrupted it, by its record */
};

typedef PL_VECTOR(struct pl_piece) pl_pieces;

struct pl_block {
    struct pl_join *join;
    uint64_t cut;
    PL_VECTOR(struct pl_member) members; /* in order of sending */
    PL_VECTOR(struct pl_arrival) arrivals;
    PL_VECTOR(uint64_t) borders; /* ascending, each once, after sort_borders() */
    pl_pieces sent, received;
    size_t budget;
};

static inline struct pl_segment *pl_block_segment(const struct pl_block *block, const struct pl_member *member)
{
    return &block->join->segments.at[member->segment];
}

/* Decides the fates of all parts from the acknowledgements alone. Returns 0, or -1 without memory. */
int pl_block_shown(struct pl_block *block);

/* These find what the box did with parts (called before parts are paired with arrivals), when each acknowledgement
 * reached the sender, and what the box did with acknowledgements. They return 0, or -1 without memory. */
int pl_block_parts_seen(struct pl_block *block);
int pl_block_acks(struct pl_block *block);
int pl_block_acks_seen(struct pl_block *block);

#endif
