/* Memory for the packets that are on their way: 2 MB chunks filled front to back, a chunk returned when the last packet
 * in it is gone. Packets leave nearly in the order they came, so at any moment few chunks are half empty.
 * Chunks are handed out last-used-first: a box that holds 20 MB cycles through 20 MB, cache-warm and page-mapped, however
 * large the bound is. Rejected: a ring sized for the worst case; it walks through all of its memory for ever, and
 * touching memory is what costs most. */
#ifndef COMET_STORE_H
#define COMET_STORE_H

#include <stddef.h>
#include <stdint.h>

enum { STORE_CHUNK = 2 << 20 };

struct chunk;

/* One packet as it was read: `len` bytes from the virtio-net header on. */
struct stored {
    struct chunk *chunk;
    uint32_t len : 31;
    uint32_t recorded : 1; /* its wire packets are told to the recorder */
    uint32_t refs;  /* wire packets of it still on their way */
    uint8_t data[];
};

struct store {
    uint8_t *memory;
    size_t chunks;       /* in the reservation */
    size_t used;         /* of them ever touched */
    struct chunk *free;  /* touched, empty; last used first */
    struct chunk *filling;
    uint64_t held_bytes, held_peak_bytes; /* packet bytes */
};

/* Reserves address space for `bytes` and touches the first `prefault` of them. 0, or -1 with errno. */
int store_init(struct store *store, size_t bytes, size_t prefault);
void store_free(struct store *store);

/* Room for a packet of up to `len` bytes, or NULL when the bound is reached. Nothing is taken before store_commit; it
 * is void once any packet has been released. */
struct stored *store_reserve(struct store *store, size_t len);

/* Keeps the packet just reserved, with its length set, until its `refs` (> 0) are released, `n` at a time;
 * store_retain adds one. */
void store_commit(struct store *store, struct stored *packet, uint32_t refs);
void store_retain(struct store *store, struct stored *packet);
void store_release(struct store *store, struct stored *packet, uint32_t n);

#endif
