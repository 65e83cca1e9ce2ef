/* Counter-based random numbers: a pure function of (seed, direction, stage, packet number). So a packet's fate depends
 * neither on how packets were batched nor on other stages' random numbers.
 * The mixer is the finaliser of SplitMix64 (Steele, Lea, Flood 2014) over a Weyl sequence, keyed by the same mixer. */
#ifndef COMET_RANDOM_H
#define COMET_RANDOM_H

#include <stdint.h>

#include "nc_quantity.h"

#define RANDOM_WEYL UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The key of one stage of one direction. */
static inline uint64_t random_key(uint64_t seed, unsigned direction, unsigned stage)
{
    return random_mix(random_mix(seed + RANDOM_WEYL) ^ (((uint64_t)direction << 32) | (stage + 1)));
}

static inline uint64_t random_u64(uint64_t key, uint64_t number)
{
    return random_mix(key + number * RANDOM_WEYL);
}

/* True with probability ppb / 10^9. */
static inline int random_hit(uint64_t key, uint64_t number, uint64_t ppb)
{
    return ppb && ((unsigned __int128)random_u64(key, number) * NC_RATIO_ONE >> 64) < ppb;
}

#endif
