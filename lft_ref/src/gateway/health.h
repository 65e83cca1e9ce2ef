/* Decides whether the tunnel is healthy enough for new connections, or whether they should bypass it. A pure state
 * machine. New connections bypass the tunnel from the moment it is down. They use it again only after it has been up
 * for HEALTH_STEADY_MS, so that a flapping tunnel does not take connections that it will drop. */
#ifndef LFT_HEALTH_H
#define LFT_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

struct health {
    uint64_t up_since_ns; /* 0: the tunnel is down */
    uint64_t due_ns;      /* 0: time alone changes nothing */
    bool bypassed;
    uint64_t changes; /* how often `bypassed` has changed */
};

enum { HEALTH_STEADY_MS = 200 };

/* Returns whether the tunnel should carry new connections now. `forced`: -1 auto, 0 never bypass, 1 always. */
bool health_step(struct health *health, bool link_up, int forced, uint64_t now_ns);

/* When health_step must be called again, whatever else happens; UINT64_MAX: never. It is never a time in the past,
 * which would keep the loop from sleeping. */
uint64_t health_next_ns(const struct health *health);

#endif
