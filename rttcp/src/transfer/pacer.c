#include "pacer.h"

#include "nc_clock.h"

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes, uint64_t now_ns)
{
    return (struct rttcp_pacer){
        .bytes_per_s = bytes_per_s, .burst_bytes = bytes_per_s ? burst_bytes : 0, .next_ns = now_ns};
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
    return pacer->next_ns > now_ns + burst_ns ? pacer->next_ns : 0;
}
