#include "pacer.h"

#include "nc_clock.h"

/* Window over what the pace needs, in hundredths: above the first the writes are paced, below the second the kernel
 * paces. CUBIC's window after a loss is 70 % of the one before, and slow start leaves more than twice the least. */
enum { ENOUGH = 125, TOO_LITTLE = 110 };

struct rttcp_pacer rttcp_pacer_create(uint64_t bytes_per_s, uint64_t burst_bytes)
{
    return (struct rttcp_pacer){.bytes_per_s = bytes_per_s, .burst_bytes = bytes_per_s ? burst_bytes : 0};
}

static uint64_t duration_ns(const struct rttcp_pacer *pacer, uint64_t bytes)
{
    return (uint64_t)((double)bytes * (double)NC_NS_PER_S / (double)pacer->bytes_per_s);
}

bool rttcp_pacer_look(struct rttcp_pacer *pacer, uint64_t cwnd_bytes, uint64_t rtt_ns, uint64_t now_ns)
{
    double needed = (double)pacer->bytes_per_s * (double)rtt_ns / (double)NC_NS_PER_S;
    bool enough = (double)cwnd_bytes * 100 > needed * (pacer->writes ? TOO_LITTLE : ENOUGH);
    if (!pacer->burst_bytes || enough == pacer->writes)
        return false;
    pacer->writes = enough;
    pacer->next_ns = now_ns;
    return true;
}

uint64_t rttcp_pacer_wrote(struct rttcp_pacer *pacer, uint64_t bytes, uint64_t now_ns)
{
    if (!pacer->writes)
        return 0;
    uint64_t burst_ns = duration_ns(pacer, pacer->burst_bytes);
    if (pacer->next_ns + burst_ns < now_ns)
        pacer->next_ns = now_ns - burst_ns;
    pacer->next_ns += duration_ns(pacer, bytes);
    return pacer->next_ns > now_ns + burst_ns ? pacer->next_ns : 0;
}
