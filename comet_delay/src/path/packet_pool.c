#include "packet_pool.h"

#include <assert.h>
#include <sys/mman.h>

#include "nc_program.h"
#include "nc_range.h"

struct chunk {
    struct chunk *next; /* in the free list */
    uint32_t used;      /* bytes, this header included */
    uint32_t live;      /* packets not yet gone */
};

enum { ALIGN = 16, TOUCHED_AT_ONCE = 16 };
_Static_assert(sizeof(struct chunk) % ALIGN == 0, "packets start aligned");

/* The kernel clears a gigabyte in a second or more, so a signal that asks the process to end stops this. */
static int touch(const struct packet_pool *pool, size_t chunks)
{
    for (size_t i = 0; i < chunks && !nc_program_end_waits(); i += TOUCHED_AT_ONCE) {
        size_t n = nc_min(chunks - i, TOUCHED_AT_ONCE);
        if (madvise(pool->memory + i * POOL_CHUNK, n * POOL_CHUNK, MADV_POPULATE_WRITE) < 0)
            return -1;
    }
    return 0;
}

int packet_pool_init(struct packet_pool *pool, size_t bytes, size_t prefault)
{
    size_t chunks = bytes / POOL_CHUNK < 2 ? 2 : bytes / POOL_CHUNK;
    *pool = (struct packet_pool){.chunks = chunks};
    pool->memory =
        mmap(NULL, chunks * POOL_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool->memory == MAP_FAILED)
        return -1;
    madvise(pool->memory, chunks * POOL_CHUNK, MADV_HUGEPAGE); /* only a request: 4 KB pages work, too */
    return touch(pool, nc_min((prefault + POOL_CHUNK - 1) / POOL_CHUNK, chunks));
}

void packet_pool_free(struct packet_pool *pool)
{
    munmap(pool->memory, pool->chunks * POOL_CHUNK);
    pool->memory = NULL;
}

static struct chunk *take_chunk(struct packet_pool *pool)
{
    struct chunk *chunk = pool->free;
    if (chunk)
        pool->free = chunk->next;
    else if (pool->used < pool->chunks)
        chunk = (struct chunk *)(pool->memory + POOL_CHUNK * pool->used++);
    else
        return NULL;
    chunk->used = sizeof *chunk;
    chunk->live = 0;
    return chunk;
}

static void give_chunk(struct packet_pool *pool, struct chunk *chunk)
{
    chunk->next = pool->free;
    pool->free = chunk;
}

struct packet_buffer *packet_pool_reserve(struct packet_pool *pool, size_t len)
{
    size_t need = sizeof(struct packet_buffer) + len;
    assert(need <= POOL_CHUNK - sizeof(struct chunk));
    struct chunk *chunk = pool->filling;
    if (!chunk || chunk->used + need > POOL_CHUNK) {
        struct chunk *fresh = take_chunk(pool);
        if (!fresh)
            return NULL;
        if (chunk && chunk->live == 0)
            give_chunk(pool, chunk);
        pool->filling = chunk = fresh;
    }
    struct packet_buffer *packet = (struct packet_buffer *)((uint8_t *)chunk + chunk->used);
    packet->chunk = chunk;
    return packet;
}

void packet_pool_commit(struct packet_pool *pool, struct packet_buffer *packet, uint32_t refs)
{
    assert(refs > 0 && packet->chunk == pool->filling);
    assert((uint8_t *)packet == (uint8_t *)packet->chunk + packet->chunk->used); /* nothing released since reserve */
    packet->refs = refs;
    packet->chunk->live++;
    packet->chunk->used += (uint32_t)((sizeof *packet + packet->len + ALIGN - 1) & ~(size_t)(ALIGN - 1));
    pool->held_bytes += packet->len;
    if (pool->held_bytes > pool->held_peak_bytes)
        pool->held_peak_bytes = pool->held_bytes;
}

void packet_pool_retain(struct packet_pool *pool, struct packet_buffer *packet)
{
    (void)pool;
    assert(packet->refs > 0);
    packet->refs++;
}

void packet_pool_release(struct packet_pool *pool, struct packet_buffer *packet, uint32_t n)
{
    assert(packet->refs >= n);
    packet->refs -= n;
    if (packet->refs > 0)
        return;
    pool->held_bytes -= packet->len;
    struct chunk *chunk = packet->chunk;
    assert(chunk->live > 0);
    if (--chunk->live > 0)
        return;
    if (chunk == pool->filling)
        chunk->used = sizeof *chunk; /* empty: start again at the front, which is in the cache */
    else
        give_chunk(pool, chunk);
}
