/* head and tail count bytes since the beginning; their low bits are a position in the data. A release store of a side's
 * own counter publishes what the side has written or read before it; an acquire load of the other's counter makes that
 * data safe to use. */
#include "ring.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { CACHE_LINE = 64, RECORD_HEADER = 8 };
#define CAPACITY_MIN ((size_t)4 << 10)
#define CAPACITY_MAX ((size_t)1 << 40)
#define HUGE_PAGE ((size_t)2 << 20)
#define GAP UINT32_MAX /* stands for a length: nothing more follows up to the end of the data */

struct pl_ring {
    alignas(CACHE_LINE) size_t capacity;
    void *mapping; /* of pl_ring_create */
    size_t mapping_len;

    /* the producer's */
    alignas(CACHE_LINE) _Atomic uint64_t head;
    uint64_t seen_tail;
    uint64_t reserved_at;  /* where the reserved record begins: at head, or after the gap */
    uint64_t reserved_len; /* with its header; 0: nothing reserved */

    /* the consumer's */
    alignas(CACHE_LINE) _Atomic uint64_t tail;
    uint64_t seen_head;

    alignas(CACHE_LINE) uint8_t data[];
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "counters shared between processes must not need a lock");

static uint64_t record_len(size_t len)
{
    return RECORD_HEADER + (((uint64_t)len + 7) & ~UINT64_C(7));
}

static uint32_t *length_at(struct pl_ring *ring, uint64_t counter)
{
    return (uint32_t *)(ring->data + (counter & (ring->capacity - 1)));
}

/* Bytes from a counter's position to the end of the data: a multiple of 8, at least 8. */
static uint64_t to_end(const struct pl_ring *ring, uint64_t counter)
{
    return ring->capacity - (counter & (ring->capacity - 1));
}

size_t pl_ring_bytes(size_t capacity)
{
    return sizeof(struct pl_ring) + capacity;
}

struct pl_ring *pl_ring_init(void *memory, size_t capacity)
{
    assert((uintptr_t)memory % CACHE_LINE == 0);
    assert(capacity >= CAPACITY_MIN && capacity <= CAPACITY_MAX && (capacity & (capacity - 1)) == 0);
    struct pl_ring *ring = memory;
    ring->capacity = capacity;
    ring->mapping = NULL;
    ring->mapping_len = 0;
    ring->seen_tail = ring->seen_head = ring->reserved_at = ring->reserved_len = 0;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    return ring;
}

/* Touches all of the memory now, because touching a fresh page costs more than a packet that is written to it. */
static int prefault(uint8_t *memory, size_t len)
{
    madvise(memory, len, MADV_HUGEPAGE); /* a wish */
    if (madvise(memory, len, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno != EINVAL) /* EINVAL: Linux before 5.14 */
        return -1;
    for (size_t at = 0; at < len; at += 4096)
        ((volatile uint8_t *)memory)[at] = 0;
    return 0;
}

struct pl_ring *pl_ring_create(size_t capacity)
{
    size_t len = pl_ring_bytes(capacity), mapping_len = len + HUGE_PAGE; /* extra space so that the data can begin on a
                                                                          * huge page */
    void *mapping = mmap(NULL, mapping_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    uint8_t *memory = (uint8_t *)(((uintptr_t)mapping + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
    if (prefault(memory, len) < 0) {
        int saved = errno;
        munmap(mapping, mapping_len);
        errno = saved;
        return NULL;
    }
    struct pl_ring *ring = pl_ring_init(memory, capacity);
    ring->mapping = mapping;
    ring->mapping_len = mapping_len;
    return ring;
}

void pl_ring_destroy(struct pl_ring *ring)
{
    if (!ring)
        return;
    assert(ring->mapping);
    munmap(ring->mapping, ring->mapping_len);
}

void *pl_ring_reserve(struct pl_ring *ring, size_t len)
{
    assert(len <= ring->capacity / 2 - RECORD_HEADER && len < GAP);
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t record = record_len(len), room = to_end(ring, head), gap = record <= room ? 0 : room;
    if (head + gap + record - ring->seen_tail > ring->capacity) {
        ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head + gap + record - ring->seen_tail > ring->capacity)
            return NULL;
    }
    if (gap)
        *length_at(ring, head) = GAP;
    ring->reserved_at = head + gap;
    ring->reserved_len = record;
    return (uint8_t *)length_at(ring, ring->reserved_at) + RECORD_HEADER;
}

void pl_ring_commit(struct pl_ring *ring, size_t len)
{
    assert(ring->reserved_len && record_len(len) <= ring->reserved_len);
    *length_at(ring, ring->reserved_at) = (uint32_t)len;
    ring->reserved_len = 0;
    atomic_store_explicit(&ring->head, ring->reserved_at + record_len(len), memory_order_release);
}

const void *pl_ring_peek(struct pl_ring *ring, size_t *len)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (tail == ring->seen_head) {
        ring->seen_head = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (tail == ring->seen_head)
            return NULL;
    }
    if (*length_at(ring, tail) == GAP) { /* becomes visible together with the record after it */
        tail += to_end(ring, tail);
        atomic_store_explicit(&ring->tail, tail, memory_order_release);
    }
    *len = *length_at(ring, tail);
    return (uint8_t *)length_at(ring, tail) + RECORD_HEADER;
}

void pl_ring_release(struct pl_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint32_t len = *length_at(ring, tail);
    assert(tail != ring->seen_head && len != GAP); /* only what was peeked at */
    atomic_store_explicit(&ring->tail, tail + record_len(len), memory_order_release);
}

size_t pl_ring_used(const struct pl_ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    uint64_t used = atomic_load_explicit(&ring->head, memory_order_acquire) - tail;
    return used < ring->capacity ? (size_t)used : ring->capacity; /* tail was read first: used may be too large */
}
