#include "health.h"

#include "nc_clock.h"

#define STEADY_NS (HEALTH_STEADY_MS * NC_NS_PER_MS)

bool health_step(struct health *health, bool link_up, int forced, uint64_t now_ns)
{
    if (!link_up)
        health->up_since_ns = 0;
    else if (!health->up_since_ns)
        health->up_since_ns = now_ns;
    bool healthy = link_up && now_ns >= health->up_since_ns + STEADY_NS;
    bool bypass = forced == 1 || (forced < 0 && !healthy && (health->bypassed || !link_up));
    health->changes += bypass != health->bypassed;
    health->bypassed = bypass;
    health->due_ns = bypass && forced < 0 && link_up ? health->up_since_ns + STEADY_NS : 0;
    return !bypass;
}

uint64_t health_next_ns(const struct health *health)
{
    return health->due_ns ? health->due_ns : UINT64_MAX;
}
