/* A single-producer single-consumer ring of variable-length records: each record is 8 bytes that hold its length,
 * then its own bytes, 8-byte aligned and contiguous (a record that would cross the end starts again at the front,
 * and the gap is marked). It connects two threads or, in shared memory, two processes; neither ever waits for the
 * other. Invariant: head and tail only grow and are multiples of 8; tail <= head <= tail + capacity; the producer
 * alone writes head, the consumer alone writes tail, each on its own cache line with the other's value as last read.
 * Rejected: a ring of pointers. It needs an allocator on one side and a free list back to the other. */
#ifndef PKTLOGGER_RING_H
#define PKTLOGGER_RING_H

#include <stddef.h>
#include <stdint.h>

struct pl_ring; /* lives inside the memory it manages */

/* Bytes of memory needed for `capacity` data bytes (a power of two, 4 KiB … 1 TiB). */
size_t pl_ring_bytes(size_t capacity);

/* Lays a ring out in `memory` (pl_ring_bytes, 64-byte aligned). Asserts on a bad capacity. */
struct pl_ring *pl_ring_init(void *memory, size_t capacity);

/* Makes a ring in anonymous, prefaulted memory of its own, with huge pages if allowed. NULL with errno on failure. */
struct pl_ring *pl_ring_create(size_t capacity);

/* Unmaps the memory that pl_ring_create mapped; NULL is allowed. Not for rings from pl_ring_init. */
void pl_ring_destroy(struct pl_ring *ring);

/* Producer: room for a record of up to `len` bytes (at most capacity / 2 - 8), or NULL when full. The record exists for
 * the consumer only after pl_ring_commit with its final length (<= len). A reserve without commit may be repeated.
 * Asserts on a longer record and on a commit without reserve, because those are bugs. A full ring is not. */
void *pl_ring_reserve(struct pl_ring *ring, size_t len);
void pl_ring_commit(struct pl_ring *ring, size_t len);

/* Consumer: the oldest record and its length, or NULL when empty; valid until released. */
const void *pl_ring_peek(struct pl_ring *ring, size_t *len);
void pl_ring_release(struct pl_ring *ring);

/* Bytes in use as either side sees them, gaps and lengths included; 0 … capacity. A third party may read it too. */
size_t pl_ring_used(const struct pl_ring *ring);

#endif
