#include "buncher.h"

#include "nc_range.h"

/* The first multiple of the period at or after `time_ns`. */
static uint64_t first_opening(uint64_t period_ns, uint64_t time_ns)
{
    uint64_t past_ns = time_ns % period_ns;
    return past_ns ? time_ns - past_ns + period_ns : time_ns;
}

uint64_t buncher_send(struct buncher *b, const struct buncher_params *params, uint64_t arrival_ns)
{
    if (!params->period_ns) /* packets from before the period was set to 0 go first */
        return nc_max(arrival_ns, b->opening_ns);
    uint64_t opening_ns = nc_max(first_opening(params->period_ns, arrival_ns), b->opening_ns);
    if (opening_ns == b->opening_ns && params->packets && b->through >= params->packets)
        opening_ns = first_opening(params->period_ns, opening_ns + 1);
    b->through = opening_ns == b->opening_ns ? b->through + 1 : 1;
    b->opening_ns = opening_ns;
    return opening_ns;
}
