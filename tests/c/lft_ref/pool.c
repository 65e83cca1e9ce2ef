/* Buffers keep their contents, whatever the order in which they are taken and released. Unused memory is returned to
 * the kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../seeded.h"
#include "check.h"
#include "pool.h"

enum { BUFFER = 1500, MB = 1 << 20 };

static size_t resident_bytes(void)
{
    unsigned long whole = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &whole, &resident) == 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void mark(struct lft_buffer *buffer, uint32_t value)
{
    for (size_t i = 0; i < BUFFER / sizeof value; i++)
        memcpy(buffer->at + i * sizeof value, &value, sizeof value);
}

static int marked(const struct lft_buffer *buffer, uint32_t value)
{
    for (size_t i = 0; i < BUFFER / sizeof value; i++)
        if (memcmp(buffer->at + i * sizeof value, &value, sizeof value))
            return 0;
    return 1;
}

static void buffers_are_nobody_elses(void)
{
    enum { MOST = 3000, STEPS = 200000 };
    static struct lft_buffer *held[MOST];
    static uint32_t values[MOST];
    struct seeded seeded = seeded_start();
    struct lft_pool *pool = lft_pool_create(BUFFER, 4 * MB);
    size_t limit = lft_pool_limit(pool), used = 0;
    CHECK(pool && limit < MOST && limit >= 4 * MB / 1600);
    for (uint32_t step = 0; step < STEPS; step++) {
        size_t i = seeded_below(&seeded, MOST);
        if (seeded_below(&seeded, 5000) == 0)
            lft_pool_trim(pool);
        if (held[i]) {
            CHECK(marked(held[i], values[i]));
            lft_pool_release(pool, held[i]);
            held[i] = NULL;
            used--;
        } else if ((held[i] = lft_pool_take(pool, 1))) {
            CHECK((uintptr_t)held[i]->at % 16 == 0);
            mark(held[i], values[i] = step);
            used++;
        } else
            CHECK_EQ(used, limit);
        CHECK_EQ(lft_pool_used(pool), used);
    }
    lft_pool_destroy(pool);
}

static void the_last_ones_are_for_urgent_callers(void)
{
    struct lft_pool *pool = lft_pool_create(BUFFER, MB);
    size_t n = 0;
    for (; lft_pool_take(pool, 0); n++) {
    }
    CHECK_EQ(n + 64, lft_pool_limit(pool));
    for (; lft_pool_take(pool, 1); n++) {
    }
    CHECK_EQ(n, lft_pool_limit(pool));
    lft_pool_destroy(pool);
}

/* Memory that is unused after a peak is returned at the second trim. Memory that is used between two trims is not
 * returned. */
static void memory_follows_the_use(void)
{
    enum { PEAK = 40000 };
    static struct lft_buffer *held[PEAK];
    struct lft_pool *pool = lft_pool_create(BUFFER, 100 * MB);
    size_t before = resident_bytes();
    for (int i = 0; i < PEAK; i++)
        mark(held[i] = lft_pool_take(pool, 1), (uint32_t)i);
    size_t peak = resident_bytes();
    CHECK(peak - before > (size_t)PEAK * BUFFER * 9 / 10);
    for (int i = 1; i < PEAK; i++)
        lft_pool_release(pool, held[i]);
    lft_pool_trim(pool); /* the buffers were in use since the previous trim */
    CHECK(resident_bytes() > peak - MB);
    lft_pool_trim(pool);
    CHECK(resident_bytes() < before + 2 * MB);
    CHECK(marked(held[0], 0));
    lft_pool_release(pool, held[0]);
    lft_pool_destroy(pool);
}

int main(void)
{
    RUN(buffers_are_nobody_elses);
    RUN(the_last_ones_are_for_urgent_callers);
    RUN(memory_follows_the_use);
    return 0;
}
