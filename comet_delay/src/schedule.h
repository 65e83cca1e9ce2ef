/* What leaves when: runs of wire packets, each with the time its last bit is due at the far end.
 * Nearly everything is pushed in the order it leaves, so it is a growing ring; what is due before the last of the ring
 * (a packet that others overtook, a duplicate) goes to a heap beside it, which is empty unless the path reorders.
 * Neighbours of one super-packet that are due within a granularity of the first are one run, sent at the last one's
 * time. */
#ifndef COMET_SCHEDULE_H
#define COMET_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "stage.h"

struct due {
    uint64_t time_ns;
    uint64_t number; /* of the first wire packet */
    struct stored *packet;
    uint32_t first, parts; /* wire packets of it */
    uint8_t edits;         /* with any, it is one part */
};

struct late_due;

struct schedule {
    struct due *ring;
    uint64_t head, tail, mask;
    uint64_t run_start_ns;  /* of the last run in the ring: when its first part was due */
    struct late_due *heap;
    uint64_t heap_n, heap_size, heap_pushes;
};

void schedule_init(struct schedule *schedule);
void schedule_free(struct schedule *schedule);

/* Adds a wire packet at its time, to the last run where it fits. False: no memory. */
bool schedule_add(struct schedule *schedule, const struct wire_packet *packet, uint64_t granularity_ns);

/* The run that is due first, or NULL; valid until the next call. schedule_pop takes it away. */
struct due *schedule_first(struct schedule *schedule);
void schedule_pop(struct schedule *schedule);

#endif
