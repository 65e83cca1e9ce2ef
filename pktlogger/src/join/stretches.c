/* Implements stretches.h. */
#include "stretches.h"

#include <stdlib.h>

#include "sort.h"

static int by_start(const void *left, const void *right)
{
    const struct pl_stretch *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Merges stretches that overlap, so that their ends are also in order. */
static void merge(struct pl_stretches *taken)
{
    size_t kept = 0;
    for (size_t i = 0; i < taken->list.n; i++) {
        struct pl_stretch stretch = taken->list.at[i], *last = kept ? &taken->list.at[kept - 1] : NULL;
        if (!last || stretch.start > last->end)
            taken->list.at[kept++] = stretch;
        else if (stretch.end > last->end)
            last->end = stretch.end;
    }
    taken->list.n = kept;
}

int pl_stretches_take(struct pl_stretches *stretches, uint64_t cut, struct pl_stretches *taken)
{
    size_t kept = 0;
    for (size_t i = 0; i < stretches->list.n; i++) {
        struct pl_stretch stretch = stretches->list.at[i];
        if (stretch.start < cut && PL_APPEND(&taken->list, stretch) < 0)
            return -1;
        stretch.start = stretch.start < cut ? cut : stretch.start;
        if (stretch.start < stretch.end)
            stretches->list.at[kept++] = stretch;
    }
    stretches->list.n = kept;
    if (pl_sort(taken->list.at, taken->list.n, sizeof *taken->list.at, by_start) < 0)
        return -1;
    merge(taken);
    return 0;
}
