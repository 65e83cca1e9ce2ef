/* Randomness for property tests: a new seed in each run, which is printed. LFP_SEED=N repeats a run. */
#ifndef SEEDED_H
#define SEEDED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct seeded {
    uint64_t state;
};

static inline struct seeded seeded_start(void)
{
    const char *given = getenv("LFP_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 20;
    printf("seed %" PRIu64 " (repeat with LFP_SEED=%" PRIu64 ")\n", seed, seed);
    fflush(stdout);
    return (struct seeded){seed};
}

/* SplitMix64. */
static inline uint64_t seeded_next(struct seeded *seeded)
{
    uint64_t z = seeded->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 … n - 1. */
static inline uint32_t seeded_below(struct seeded *seeded, uint32_t n)
{
    return (uint32_t)(seeded_next(seeded) % n);
}

#endif
