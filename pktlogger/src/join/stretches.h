/* Ranges of octets, or of acknowledgement numbers, that were seen after higher ones: they were sent again, overtaken,
 * or duplicated by the network. Everything outside these ranges was seen once and in order, as far as one capture
 * shows. */
#ifndef PL_STRETCHES_H
#define PL_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "vector.h"

struct pl_stretch {
    uint64_t start, end;
};

struct pl_stretches {
    PL_VECTOR(struct pl_stretch) list;
};

/* Adds a range. Ranges added one after the other that touch are merged. Returns 0, or -1 without memory. */
static inline int pl_stretches_add(struct pl_stretches *stretches, uint64_t start, uint64_t end)
{
    struct pl_stretch *last = stretches->list.n ? &stretches->list.at[stretches->list.n - 1] : NULL;
    if (!last || start < last->start || start > last->end)
        return PL_APPEND(&stretches->list, ((struct pl_stretch){start, end}));
    last->end = end > last->end ? end : last->end;
    return 0;
}

/* Moves the ranges below `cut` to `taken`, which is empty, in order of `start`. Returns 0, or -1 without memory. */
int pl_stretches_take(struct pl_stretches *stretches, uint64_t cut, struct pl_stretches *taken);

/* Whether [start, end) touches a range of the taken ones. `*at` starts as 0, and `start` never decreases. */
static inline bool pl_stretches_touch(const struct pl_stretches *taken, size_t *at, uint64_t start, uint64_t end)
{
    while (*at < taken->list.n && taken->list.at[*at].end <= start)
        ++*at;
    return *at < taken->list.n && taken->list.at[*at].start < end;
}

#endif
