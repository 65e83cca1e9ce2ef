/* A direction in virtual time, TCP packets to send through it, and a check of the packets that leave. */
#ifndef TEST_RIG_H
#define TEST_RIG_H

#include "direction.h"

enum { RIG_MSS = 1448, RIG_HEADERS = 54 };

/* Makes a direction with these parameters, and frees it. */
struct direction *rig_make(struct params params, uint64_t granularity_ns);
void rig_drop(struct direction *d);

/* A super-packet of `payload` bytes comes in; payload byte i is (uint8_t)(seq + i). */
void rig_take(struct direction *d, uint32_t seq, uint32_t payload, uint64_t now_ns);

/* The frame that the far host would get: the run in one piece. */
struct rig_frame {
    uint8_t bytes[70000];
    uint32_t payload_len; /* TCP's */
};

/* The frame of a run, valid until the next call. */
const struct rig_frame *rig_flat(const struct nc_run *run);
uint32_t rig_seq(const struct rig_frame *frame);

/* Passes everything that leaves to `see`, run by run. */
void rig_drain(struct direction *d, void (*see)(const struct rig_frame *, uint64_t time_ns, void *), void *context);

/* Counts of rig_see over the frames. */
struct rig_seen {
    uint64_t packets, damaged, checksum_wrong, backwards;
    uint32_t last_seq;
};
void rig_see(const struct rig_frame *frame, uint64_t time_ns, void *context);

/* Whether `got` is within 3.89 standard deviations of a share of n. */
void rig_near(uint64_t got, double n, double share);

/* Sends 20,000 packets through a direction, ten at a time. Returns counts of the packets that left; *stats: the
 * direction's own counts. */
struct rig_seen rig_through(struct params params, struct direction_stats *stats);

#endif
