#include "store.h"

#include <assert.h>
#include <sys/mman.h>

struct chunk {
    struct chunk *next; /* in the free list */
    uint32_t used;      /* bytes, this header included */
    uint32_t live;      /* packets not yet gone */
};

enum { ALIGN = 16 };
_Static_assert(sizeof(struct chunk) % ALIGN == 0, "packets start aligned");

int store_init(struct store *store, size_t bytes, size_t prefault)
{
    size_t chunks = bytes / STORE_CHUNK < 2 ? 2 : bytes / STORE_CHUNK;
    *store = (struct store){.chunks = chunks};
    store->memory =
        mmap(NULL, chunks * STORE_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (store->memory == MAP_FAILED)
        return -1;
    madvise(store->memory, chunks * STORE_CHUNK, MADV_HUGEPAGE); /* a wish; 4 KB pages work too */
    size_t touch = (prefault + STORE_CHUNK - 1) / STORE_CHUNK;
    if (touch > chunks)
        touch = chunks;
    if (touch && madvise(store->memory, touch * STORE_CHUNK, MADV_POPULATE_WRITE) < 0)
        return -1;
    return 0;
}

void store_free(struct store *store)
{
    munmap(store->memory, store->chunks * STORE_CHUNK);
    store->memory = NULL;
}

static struct chunk *take_chunk(struct store *store)
{
    struct chunk *chunk = store->free;
    if (chunk)
        store->free = chunk->next;
    else if (store->used < store->chunks)
        chunk = (struct chunk *)(store->memory + STORE_CHUNK * store->used++);
    else
        return NULL;
    chunk->used = sizeof *chunk;
    chunk->live = 0;
    return chunk;
}

static void give_chunk(struct store *store, struct chunk *chunk)
{
    chunk->next = store->free;
    store->free = chunk;
}

struct stored *store_reserve(struct store *store, size_t len)
{
    size_t need = sizeof(struct stored) + len;
    assert(need <= STORE_CHUNK - sizeof(struct chunk));
    struct chunk *chunk = store->filling;
    if (!chunk || chunk->used + need > STORE_CHUNK) {
        struct chunk *fresh = take_chunk(store);
        if (!fresh)
            return NULL;
        if (chunk && chunk->live == 0)
            give_chunk(store, chunk);
        store->filling = chunk = fresh;
    }
    struct stored *packet = (struct stored *)((uint8_t *)chunk + chunk->used);
    packet->chunk = chunk;
    return packet;
}

void store_commit(struct store *store, struct stored *packet, uint32_t refs)
{
    assert(refs > 0 && packet->chunk == store->filling);
    assert((uint8_t *)packet == (uint8_t *)packet->chunk + packet->chunk->used); /* nothing released since reserve */
    packet->refs = refs;
    packet->chunk->live++;
    packet->chunk->used += (uint32_t)((sizeof *packet + packet->len + ALIGN - 1) & ~(size_t)(ALIGN - 1));
    store->held_bytes += packet->len;
    if (store->held_bytes > store->held_peak_bytes)
        store->held_peak_bytes = store->held_bytes;
}

void store_retain(struct store *store, struct stored *packet)
{
    (void)store;
    assert(packet->refs > 0);
    packet->refs++;
}

void store_release(struct store *store, struct stored *packet, uint32_t n)
{
    assert(packet->refs >= n);
    packet->refs -= n;
    if (packet->refs > 0)
        return;
    store->held_bytes -= packet->len;
    struct chunk *chunk = packet->chunk;
    assert(chunk->live > 0);
    if (--chunk->live > 0)
        return;
    if (chunk == store->filling)
        chunk->used = sizeof *chunk; /* empty: start again at the warm front */
    else
        give_chunk(store, chunk);
}
