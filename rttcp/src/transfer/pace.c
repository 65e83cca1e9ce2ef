#include "pace.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>

#include "nc_clock.h"
#include "sock.h"

#define LOOK_NS (100 * NC_NS_PER_MS) /* between two looks at the window */

void rttcp_pace_begin(struct rttcp_transfer *stream, uint64_t streams)
{
    const struct rttcp_params *params = stream->params;
    stream->pacer = rttcp_pacer_create(params->pacing_bps / 8 / streams, params->pace_burst_bytes);
}

/* While the kernel does not pace, its own rate is what the window gives, which is above the pace. */
static void look(struct rttcp_transfer *stream, uint64_t now_ns)
{
    struct tcp_info info = {0};
    struct rttcp_pacer *pacer = &stream->pacer;
    stream->looked_ns = now_ns;
    if (getsockopt(stream->fd, IPPROTO_TCP, TCP_INFO, &info, &(socklen_t){sizeof info}) < 0)
        return;
    uint64_t cwnd_bytes = (uint64_t)info.tcpi_snd_cwnd * info.tcpi_snd_mss;
    if (rttcp_pacer_look(pacer, cwnd_bytes, (uint64_t)info.tcpi_rtt * NC_NS_PER_US, now_ns))
        rttcp_pace_set(stream->fd, pacer->writes ? UINT64_MAX : pacer->bytes_per_s);
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
    if (now - stream->looked_ns >= LOOK_NS)
        look(stream, now);
    uint64_t until = rttcp_pacer_wrote(&stream->pacer, bytes, now);
    if (until == 0)
        return false;
    sleep_until(until < now + RTTCP_SLICE_NS ? until : now + RTTCP_SLICE_NS);
    return until > now + RTTCP_SLICE_NS;
}
