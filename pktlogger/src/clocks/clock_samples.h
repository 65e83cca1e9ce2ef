/* Finds the packets that both captures show, without using their times. The clocks are compared by these packets.
 *
 * Each capture keeps the packets whose hash ends in enough zero bits to leave at most PL_CLOCK_SAMPLES, so both keep
 * the same packets (trajectory sampling: Duffield and Grossglauser 2001, RFC 5475). The hash covers fields that are the
 * same at every capture point: sequence number, time stamp option and, without data, the acknowledgement and its SACK
 * blocks. Offload shows several wire packets as one, so each part of a packet with data is hashed separately. Packets
 * that look the same twice in either capture are left out, because only time could tell them apart. */
#ifndef PL_CLOCK_SAMPLES_H
#define PL_CLOCK_SAMPLES_H

#include "clock.h"
#include "index.h"
#include "vector.h"

enum { PL_CLOCK_SAMPLES = 1 << 17 };

/* Packets of one size take equally long on a slow line. */
static inline uint32_t pl_clock_size(uint32_t payload, uint32_t options)
{
    return payload << 8 | (options & 0xff);
}

static inline bool pl_clock_has_data(uint32_t size)
{
    return size >> 8;
}

struct pl_clock_sample {
    uint64_t key, frame;
    int64_t t_ns;
    uint32_t flow; /* frame number in its capture */
    uint32_t size; /* pl_clock_size */
    uint16_t id;   /* IPv4 identification; 0: none */
    uint8_t dir;
};

struct pl_clock_samples {
    PL_VECTOR(struct pl_clock_sample) list;
    uint64_t mask; /* hashes with one of these bits are not kept */
    bool fine;     /* a time has a fraction of a microsecond */
};

/* Keeps the samples of a row. Returns 0, or -1 without memory. */
int pl_clock_samples_add(struct pl_clock_samples *samples, const struct pl_row *row, const struct pl_flow *flow);

/* A packet in both captures: when the first capture's machine sent or received it, and the time on the receiver's clock
 * minus that on the sender's. */
struct pl_clock_point {
    int64_t t_ns, difference_ns;
    uint64_t frames[2];
    uint32_t size;
    uint8_t back; /* direction: to the first capture's machine */
};

typedef PL_VECTOR(struct pl_clock_point) pl_clock_points;

/* For each flow of a capture, its number in the common numbering, and the direction that leads away from the first
 * capture's machine. UINT32_MAX: the flow is not in both captures. */
struct pl_clock_flow {
    uint32_t number;
    uint8_t away;
    bool ids; /* packets of this flow have identifications in both captures */
};

/* Finds the packets that are in both captures. `flows` has an element for each flow of a capture. Sorts the samples.
 * Returns 0, or -1 without memory. */
int pl_clock_samples_pair(struct pl_clock_samples samples[2], const struct pl_clock_flow *const flows[2],
                          pl_clock_points *points);

void pl_clock_samples_free(struct pl_clock_samples *samples);

#endif
