#include "pool.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGN = 64, RESERVE = 64, KEPT_EMPTY = 1 };
#define SLAB_BYTES ((size_t)1 << 18)

/* The description of a slab is separate from its memory, which may have been returned to the system. */
struct slab {
    struct slab *previous, *next; /* neighbours in `partial`, `empty` or `absent` */
    struct lft_buffer *free;
    /* used: buffers in use. carved: buffers that the slab's memory has been divided into so far */
    uint32_t used, carved;
};
struct list {
    struct slab *first;
};

struct lft_pool {
    size_t buffer_bytes, stride, limit, used;
    uint8_t *memory; /* address space of all slabs; a page takes memory once it is used */
    size_t slabs_n;
    uint32_t slab_buffers;
    struct slab *slabs;
    struct list partial, empty, absent; /* a full slab is in no list; an absent one has no memory */
    size_t empty_n, empty_least;        /* empty_least: the smallest empty_n since the last trim */
};

static void push(struct list *list, struct slab *slab)
{
    slab->previous = NULL;
    slab->next = list->first;
    if (list->first)
        list->first->previous = slab;
    list->first = slab;
}

static void unlink_slab(struct list *list, struct slab *slab)
{
    *(slab->previous ? &slab->previous->next : &list->first) = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static bool reserve(struct lft_pool *pool)
{
    pool->slabs_n = (pool->limit + pool->slab_buffers - 1) / pool->slab_buffers;
    pool->slabs = calloc(pool->slabs_n, sizeof *pool->slabs);
    void *memory = mmap(NULL, pool->slabs_n * SLAB_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pool->memory = memory == MAP_FAILED ? NULL : memory;
    for (size_t i = pool->slabs ? pool->slabs_n : 0; i-- > 0;)
        push(&pool->absent, &pool->slabs[i]);
    return pool->slabs && pool->memory;
}

struct lft_pool *lft_pool_create(size_t buffer_bytes, size_t limit_bytes)
{
    struct lft_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    pool->stride = (sizeof(struct lft_buffer) + buffer_bytes + ALIGN - 1) / ALIGN * ALIGN;
    pool->buffer_bytes = pool->stride - sizeof(struct lft_buffer);
    pool->slab_buffers = (uint32_t)(SLAB_BYTES / pool->stride);
    assert(pool->slab_buffers);
    pool->limit = limit_bytes / pool->stride;
    if (pool->limit < 4 * RESERVE)
        pool->limit = 4 * RESERVE;
    if (reserve(pool))
        return pool;
    lft_pool_destroy(pool);
    return NULL;
}

void lft_pool_destroy(struct lft_pool *pool)
{
    if (!pool)
        return;
    if (pool->memory)
        munmap(pool->memory, pool->slabs_n * SLAB_BYTES);
    free(pool->slabs);
    free(pool);
}

/* Returns a slab with a free buffer. It prefers a partly used slab, so that other slabs become empty and stay empty. */
static struct slab *slab_with_room(struct lft_pool *pool)
{
    struct slab *slab = pool->partial.first;
    if (slab)
        return slab;
    slab = pool->empty.first;
    if (slab) {
        unlink_slab(&pool->empty, slab);
        if (--pool->empty_n < pool->empty_least)
            pool->empty_least = pool->empty_n;
    } else if ((slab = pool->absent.first))
        unlink_slab(&pool->absent, slab);
    if (slab)
        push(&pool->partial, slab);
    return slab;
}

struct lft_buffer *lft_pool_take(struct lft_pool *pool, int urgent)
{
    if (pool->used + (urgent ? 0 : RESERVE) >= pool->limit)
        return NULL;
    struct slab *slab = slab_with_room(pool);
    if (!slab)
        return NULL;
    struct lft_buffer *buffer = slab->free;
    if (buffer) {
        slab->free = buffer->next;
        __builtin_prefetch(slab->free, 1);
    } else
        buffer = (struct lft_buffer *)(pool->memory + (size_t)(slab - pool->slabs) * SLAB_BYTES +
                                       slab->carved++ * pool->stride);
    if (++slab->used == pool->slab_buffers)
        unlink_slab(&pool->partial, slab);
    pool->used++;
    buffer->next = NULL;
    buffer->references = 1;
    return buffer;
}

void lft_pool_release(struct lft_pool *pool, struct lft_buffer *buffer)
{
    assert(buffer->references);
    if (--buffer->references)
        return;
    struct slab *slab = &pool->slabs[(size_t)((uint8_t *)buffer - pool->memory) / SLAB_BYTES];
    if (slab->used-- == pool->slab_buffers)
        push(&pool->partial, slab);
    if (!slab->used) {
        unlink_slab(&pool->partial, slab);
        push(&pool->empty, slab);
        pool->empty_n++;
    }
    buffer->next = slab->free;
    slab->free = buffer;
    pool->used--;
}

void lft_pool_trim(struct lft_pool *pool)
{
    for (; pool->empty_least > KEPT_EMPTY; pool->empty_least--) {
        struct slab *slab = pool->empty.first;
        unlink_slab(&pool->empty, slab);
        pool->empty_n--;
        slab->free = NULL;
        slab->carved = 0;
        madvise(pool->memory + (size_t)(slab - pool->slabs) * SLAB_BYTES, SLAB_BYTES, MADV_DONTNEED);
        push(&pool->absent, slab);
    }
    pool->empty_least = pool->empty_n;
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
