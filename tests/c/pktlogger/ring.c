#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include "check.h"
#include "ring.h"
#include "seeded.h"

#define TRANSFERS 5000000
enum { SMALL = 4096 };

static void push(struct pl_ring *ring, size_t len, uint8_t mark)
{
    uint8_t *record = pl_ring_reserve(ring, len);
    CHECK(record);
    memset(record, mark, len);
    pl_ring_commit(ring, len);
}

static void expect(struct pl_ring *ring, size_t want_len, uint8_t mark)
{
    size_t len;
    const uint8_t *record = pl_ring_peek(ring, &len);
    CHECK(record);
    CHECK_EQ(len, want_len);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(record[i], mark);
    pl_ring_release(ring);
}

static void oldest_first_until_empty(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    size_t len;
    CHECK(ring);
    CHECK(!pl_ring_peek(ring, &len));
    push(ring, 5, 1);
    push(ring, 0, 2);
    push(ring, 100, 3);
    CHECK_EQ(pl_ring_used(ring), 16 + 8 + 112);
    expect(ring, 5, 1);
    expect(ring, 0, 2);
    expect(ring, 100, 3);
    CHECK(!pl_ring_peek(ring, &len));
    CHECK_EQ(pl_ring_used(ring), 0);
    pl_ring_destroy(ring);
    pl_ring_destroy(NULL);
}

static void records_are_aligned(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    for (size_t len = 1; len < 100; len++) {
        CHECK_EQ((uintptr_t)pl_ring_reserve(ring, len) % 8, 0);
        pl_ring_commit(ring, len);
        pl_ring_peek(ring, &(size_t){0});
        pl_ring_release(ring);
    }
    pl_ring_destroy(ring);
}

static void exists_only_after_commit(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    size_t len;
    CHECK(pl_ring_reserve(ring, 2000));
    CHECK(!pl_ring_peek(ring, &len));
    CHECK_EQ(pl_ring_used(ring), 0);
    uint8_t *record = pl_ring_reserve(ring, 1000); /* again, smaller */
    CHECK(record);
    record[0] = 42;
    pl_ring_commit(ring, 1); /* commits less than was reserved: the rest is free again */
    CHECK_EQ(pl_ring_used(ring), 16);
    expect(ring, 1, 42);
    pl_ring_destroy(ring);
}

static void full_says_so_and_recovers(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    for (int i = 0; i < SMALL / 16; i++)
        push(ring, 8, (uint8_t)i);
    CHECK_EQ(pl_ring_used(ring), SMALL);
    CHECK(!pl_ring_reserve(ring, 0));
    expect(ring, 8, 0);
    CHECK(!pl_ring_reserve(ring, 9));
    push(ring, 8, 99);
    for (int i = 1; i < SMALL / 16; i++)
        expect(ring, 8, (uint8_t)i);
    expect(ring, 8, 99);
    pl_ring_destroy(ring);
}

/* The largest record fits into an empty ring wherever head is. */
static void largest_record_at_every_position(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    for (int i = 0; i < 3 * SMALL / 8; i++) {
        push(ring, SMALL / 2 - 8, (uint8_t)i);
        expect(ring, SMALL / 2 - 8, (uint8_t)i);
        push(ring, 0, 0);
        expect(ring, 0, 0);
    }
    pl_ring_destroy(ring);
}

static void gap_at_the_end_is_skipped(void)
{
    struct pl_ring *ring = pl_ring_create(SMALL);
    push(ring, 2032, 1); /* 2040 of 4096 bytes */
    push(ring, 2032, 2); /* 16 left */
    expect(ring, 2032, 1);
    CHECK(pl_ring_reserve(ring, 1000)); /* the record would begin at the front, after a gap of 16 */
    push(ring, 8, 3);                   /* a record that fits is written where the gap would be */
    push(ring, 500, 4);
    CHECK_EQ(pl_ring_used(ring), SMALL - 2040 + 512);
    expect(ring, 2032, 2);
    expect(ring, 8, 3);
    expect(ring, 500, 4);
    push(ring, 2000, 5);
    push(ring, 1500, 6);
    CHECK(!pl_ring_reserve(ring, 600)); /* the gap counts as used */
    expect(ring, 2000, 5);
    push(ring, 1900, 7); /* leaves a gap */
    expect(ring, 1500, 6);
    expect(ring, 1900, 7);
    CHECK_EQ(pl_ring_used(ring), 0);
    pl_ring_destroy(ring);
}

static void lives_in_given_memory(void)
{
    size_t bytes = pl_ring_bytes(SMALL);
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    struct pl_ring *ring = pl_ring_init(memory, SMALL);
    push(ring, 2032, 1);
    push(ring, 2032, 2);
    expect(ring, 2032, 1);
    expect(ring, 2032, 2);
    free(memory);
}

static void refuses_more_than_there_is(void)
{
    struct rlimit before, tight;
    CHECK(getrlimit(RLIMIT_AS, &before) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)1 << 30;
    CHECK(setrlimit(RLIMIT_AS, &tight) == 0); /* without this limit, a machine that overcommits would map it */
    struct pl_ring *ring = pl_ring_create((size_t)1 << 40);
    int error = errno;
    CHECK(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(!ring);
    CHECK_EQ(error, ENOMEM);
}

/* Producer and consumer draw the same lengths from the same seed. Every byte follows from its record's number and its
 * position. */
static size_t draw_len(struct seeded *seeded)
{
    uint64_t draw = seeded_next(seeded);
    return draw % 64 == 0 ? (draw >> 8) % 2000 : (draw >> 8) % 60;
}

struct producer {
    struct pl_ring *ring;
    struct seeded seeded;
    uint32_t records;
};

static void *produce(void *argument)
{
    struct producer *producer = argument;
    for (uint32_t i = 0; i < producer->records; i++) {
        size_t len = draw_len(&producer->seeded);
        uint8_t *record;
        while (!(record = pl_ring_reserve(producer->ring, len + i % 16))) /* sometimes more than is used */
            sched_yield();
        for (size_t j = 0; j < len; j++)
            record[j] = (uint8_t)(i * 31 + j);
        pl_ring_commit(producer->ring, len);
    }
    return NULL;
}

static void two_threads(void)
{
    const char *given = getenv("LFP_RING_RECORDS");
    struct producer producer = {pl_ring_create(16384), seeded_start(), given ? (uint32_t)atoi(given) : TRANSFERS};
    struct seeded seeded = producer.seeded;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, produce, &producer) == 0);
    for (uint32_t i = 0; i < producer.records; i++) {
        size_t len, want = draw_len(&seeded);
        const uint8_t *record;
        while (!(record = pl_ring_peek(producer.ring, &len)))
            sched_yield();
        CHECK_EQ(len, want);
        for (size_t j = 0; j < len; j++)
            if (record[j] != (uint8_t)(i * 31 + j))
                CHECK_EQ(record[j], (uint8_t)(i * 31 + j));
        pl_ring_release(producer.ring);
        if (i % 1024 == 0)
            CHECK(pl_ring_used(producer.ring) <= 16384);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ(pl_ring_used(producer.ring), 0);
    pl_ring_destroy(producer.ring);
}

int main(void)
{
    RUN(oldest_first_until_empty);
    RUN(records_are_aligned);
    RUN(exists_only_after_commit);
    RUN(full_says_so_and_recovers);
    RUN(largest_record_at_every_position);
    RUN(gap_at_the_end_is_skipped);
    RUN(lives_in_given_memory);
    RUN(refuses_more_than_there_is);
    RUN(two_threads);
    return 0;
}
