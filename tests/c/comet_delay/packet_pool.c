/* The packet pool: contents are kept, chunks are reused, and the bound holds. */
#include "packet_pool.h"

#include <signal.h>
#include <sys/mman.h>

#include "check.h"
#include "nc_program.h"
#include "random.h"

static struct packet_buffer *put(struct packet_pool *pool, uint32_t len, uint8_t fill)
{
    struct packet_buffer *packet = packet_pool_reserve(pool, 70000);
    if (!packet)
        return NULL;
    packet->len = len;
    memset(packet->data, fill, len);
    packet_pool_commit(pool, packet, 1);
    return packet;
}

static void a_light_load_stays_in_one_chunk(void)
{
    struct packet_pool pool;
    CHECK_EQ(packet_pool_init(&pool, 64 << 20, 0), 0);
    for (int i = 0; i < 100000; i++)
        packet_pool_release(&pool, put(&pool, 1514, 1), 1);
    CHECK_EQ(pool.used, 1);
    CHECK_EQ(pool.held_bytes, 0);
    packet_pool_free(&pool);
}

static void the_bound_holds_and_memory_comes_back(void)
{
    enum { MAX = 2000 };
    static struct packet_buffer *held[MAX];
    struct packet_pool pool;
    int n = 0;
    CHECK_EQ(packet_pool_init(&pool, 8 << 20, 8 << 20), 0);
    while (n < MAX && (held[n] = put(&pool, 65000, 2)))
        n++;
    CHECK(n > 110 && n < 129); /* 8 MB, minus the unused end of each chunk */
    for (int i = 0; i < n; i++)
        packet_pool_release(&pool, held[i], 1);
    CHECK_EQ(pool.held_bytes, 0);
    CHECK(put(&pool, 65000, 3) != NULL);
    packet_pool_free(&pool);
}

static void contents_survive_a_random_walk(void)
{
    enum { SLOTS = 512 };
    static struct {
        struct packet_buffer *packet;
        uint8_t fill;
    } slots[SLOTS];
    struct packet_pool pool;
    CHECK_EQ(packet_pool_init(&pool, 256 << 20, 0), 0);
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t r = random_u64(42, i);
        unsigned slot = r % SLOTS;
        if (slots[slot].packet) {
            struct packet_buffer *packet = slots[slot].packet;
            CHECK_EQ(packet->data[0], slots[slot].fill);
            CHECK_EQ(packet->data[packet->len - 1], slots[slot].fill);
            packet_pool_release(&pool, packet, 1);
            slots[slot].packet = NULL;
        } else {
            slots[slot].fill = (uint8_t)(r >> 32);
            slots[slot].packet = put(&pool, (uint32_t)(60 + (r >> 20) % 3000), slots[slot].fill);
            CHECK(slots[slot].packet != NULL);
        }
    }
    packet_pool_free(&pool);
}

static void a_packet_of_several_parts_lives_until_the_last(void)
{
    struct packet_pool pool;
    CHECK_EQ(packet_pool_init(&pool, 8 << 20, 0), 0);
    struct packet_buffer *packet = packet_pool_reserve(&pool, 5000);
    packet->len = 5000;
    packet_pool_commit(&pool, packet, 3);
    packet_pool_release(&pool, packet, 1);
    packet_pool_release(&pool, packet, 1);
    CHECK_EQ(pool.held_bytes, 5000);
    packet_pool_release(&pool, packet, 1);
    CHECK_EQ(pool.held_bytes, 0);
    packet_pool_free(&pool);
}

/* The box blocks the signals that end it before it allocates its memory. */
static void memory_is_not_touched_for_a_process_that_is_asked_to_end(void)
{
    enum { BYTES = 64 << 20, PAGES = BYTES >> 12 };
    static unsigned char resident[PAGES];
    struct packet_pool pool;
    int signals = nc_program_open_signals(), touched = 0;
    raise(SIGTERM);
    CHECK_EQ(packet_pool_init(&pool, BYTES, BYTES), 0);
    CHECK_EQ(mincore(pool.memory, BYTES, resident), 0);
    for (int i = 0; i < PAGES; i++)
        touched += resident[i] & 1;
    CHECK_EQ(touched, 0);
    CHECK(put(&pool, 65000, 4) != NULL);
    packet_pool_free(&pool);
    nc_program_close_signals(signals);
}

int main(void)
{
    RUN(a_light_load_stays_in_one_chunk);
    RUN(the_bound_holds_and_memory_comes_back);
    RUN(contents_survive_a_random_walk);
    RUN(a_packet_of_several_parts_lives_until_the_last);
    RUN(memory_is_not_touched_for_a_process_that_is_asked_to_end);
    return 0;
}
