/* Implements schedule.h. */
#include "schedule.h"

#include <math.h>

#define NS_PER_S 1000000000u

__extension__ typedef unsigned __int128 wide;

/* n / pps in nanoseconds, rounded down. */
static uint64_t at_rate(uint64_t n, uint64_t pps)
{
    return (uint64_t)((wide)n * NS_PER_S / pps);
}

/* SplitMix64, as a number in (0, 1]. */
static double draw(struct pl_schedule *schedule)
{
    uint64_t z = schedule->drawn += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ((double)(z >> 11) + 1) / 9007199254740992.0; /* 2^53 */
}

void pl_schedule_start(struct pl_schedule *schedule)
{
    schedule->number = 0;
    schedule->poisson_ns = 0;
    schedule->drawn = schedule->seed;
}

static uint64_t due_without_limit(const struct pl_schedule *schedule)
{
    uint64_t n = schedule->number;
    if (schedule->kind == PL_SCHEDULE_TRACE)
        return n < schedule->trace_n ? schedule->trace_ns[n] : PL_NEVER;
    if (schedule->pps == 0)
        return 0;
    if (schedule->kind == PL_SCHEDULE_POISSON)
        return (uint64_t)schedule->poisson_ns;
    if (schedule->kind == PL_SCHEDULE_BURST)
        n -= n % schedule->burst;
    return at_rate(n, schedule->pps);
}

uint64_t pl_schedule_due(const struct pl_schedule *schedule)
{
    if (schedule->packets && schedule->number >= schedule->packets)
        return PL_NEVER;
    uint64_t due_ns = due_without_limit(schedule);
    return schedule->duration_ns && due_ns >= schedule->duration_ns ? PL_NEVER : due_ns;
}

void pl_schedule_advance(struct pl_schedule *schedule)
{
    schedule->number++;
    if (schedule->kind == PL_SCHEDULE_POISSON && schedule->pps)
        schedule->poisson_ns += -log(draw(schedule)) * ((double)NS_PER_S / (double)schedule->pps);
}
