/* What a bounded buffer holds, first in, first out. The time at which a packet leaves the buffer is known when it comes
 * in, so the buffer is a ring of those times and sizes, and bytes go out as the caller's clock passes their time.
 * Pacer and drain use it. */
#ifndef COMET_FIFO_H
#define COMET_FIFO_H

#include <stdbool.h>
#include <stdint.h>

struct fifo_entry {
    uint64_t exit_ns;
    uint32_t bytes;
};

/* All zero is empty. */
struct fifo {
    struct fifo_entry *entries; /* ring of what is held, oldest first; NULL before the first */
    uint64_t head, tail, size;  /* head - tail in use; size 0 or a power of two */
    uint64_t bytes, peak_bytes; /* held when last asked, and at most */
};

/* Frees the memory and leaves the buffer as all zero. */
void fifo_free(struct fifo *fifo);

/* Bytes held at `now_ns`, which never falls. What leaves at that time has left. */
uint64_t fifo_held(struct fifo *fifo, uint64_t now_ns);

/* Whether nothing was held when last asked. */
static inline bool fifo_is_empty(const struct fifo *fifo)
{
    return fifo->tail == fifo->head;
}

/* Holds a packet until `exit_ns`, which is not before that of any other. False when the buffer would exceed
 * `limit_bytes` (0: no limit), or when there is no memory. */
bool fifo_hold(struct fifo *fifo, uint64_t limit_bytes, uint64_t exit_ns, uint32_t bytes);

#endif
