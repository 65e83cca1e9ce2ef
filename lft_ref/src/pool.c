#include "pool.h"

#include <assert.h>
#include <stdlib.h>

enum { SLAB_BUFFERS = 64, ALIGN = 64, RESERVE = 64 };

struct slab {
    struct slab *next;
};

struct lft_pool {
    size_t buffer_bytes, stride, limit, made, used;
    struct lft_buffer *free;
    struct slab *slabs;
};

struct lft_pool *lft_pool_create(size_t buffer_bytes, size_t limit_bytes)
{
    struct lft_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->stride = (sizeof(struct lft_buffer) + buffer_bytes + ALIGN - 1) / ALIGN * ALIGN;
    pool->buffer_bytes = pool->stride - sizeof(struct lft_buffer);
    pool->limit = limit_bytes / pool->stride;
    if (pool->limit < 4 * RESERVE)
        pool->limit = 4 * RESERVE;
    return pool;
}

void lft_pool_destroy(struct lft_pool *pool)
{
    if (!pool)
        return;
    for (struct slab *slab = pool->slabs, *next; slab; slab = next) {
        next = slab->next;
        free(slab);
    }
    free(pool);
}

static void grow(struct lft_pool *pool)
{
    struct slab *slab = aligned_alloc(ALIGN, ALIGN + SLAB_BUFFERS * pool->stride);
    if (!slab)
        return;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (size_t i = SLAB_BUFFERS; i-- > 0;) {
        struct lft_buffer *buffer = (struct lft_buffer *)((uint8_t *)slab + ALIGN + i * pool->stride);
        buffer->next = pool->free;
        pool->free = buffer;
    }
    pool->made += SLAB_BUFFERS;
}

struct lft_buffer *lft_pool_take(struct lft_pool *pool, int urgent)
{
    if (pool->used + (urgent ? 0 : RESERVE) >= pool->limit)
        return NULL;
    if (!pool->free)
        grow(pool);
    struct lft_buffer *buffer = pool->free;
    if (!buffer)
        return NULL;
    pool->free = buffer->next;
    pool->used++;
    buffer->next = NULL;
    buffer->references = 1;
    buffer->used = 0;
    return buffer;
}

void lft_pool_release(struct lft_pool *pool, struct lft_buffer *buffer)
{
    assert(buffer->references);
    if (--buffer->references)
        return;
    buffer->next = pool->free;
    pool->free = buffer;
    pool->used--;
}

size_t lft_pool_buffer_bytes(const struct lft_pool *pool)
{
    return pool->buffer_bytes;
}

size_t lft_pool_used(const struct lft_pool *pool)
{
    return pool->used;
}

size_t lft_pool_limit(const struct lft_pool *pool)
{
    return pool->limit;
}
