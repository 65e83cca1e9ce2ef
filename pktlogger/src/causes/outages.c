/* Implements outages.h. */
#include "outages.h"

#include <math.h>

#include "thresholds.h"

void pl_bursts_add(struct pl_bursts *bursts, uint64_t parts, int64_t lasted_ns)
{
    if (parts < PL_OUTAGE_PARTS)
        return;
    bool brief = lasted_ns < PL_OUTAGE_NS;
    bursts->runs++;
    bursts->brief_runs += brief;
    bursts->brief_parts += brief ? (double)(parts - PL_OUTAGE_PARTS + 1) : 0;
}

bool pl_bursts_make(const struct pl_bursts *bursts, uint64_t parts)
{
    double mean = bursts->brief_runs > 0 ? bursts->brief_parts / bursts->brief_runs : 1;
    return bursts->runs * pow(1 - 1 / mean, (double)parts - PL_OUTAGE_PARTS) > PL_OUTAGE_BURSTS;
}

bool pl_outage_shows(uint64_t parts, int64_t lasted_ns, int64_t between_ns)
{
    double outage = log((double)between_ns / (double)lasted_ns), burst = log1p(1 / (double)parts);
    return outage * PL_OUTAGE_BURSTS >= burst;
}

int pl_down_add(struct pl_time_spans *spans, const struct pl_outages *known, int64_t first_ns, int64_t last_ns,
                bool sent_before, const int64_t back_ns[2])
{
    bool found = false;
    for (size_t i = 0; i < known->n && known->down_ns[i] <= last_ns; i++) {
        int64_t begin_ns = known->down_ns[i], until_ns = known->up_ns[i];
        if (until_ns < first_ns)
            continue;
        if (begin_ns < first_ns && (!sent_before || begin_ns == INT64_MIN))
            begin_ns = first_ns;
        if (pl_time_spans_add(spans, begin_ns + back_ns[0], until_ns + back_ns[1]) < 0)
            return -1;
        found = true;
    }
    bool lasted = !found && last_ns > first_ns;
    return lasted ? pl_time_spans_add(spans, first_ns + back_ns[0], last_ns + back_ns[1]) : 0;
}

bool pl_outage_of_all(const struct pl_silences *silences, size_t *at, int64_t t_ns)
{
    while (silences && *at < silences->list.n && silences->list.at[*at].last_lost_ns < t_ns)
        ++*at;
    const struct pl_silence *silence = silences && *at < silences->list.n ? &silences->list.at[*at] : NULL;
    return silence && silence->outage && silence->first_lost_ns <= t_ns;
}
