#include "pace.h"

#include <time.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "sock.h"

void rttcp_pace_begin(struct rttcp_transfer *stream, uint64_t streams)
{
    const struct rttcp_params *params = stream->params;
    struct rttcp_pace pace = rttcp_pace_of(stream->fd, params, streams);
    uint64_t burst = params->pace_burst_bytes, small = rttcp_pacer_small_write(pace.bytes_per_s, pace.mss);
    stream->write_bytes = params->length_bytes;
    stream->pacer = rttcp_pacer_create(pace.bytes_per_s, burst ? burst : small, nc_now_ns());
    if (burst || !small)
        return;
    small = params->pacing_pps ? pace.mss : small; /* full segments were asked for */
    stream->write_bytes = nc_min(small, params->length_bytes);
    stream->pacer.ahead_bytes = 0;
}

bool rttcp_pace_small(const struct rttcp_transfer *stream)
{
    return stream->pacer.burst_bytes && !stream->pacer.ahead_bytes;
}

/* Returns when the transfer's duration is over; UINT64_MAX: it has no duration. */
static uint64_t end_of(const struct rttcp_transfer *stream)
{
    const struct rttcp_params *params = stream->params;
    return params->duration_ns ? stream->t0_ns + params->omit_ns + params->duration_ns : UINT64_MAX;
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
    rttcp_transfer_note_waiting(stream, 0);
    sleep_until(nc_min(nc_min(until, now + RTTCP_SLICE_NS), end_of(stream)));
    return until > now + RTTCP_SLICE_NS;
}
