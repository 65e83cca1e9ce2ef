#include "nc_clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * NC_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t nc_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

struct nc_clock_pair nc_clock_pair_read(void)
{
    struct nc_clock_pair best = {0, 0};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < 16; i++) {
        uint64_t before = read_ns(CLOCK_MONOTONIC);
        uint64_t realtime = read_ns(CLOCK_REALTIME);
        uint64_t width = read_ns(CLOCK_MONOTONIC) - before;
        if (width < best_width) {
            best_width = width;
            best.monotonic_ns = before + width / 2;
            best.realtime_ns = realtime;
        }
    }
    return best;
}
