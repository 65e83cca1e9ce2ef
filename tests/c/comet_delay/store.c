/* The packet store: contents survive, chunks are reused, the bound holds. */
#include "store.h"

#include "check.h"
#include "random.h"

static struct stored *put(struct store *store, uint32_t len, uint8_t fill)
{
    struct stored *packet = store_reserve(store, 70000);
    if (!packet)
        return NULL;
    packet->len = len;
    memset(packet->data, fill, len);
    store_commit(store, packet, 1);
    return packet;
}

static void a_light_load_stays_in_one_chunk(void)
{
    struct store store;
    CHECK_EQ(store_init(&store, 64 << 20, 0), 0);
    for (int i = 0; i < 100000; i++)
        store_release(&store, put(&store, 1514, 1), 1);
    CHECK_EQ(store.used, 1);
    CHECK_EQ(store.held_bytes, 0);
    store_free(&store);
}

static void the_bound_holds_and_memory_comes_back(void)
{
    enum { MAX = 2000 };
    static struct stored *held[MAX];
    struct store store;
    int n = 0;
    CHECK_EQ(store_init(&store, 8 << 20, 8 << 20), 0);
    while (n < MAX && (held[n] = put(&store, 65000, 2)))
        n++;
    CHECK(n > 110 && n < 129); /* 8 MB, less what is left over at the end of each chunk */
    for (int i = 0; i < n; i++)
        store_release(&store, held[i], 1);
    CHECK_EQ(store.held_bytes, 0);
    CHECK(put(&store, 65000, 3) != NULL);
    store_free(&store);
}

static void contents_survive_a_random_walk(void)
{
    enum { SLOTS = 512 };
    static struct { struct stored *packet; uint8_t fill; } slots[SLOTS];
    struct store store;
    CHECK_EQ(store_init(&store, 256 << 20, 0), 0);
    for (uint64_t i = 0; i < 200000; i++) {
        uint64_t r = random_u64(42, i);
        unsigned slot = r % SLOTS;
        if (slots[slot].packet) {
            struct stored *packet = slots[slot].packet;
            CHECK_EQ(packet->data[0], slots[slot].fill);
            CHECK_EQ(packet->data[packet->len - 1], slots[slot].fill);
            store_release(&store, packet, 1);
            slots[slot].packet = NULL;
        } else {
            slots[slot].fill = (uint8_t)(r >> 32);
            slots[slot].packet = put(&store, (uint32_t)(60 + (r >> 20) % 3000), slots[slot].fill);
            CHECK(slots[slot].packet != NULL);
        }
    }
    store_free(&store);
}

static void a_packet_of_several_parts_lives_until_the_last(void)
{
    struct store store;
    CHECK_EQ(store_init(&store, 8 << 20, 0), 0);
    struct stored *packet = store_reserve(&store, 5000);
    packet->len = 5000;
    store_commit(&store, packet, 3);
    store_release(&store, packet, 1);
    store_release(&store, packet, 1);
    CHECK_EQ(store.held_bytes, 5000);
    store_release(&store, packet, 1);
    CHECK_EQ(store.held_bytes, 0);
    store_free(&store);
}

int main(void)
{
    RUN(a_light_load_stays_in_one_chunk);
    RUN(the_bound_holds_and_memory_comes_back);
    RUN(contents_survive_a_random_walk);
    RUN(a_packet_of_several_parts_lives_until_the_last);
    return 0;
}
