#include "pace.h"

#include <time.h>

#include "nc_clock.h"

void rttcp_pace_begin(struct rttcp_transfer *stream, uint64_t streams)
{
    const struct rttcp_params *params = stream->params;
    stream->pacer = rttcp_pacer_create(params->pacing_bps / 8 / streams, params->pace_burst_bytes, nc_now_ns());
}

static void sleep_until(uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / NC_NS_PER_S), .tv_nsec = (long)(until_ns % NC_NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

bool rttcp_pace_rest(struct rttcp_transfer *stream, uint64_t bytes)
{
    if (!stream->pacer.burst_bytes)
        return false;
    uint64_t now = nc_now_ns();
    uint64_t until = rttcp_pacer_wrote(&stream->pacer, bytes, now);
    if (until == 0)
        return false;
    sleep_until(until < now + RTTCP_SLICE_NS ? until : now + RTTCP_SLICE_NS);
    return until > now + RTTCP_SLICE_NS;
}
