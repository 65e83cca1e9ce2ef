/* Frame buffers: fixed size, counted references, from slabs of 256 KB that a limit bounds. A buffer that nobody holds goes back to
 * its slab; slabs that stay empty from one lft_pool_trim to the next give their memory back, so that what is resident follows the
 * use, and what comes and goes with a round trip does not fault pages in again and again.
 * One thread. Rejected: malloc a frame; a thousand sessions over a long path would fragment it, and the free list that is hot in the cache
 * would be lost. */
#ifndef LFT_POOL_H
#define LFT_POOL_H

#include <stddef.h>
#include <stdint.h>

struct lft_buffer {
    struct lft_buffer *next; /* free list; the holder's while in use */
    uint32_t references;
    uint32_t used; /* octets of `at` that mean something, as its holders agree */
    uint8_t at[];
};

struct lft_pool;
struct lft_pool *lft_pool_create(size_t buffer_bytes, size_t limit_bytes); /* NULL: no memory */
void lft_pool_destroy(struct lft_pool *pool);                              /* all buffers at once, held or not */
size_t lft_pool_buffer_bytes(const struct lft_pool *pool);                 /* room in at[] */
/* One reference; NULL when the limit is reached (then the last `reserve` buffers of every pool still go to `urgent` callers). */
struct lft_buffer *lft_pool_take(struct lft_pool *pool, int urgent);
static inline struct lft_buffer *lft_buffer_hold(struct lft_buffer *buffer)
{
    buffer->references++;
    return buffer;
}
void lft_pool_release(struct lft_pool *pool, struct lft_buffer *buffer);
/* Call about once a second: returns the memory of slabs that no buffer of was taken since the last call. */
void lft_pool_trim(struct lft_pool *pool);
size_t lft_pool_used(const struct lft_pool *pool);  /* buffers in use */
size_t lft_pool_limit(const struct lft_pool *pool); /* buffers */

#endif
