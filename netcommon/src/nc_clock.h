/* Clocks. Everything inside the tools is CLOCK_MONOTONIC nanoseconds: all namespaces of a machine share it, so
 * two-ended timelines need no offset estimation. Captures carry CLOCK_REALTIME; a pair of both clocks, read together,
 * converts between them. Protocol and queueing code never reads a clock: it takes `now` as an argument. */
#ifndef NC_CLOCK_H
#define NC_CLOCK_H

#include <stdint.h>

#define NC_NS_PER_S UINT64_C(1000000000)
#define NC_NS_PER_MS UINT64_C(1000000)
#define NC_NS_PER_US UINT64_C(1000)

struct nc_clock_pair {
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
};

/* CLOCK_MONOTONIC, nanoseconds. */
uint64_t nc_now_ns(void);

/* Both clocks, read together. The realtime clock is read between two readings of the monotonic one. Of a few tries the
 * one with the smallest interval counts, and its middle is the monotonic time. */
struct nc_clock_pair nc_clock_pair_read(void);

#endif
