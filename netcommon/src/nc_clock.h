/* Clocks. Everything inside the tools is CLOCK_MONOTONIC nanoseconds: all namespaces of a machine share it, so
 * two-ended timelines need no offset estimation. Captures carry CLOCK_REALTIME; a pair of both clocks, read together,
 * converts between them. Protocol and queueing code never calls this: it takes `now` as an argument. */
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

/* Both clocks, read together. Two monotonic readings bracket the realtime one; of a few tries the one with the
 * narrowest bracket is kept, and the middle of the bracket is its monotonic time. */
struct nc_clock_pair nc_clock_pair_read(void);

#endif
