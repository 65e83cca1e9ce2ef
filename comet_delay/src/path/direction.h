/* One direction of the box, without I/O and without a clock. Packets enter with their time of arrival, and runs of wire
 * packets leave with the time at which they are due. So it can be tested in virtual time.
 *
 * A super-packet is one entry in memory, but its fate is decided for every wire packet in it (pipeline.h): each of them
 * holds a reference to the entry until it is sent or dropped. Consecutive packets that survive and are due within
 * `granularity_ns` leave together as a run, at the last one's time. */
#ifndef COMET_DIRECTION_H
#define COMET_DIRECTION_H

#include "direction_state.h"

/* Returns 0, or -1 with errno when memory is short. `memory` bounds the bytes of packets in the direction, of which
 * `prefault` are touched in advance. The path initially has no delay and no rate. */
int direction_init(struct direction *direction, unsigned index, uint64_t seed, uint64_t granularity_ns, uint64_t memory,
                   uint64_t prefault);
void direction_free(struct direction *direction);

/* Applies parameters from `now_ns` on: to packets that arrive, and to packets that wait at the bottleneck and are not
 * decided yet (bottleneck.h). The direction takes ownership of `models`, which were built from them. */
void direction_set(struct direction *direction, const struct params *params, const struct models *models,
                   uint64_t now_ns);

/* Records the rate of the direction from `now_ns` on, if it has a recorder; direction_set does the same. */
void direction_tell_line(struct direction *direction, uint64_t now_ns);

/* Memory for the next packet: room for NC_VNET_LEN + DIRECTION_FRAME_MAX bytes at ->data. NULL when memory is used up:
 * the caller then reads the packet elsewhere and reports it by direction_refuse. */
struct packet_buffer *direction_reserve(struct direction *direction);

/* Accepts the packet of `len` bytes that was read there. */
void direction_take(struct direction *direction, struct packet_buffer *packet, uint32_t len, uint64_t now_ns);
void direction_refuse(struct direction *direction, const uint8_t *data, uint32_t len, uint64_t now_ns);

/* The next run, built in `run`, or NULL if none is due by `now_ns`. After each run the caller must call direction_sent,
 * with `ok` true when the port accepted it. */
const struct due *direction_due(struct direction *direction, uint64_t now_ns, struct nc_run *run);
void direction_sent(struct direction *direction, uint64_t now_ns, bool ok);

/* The time of the next departure or decision at the bottleneck. UINT64_MAX: there is none. */
uint64_t direction_next_ns(struct direction *direction);

#endif
