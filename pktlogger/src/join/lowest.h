/* An index of a list: the lowest number in each PL_GROUP of its elements. A search for numbers below a cut skips the
 * groups that lie above it, which are most of a list. */
#ifndef PL_LOWEST_H
#define PL_LOWEST_H

#include <stdint.h>
#include <string.h>

#include "vector.h"

enum { PL_GROUP = 64 };

typedef PL_VECTOR(uint64_t) pl_lowest;

/* Adds the number of element `i`, the last of the list. Returns 0, or -1 without memory. */
static inline int pl_lowest_note(pl_lowest *lowest, size_t i, uint64_t number)
{
    if (i % PL_GROUP == 0)
        return PL_APPEND(lowest, number);
    uint64_t *last = &lowest->at[lowest->n - 1];
    *last = number < *last ? number : *last;
    return 0;
}

/* The index, from `i` on, of the first of `n` elements that may lie below `cut`. A result of `n` or more: there is
 * none. */
static inline size_t pl_lowest_below(const pl_lowest *lowest, size_t i, size_t n, uint64_t cut)
{
    while (i < n && i % PL_GROUP == 0 && lowest->at[i / PL_GROUP] >= cut)
        i += PL_GROUP;
    return i;
}

/* Removes the first groups, whose elements are gone. */
static inline void pl_lowest_forget(pl_lowest *lowest, size_t groups)
{
    lowest->n -= groups;
    memmove(lowest->at, lowest->at + groups, lowest->n * sizeof *lowest->at);
}

#endif
