#include "fifo.h"

#include <assert.h>
#include <stdlib.h>

enum { ENTRIES_FIRST = 1024 };

void fifo_free(struct fifo *fifo)
{
    free(fifo->entries);
    *fifo = (struct fifo){0};
}

uint64_t fifo_held(struct fifo *f, uint64_t now_ns)
{
    while (f->tail != f->head && f->entries[f->tail & (f->size - 1)].exit_ns <= now_ns)
        f->bytes -= f->entries[f->tail++ & (f->size - 1)].bytes;
    assert(f->tail != f->head || f->bytes == 0);
    return f->bytes;
}

/* Makes room for one more entry; doubles the ring when it is full. */
static bool reserve(struct fifo *f)
{
    if (f->head - f->tail < f->size)
        return true;
    uint64_t size = f->size ? f->size * 2 : ENTRIES_FIRST;
    struct fifo_entry *entries = malloc(size * sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t i = f->tail; i != f->head; i++)
        entries[i & (size - 1)] = f->entries[i & (f->size - 1)];
    free(f->entries);
    f->entries = entries;
    f->size = size;
    return true;
}

bool fifo_hold(struct fifo *f, uint64_t limit_bytes, uint64_t exit_ns, uint32_t bytes)
{
    if ((limit_bytes && f->bytes + bytes > limit_bytes) || !reserve(f))
        return false;
    f->entries[f->head++ & (f->size - 1)] = (struct fifo_entry){exit_ns, bytes};
    f->bytes += bytes;
    if (f->bytes > f->peak_bytes)
        f->peak_bytes = f->bytes;
    return true;
}
