#include "watch.h"

#include "nc_clock.h"

#define STEADY_NS (WATCH_STEADY_MS * NC_NS_PER_MS)

bool watch_step(struct watch *watch, bool link_up, int forced, uint64_t now_ns)
{
    if (!link_up)
        watch->up_since_ns = 0;
    else if (!watch->up_since_ns)
        watch->up_since_ns = now_ns;
    bool healthy = link_up && now_ns >= watch->up_since_ns + STEADY_NS;
    bool bypass = forced == 1 || (forced < 0 && !healthy && (watch->bypassed || !link_up));
    watch->changes += bypass != watch->bypassed;
    watch->bypassed = bypass;
    return !bypass;
}

uint64_t watch_next_ns(const struct watch *watch)
{
    return watch->bypassed && watch->up_since_ns ? watch->up_since_ns + STEADY_NS : UINT64_MAX;
}
