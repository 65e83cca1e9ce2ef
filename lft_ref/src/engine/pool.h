/* Frame buffers of one size with reference counts. They come from slabs of 256 KB, whose number a limit bounds. A
 * buffer that nobody holds returns to its slab. A slab that stays empty from one lft_pool_trim to the next returns
 * its memory to the system. So resident memory follows the use, while memory that is freed and allocated again within a
 * round trip is not faulted in each time. Not thread-safe.
 * Rejected: malloc for every frame; a thousand sessions over a long path would fragment the heap, and the free list
 * that is hot in the cache would be lost. */
#ifndef LFT_POOL_H
#define LFT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct lft_buffer {
    struct lft_buffer *next; /* link of the free list; while the buffer is in use, its holder may use this field */
    uint32_t references;
    _Alignas(8) uint8_t at[]; /* struct lft_block lives here, too */
};

struct lft_pool;
struct lft_pool *lft_pool_create(size_t buffer_bytes, size_t limit_bytes); /* NULL: no memory */
void lft_pool_destroy(struct lft_pool *pool);                              /* frees all buffers, held or not */
size_t lft_pool_buffer_bytes(const struct lft_pool *pool);                 /* room in at[] */
/* Returns a buffer with one reference, or NULL when the limit is reached. Only `urgent` callers get the last 64 buffers
 * of a pool. */
struct lft_buffer *lft_pool_take(struct lft_pool *pool, int urgent);
static inline struct lft_buffer *lft_buffer_hold(struct lft_buffer *buffer)
{
    buffer->references++;
    return buffer;
}
void lft_pool_release(struct lft_pool *pool, struct lft_buffer *buffer);
/* Returns to the system the memory of slabs that have been empty since the last call. Call it about once a second. */
void lft_pool_trim(struct lft_pool *pool);
size_t lft_pool_used(const struct lft_pool *pool);  /* buffers in use */
size_t lft_pool_limit(const struct lft_pool *pool); /* the most buffers */

#endif
