/* The sizes of packets: one size, or a mix such as 64:7,576:4,1500:1 (size:weight). The mix is spread evenly and
 * without randomness: after any number of packets, each size is within one packet of its share.
 * Rejected: random sizes. With few packets the shares would be missed, and two measurements would not be comparable. */
#ifndef PL_SIZES_H
#define PL_SIZES_H

#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"

enum { PL_SIZES_MAX = 16, PL_SIZE_WEIGHT_MAX = 1000000 };

struct pl_sizes {
    size_t n;
    struct {
        uint32_t size, weight;
        int64_t credit;
    } at[PL_SIZES_MAX];
    int64_t weights; /* sum of the weights */
};

/* Reads `text`; every size must be within min … max. Returns 0, or -1 with the error, which names --size. */
int pl_sizes_read(struct pl_sizes *sizes, const char *text, uint32_t min, uint32_t max, struct nc_error *error);

/* The size of the next packet. */
uint32_t pl_sizes_next(struct pl_sizes *sizes);

/* The largest of the sizes. */
uint32_t pl_sizes_largest(const struct pl_sizes *sizes);

#endif
