/* Implements passages.h. */
#include "passages.h"

#include <stdlib.h>

struct pl_next_part {
    struct pl_transfer *t;
    struct pl_cursor cursor;
    struct pl_segment part;
};

/* Whether `a` was sent first. If two parts were sent at once, the one that arrived first was first in the queue. */
static bool comes_first(const struct pl_next_part *a, const struct pl_next_part *b)
{
    if (a->part.t_sent_ns != b->part.t_sent_ns)
        return a->part.t_sent_ns < b->part.t_sent_ns;
    uint64_t arrived = (uint64_t)a->part.t_received_ns, other = (uint64_t)b->part.t_received_ns; /* lost: behind all */
    return arrived != other ? arrived < other : a->t->number < b->t->number;
}

/* Restores the order of the heap below `at`. */
static void sink(struct pl_passages *p, uint32_t at)
{
    for (uint32_t first = at;; at = first) {
        for (uint32_t below = 2 * at + 1; below <= 2 * at + 2 && below < p->n; below++)
            if (comes_first(p->heap[below], p->heap[first]))
                first = below;
        if (first == at)
            return;
        struct pl_next_part *kept = p->heap[at];
        p->heap[at] = p->heap[first];
        p->heap[first] = kept;
    }
}

int pl_passages_begin(struct pl_passages *p, const struct pl_tables *tables, const struct pl_together *of, bool rows)
{
    *p = (struct pl_passages){.tables = tables, .rows = rows, .t = of->transfers[0]};
    if (of->n == 1)
        return 0;
    p->next = calloc(of->n, sizeof *p->next);
    p->heap = calloc(of->n, sizeof *p->heap);
    if (!p->next || !p->heap)
        return -1;
    for (uint32_t i = 0; i < of->n; i++) {
        p->heap[p->n] = &p->next[i];
        p->next[i] = (struct pl_next_part){.t = of->transfers[i]};
        p->n += pl_passages_read(p, of->transfers[i], &p->next[i].cursor, &p->next[i].part);
    }
    for (uint32_t i = p->n / 2; i-- > 0;)
        sink(p, i);
    return 0;
}

bool pl_passages_next_of_several(struct pl_passages *p, struct pl_segment *part)
{
    if (p->n == 0)
        return false;
    struct pl_next_part *next = p->heap[0];
    *part = next->part;
    p->t = next->t;
    next->cursor.row++;
    if (!pl_passages_read(p, next->t, &next->cursor, &next->part))
        p->heap[0] = p->heap[--p->n];
    sink(p, 0);
    return true;
}

void pl_passages_end(struct pl_passages *p)
{
    free(p->next);
    free(p->heap);
    p->next = NULL;
    p->heap = NULL;
}
