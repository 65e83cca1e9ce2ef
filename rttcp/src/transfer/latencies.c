#include "latencies.h"

#include <inttypes.h>
#include <stdlib.h>

#define FIRST_ROOM 1024

static bool has_room(struct rttcp_latencies *latencies)
{
    if (latencies->n < latencies->room)
        return true;
    uint64_t room = latencies->room ? 2 * latencies->room : FIRST_ROOM;
    struct rttcp_latency *at =
        room <= RTTCP_LATENCIES_MAX ? realloc(latencies->at, (size_t)room * sizeof *latencies->at) : NULL;
    if (!at)
        return false;
    latencies->at = at;
    latencies->room = room;
    return true;
}

void rttcp_latencies_add(struct rttcp_latencies *latencies, uint64_t t_ns, uint64_t latency_ns)
{
    if (!latencies->wanted)
        return;
    if (has_room(latencies))
        latencies->at[latencies->n++] = (struct rttcp_latency){.t_ns = t_ns, .latency_ns = latency_ns};
    else
        latencies->dropped++;
}

bool rttcp_latencies_write(const struct rttcp_latencies *latencies, uint64_t stream, FILE *file)
{
    for (uint64_t i = 0; i < latencies->n; i++)
        if (fprintf(file, "{\"t_ns\":%" PRIu64 ",\"stream\":%" PRIu64 ",\"latency_ns\":%" PRIu64 "}\n",
                    latencies->at[i].t_ns, stream, latencies->at[i].latency_ns) < 0)
            return false;
    return true;
}

void rttcp_latencies_release(struct rttcp_latencies *latencies)
{
    free(latencies->at);
    latencies->at = NULL;
    latencies->n = latencies->room = 0;
}
