/* Models a shared machine: wake-ups come late, and now and then a process does not run at all. */
#include <math.h>

#include "sim.h"

#define P99_SIGMAS 2.3263

/* Above 0, up to 1. */
static double uniform(struct sim_late *late)
{
    return (double)((sim_random(&late->random) >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

static uint64_t exponential(struct sim_late *late, double mean_ns)
{
    return (uint64_t)(-log(uniform(late)) * mean_ns);
}

static uint64_t log_normal(struct sim_late *late)
{
    double normal = sqrt(-2 * log(uniform(late))) * cos(2 * 3.14159265358979323846 * uniform(late));
    return (uint64_t)(late->median_ns * exp(late->sigma * normal));
}

void sim_late_init(struct sim_late *late, const struct sim_trial *trial, bool back)
{
    const struct sim_settings *s = trial->settings;
    *late = (struct sim_late){.median_ns = (double)s->late_ns,
                              .stop_every_ns = (double)s->stop_every_ns,
                              .stop_ns = (double)s->stop_ns,
                              .random =
                                  trial->seed * 2 + back + UINT64_C(0x6c617465) /* another sequence than the path's */};
    if (s->late_ns && s->late_p99_ns > s->late_ns)
        late->sigma = log((double)s->late_p99_ns / (double)s->late_ns) / P99_SIGMAS;
    sim_late_ran(late);
}

uint64_t sim_late_time(struct sim_late *late, uint64_t due_ns)
{
    uint64_t at_ns = due_ns + late->late_ns;
    if (late->stop_every_ns <= 0 || due_ns == UINT64_MAX)
        return due_ns == UINT64_MAX ? due_ns : at_ns;
    while (late->stop_until_ns <= at_ns) {
        late->stop_from_ns = late->stop_until_ns + exponential(late, late->stop_every_ns);
        late->stop_until_ns = late->stop_from_ns + exponential(late, late->stop_ns) + 1;
    }
    return at_ns < late->stop_from_ns ? at_ns : late->stop_until_ns;
}

void sim_late_ran(struct sim_late *late)
{
    late->late_ns = late->median_ns > 0 ? log_normal(late) : 0;
}
