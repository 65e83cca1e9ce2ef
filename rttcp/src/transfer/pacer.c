#include "pacer.h"

#include "nc_clock.h"
#include "nc_range.h"

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t now_ns)
{
    return (struct rttcp_pacer){
        .bytes_per_s = bytes_per_s,
        .burst_bytes = bytes_per_s ? burst_bytes : 0,
        .ahead_bytes = burst_bytes,
        .next_ns = now_ns,
    };
}

uint64_t rttcp_pacer_ahead(uint64_t bytes_per_s)
{
    uint64_t bytes = bytes_per_s / (NC_NS_PER_S / RTTCP_AHEAD_NS);
    return bytes ? bytes : 1;
}

uint64_t rttcp_pacer_small_write(uint64_t bytes_per_s, uint64_t mss)
{
    uint64_t ahead = rttcp_pacer_ahead(bytes_per_s);
    return bytes_per_s && ahead < RTTCP_UNPACED_SEGMENTS * mss ? nc_min(ahead, mss) : 0;
}

static uint64_t duration_ns(const struct rttcp_pacer *pacer, uint64_t bytes)
{
    return (uint64_t)((double)bytes * (double)NC_NS_PER_S / (double)pacer->bytes_per_s);
}

uint64_t rttcp_pacer_wrote(struct rttcp_pacer *pacer, uint64_t bytes, uint64_t now_ns)
{
    if (!pacer->burst_bytes)
        return 0;
    uint64_t burst_ns = duration_ns(pacer, pacer->burst_bytes);
    if (pacer->next_ns + burst_ns < now_ns)
        pacer->next_ns = now_ns - burst_ns;
    pacer->next_ns += duration_ns(pacer, bytes);
    return pacer->next_ns > now_ns + duration_ns(pacer, pacer->ahead_bytes) ? pacer->next_ns : 0;
}
