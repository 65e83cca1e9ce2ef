#include "wake_latency.h"

#include "nc_clock.h"
#include "nc_range.h"

#define MEDIAN_MAX_NS (200 * NC_NS_PER_US)
enum { MEDIAN_STEPS = 32, MEDIAN_STEP_NS = 100, LEAST_STEPS = 1024, LEAST_STEP_NS = 5 };

void wake_latency_init(struct wake_latency *latency, uint64_t ns)
{
    *latency = (struct wake_latency){.median_ns = ns, .least_ns = ns};
}

static uint64_t follow_median(uint64_t median_ns, uint64_t late_ns)
{
    uint64_t step_ns = median_ns / MEDIAN_STEPS + MEDIAN_STEP_NS;
    if (late_ns > median_ns)
        return nc_min(median_ns + step_ns, MEDIAN_MAX_NS);
    return median_ns - nc_min(median_ns, step_ns);
}

static uint64_t follow_least(uint64_t least_ns, uint64_t late_ns)
{
    return nc_min(late_ns, least_ns + least_ns / LEAST_STEPS + LEAST_STEP_NS);
}

void wake_latency_learn(struct wake_latency *latency, uint64_t late_ns)
{
    latency->median_ns = follow_median(latency->median_ns, late_ns);
    latency->least_ns = nc_min(follow_least(latency->least_ns, late_ns), MEDIAN_MAX_NS);
}
