#include "schedule.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_log.h"

enum { SCHEDULE_FIRST = 8192 };

void schedule_init(struct schedule *schedule)
{
    *schedule = (struct schedule){.ring = malloc(SCHEDULE_FIRST * sizeof(struct due)), .mask = SCHEDULE_FIRST - 1};
    if (!schedule->ring)
        nc_die(NC_EXIT_MISSING, "out of memory for the schedule");
}

void schedule_free(struct schedule *schedule)
{
    free(schedule->ring);
    schedule->ring = NULL;
}

bool schedule_reserve(struct schedule *s, uint64_t n)
{
    uint64_t size = s->mask + 1;
    if (s->head - s->tail + n <= size)
        return true;
    while (s->head - s->tail + n > size)
        size *= 2;
    struct due *ring = malloc(size * sizeof *ring);
    if (!ring)
        return false;
    for (uint64_t i = s->tail; i != s->head; i++)
        ring[i & (size - 1)] = s->ring[i & s->mask];
    free(s->ring);
    s->ring = ring;
    s->mask = size - 1;
    return true;
}

void schedule_push(struct schedule *s, struct due due)
{
    assert(s->head - s->tail <= s->mask);
    s->ring[s->head++ & s->mask] = due;
}
