/* What leaves when: runs of wire packets, each with the time its last bit is due at the far end, oldest first.
 * A growing ring, because with constant delay the order of leaving is the order of coming. */
#ifndef COMET_SCHEDULE_H
#define COMET_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

struct due {
    uint64_t time_ns;
    struct stored *packet;
    uint32_t first, parts; /* wire packets of it */
};

struct schedule {
    struct due *ring;
    uint64_t head, tail, mask;
};

void schedule_init(struct schedule *schedule);
void schedule_free(struct schedule *schedule);

/* Makes room for n more. False: no memory. Pushing without it asserts. */
bool schedule_reserve(struct schedule *schedule, uint64_t n);
void schedule_push(struct schedule *schedule, struct due due);

static inline struct due *schedule_first(struct schedule *schedule)
{
    return schedule->head == schedule->tail ? NULL : &schedule->ring[schedule->tail & schedule->mask];
}

static inline void schedule_pop(struct schedule *schedule)
{
    schedule->tail++;
}

#endif
