/* The smaller and the larger of two numbers, as functions, because macros would evaluate an argument twice. */
#ifndef NC_RANGE_H
#define NC_RANGE_H

#include <stdint.h>

static inline uint64_t nc_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t nc_max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
