/* A bounded buffer, first in, first out. The time at which a packet leaves the buffer is known when it arrives, so the
 * buffer is a ring of these times and sizes, and bytes leave as the caller's clock passes their time. Pacer and drain
 * use it. */
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
    struct fifo_entry *entries; /* ring of entries, oldest first; NULL before the first */
    uint64_t head, tail, size;  /* head - tail in use; size 0 or a power of two */
    uint64_t bytes, peak_bytes; /* bytes held at the last call, and the maximum */
};

/* Frees the memory and leaves the buffer as all zero. */
void fifo_free(struct fifo *fifo);

/* Bytes held at `now_ns`, which never decreases. Packets that leave at that time are no longer held. */
uint64_t fifo_held(struct fifo *fifo, uint64_t now_ns);

/* Whether nothing was held at the last call. */
static inline bool fifo_is_empty(const struct fifo *fifo)
{
    return fifo->tail == fifo->head;
}

/* Holds a packet until `exit_ns`, which must not be before any earlier packet's. False when the buffer would exceed
 * `limit_bytes` (0: no limit), or when there is no memory. */
bool fifo_hold(struct fifo *fifo, uint64_t limit_bytes, uint64_t exit_ns, uint32_t bytes);

#endif
