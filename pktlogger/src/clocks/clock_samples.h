/* Finds the packets that both captures show, without using their times. These packets serve to compare the clocks. */
#ifndef PL_CLOCK_SAMPLES_H
#define PL_CLOCK_SAMPLES_H

#include "clock.h"
#include "index.h"
#include "vector.h"

enum { PL_CLOCK_SAMPLES = 1 << 17 };

/* Packets of equal size take equally long on a slow line, so packets are compared by size. */
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
    uint64_t mask; /* a hash that has one of these bits is not kept */
    bool fine;     /* at least one time has a fraction of a microsecond */
};

/* Keeps the samples of a row. Returns 0, or -1 without memory. */
int pl_clock_samples_add(struct pl_clock_samples *samples, const struct pl_row *row, const struct pl_flow *flow);

/* A packet in both captures: when the first capture's machine sent or received it; and the difference of its times,
 * receiver's clock minus sender's. */
struct pl_clock_point {
    int64_t t_ns, difference_ns;
    uint64_t frames[2];
    uint32_t size;
    uint8_t back; /* direction: to the first capture's machine */
};

typedef PL_VECTOR(struct pl_clock_point) pl_clock_points;

/* A flow of a capture: its number in the common numbering, or UINT32_MAX if it is not in both captures; and the
 * direction that leads away from the first capture's machine. */
struct pl_clock_flow {
    uint32_t number;
    uint8_t away;
    bool ids; /* packets of this flow have identifications in both captures */
};

/* Finds the packets that are in both captures. `flows` has an element for each flow of a capture. Sorts the samples.
 * Returns 0, or -1 without memory. */
int pl_clock_samples_pair(struct pl_clock_samples samples[2], const struct pl_clock_flow *const flows[2],
                          pl_clock_points *points);

/* The sign of the round trips that the points show. A round trip is what a packet of one direction and the next one of
 * the other took together, whatever the clocks show. 1: nearly all are positive. -1: nearly all are negative, so packets
 * arrive before they are sent: each capture is of the other end than `away` says. 0: neither, or there are too few to
 * tell. May sort the points by time. */
int pl_clock_points_sign(pl_clock_points *points);

void pl_clock_samples_free(struct pl_clock_samples *samples);

#endif
