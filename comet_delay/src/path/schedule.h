/* The schedule of departures: runs of wire packets, each with the time at which its last bit is due at the far end.
 * Nearly all runs are added in the order in which they leave, so they are in a growing ring. A packet that is due
 * before the last run of the ring (it overtakes, or is a duplicate) goes into a separate heap, which is empty unless
 * the path reorders. Consecutive packets of a super-packet that are due within `granularity_ns` of the first are one
 * run, which leaves at the time of its last packet. */
#ifndef COMET_SCHEDULE_H
#define COMET_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire_packet.h"

struct due {
    uint64_t time_ns;
    uint64_t number; /* of the first wire packet */
    struct packet_buffer *buffer;
    uint32_t first, parts; /* wire packets of it */
    uint8_t edits;         /* enum packet_edit; a run with any has one part */
};

struct late_due;

struct schedule {
    struct due *ring;
    uint64_t head, tail, mask;
    uint64_t run_start_ns; /* of the last run in the ring: when its first part was due */
    struct late_due *heap;
    uint64_t heap_n, heap_size, heap_pushes;
};

void schedule_init(struct schedule *schedule);
void schedule_free(struct schedule *schedule);

/* Adds a wire packet at its time, to the last run if it belongs there. False: no memory. */
bool schedule_add(struct schedule *schedule, const struct wire_packet *packet, uint64_t granularity_ns);

/* The run that is due first, or NULL. It is valid until the next call; schedule_pop removes it. */
struct due *schedule_first(struct schedule *schedule);
void schedule_pop(struct schedule *schedule);

#endif
