/* Memory for the packets in a direction. It consists of 2 MB chunks that are filled front to back; a chunk is reused
 * when the last packet in it is gone. Packets leave nearly in the order in which they arrived, so at any moment few
 * chunks are half empty. The chunk used last is reused first: a box that holds 20 MB uses 20 MB of mapped, cached pages
 * again and again, however large the bound is.
 * Rejected: a ring sized for the worst case. It cycles through all of its memory, and touching memory costs most. */
#ifndef COMET_PACKET_POOL_H
#define COMET_PACKET_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { POOL_CHUNK = 2 << 20 };

struct chunk;

/* One packet as it was read: `len` bytes from the virtio-net header on. */
struct packet_buffer {
    struct chunk *chunk;
    uint32_t len : 31;
    uint32_t recorded : 1; /* its frame is recorded, so the fates of its wire packets must be, too */
    uint32_t refs;         /* its wire packets that have not left yet */
    uint8_t data[];
};

struct packet_pool {
    uint8_t *memory;
    size_t chunks;      /* in the reservation */
    size_t used;        /* of them ever touched */
    struct chunk *free; /* touched and empty; last used first */
    struct chunk *filling;
    uint64_t held_bytes, held_peak_bytes; /* packet bytes */
};

/* Reserves address space for `bytes` and touches the first `prefault` of them, fewer when the process is asked to end
 * meanwhile. Returns 0, or -1 with errno. */
int packet_pool_init(struct packet_pool *pool, size_t bytes, size_t prefault);
void packet_pool_free(struct packet_pool *pool);

/* Room for a packet of up to `len` bytes, or NULL when the bound is reached. The room is reserved only by
 * packet_pool_commit; until then the release of any packet invalidates it. */
struct packet_buffer *packet_pool_reserve(struct packet_pool *pool, size_t len);

/* packet_pool_commit keeps the packet just reserved, whose length is set, until all its references are released: `refs`
 * (> 0), and one for each packet_pool_retain. packet_pool_release releases `n` references. */
void packet_pool_commit(struct packet_pool *pool, struct packet_buffer *packet, uint32_t refs);
void packet_pool_retain(struct packet_pool *pool, struct packet_buffer *packet);
void packet_pool_release(struct packet_pool *pool, struct packet_buffer *packet, uint32_t n);

#endif
