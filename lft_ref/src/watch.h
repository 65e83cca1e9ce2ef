/* Health: when new connections should go unaccelerated. Pure.
 * Down when the link says outage or never came up; back only after it has been up for `steady_ns`, so that a flapping tunnel does not
 * take connections that it will drop. */
#ifndef LFT_WATCH_H
#define LFT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
    uint64_t up_since_ns; /* 0: down */
    bool bypassed;
    uint64_t changes;
};

enum { WATCH_STEADY_MS = 200 };

/* Returns whether the tunnel should carry new connections now; `forced`: -1 auto, 0 never bypass, 1 always. */
bool watch_step(struct watch *watch, bool link_up, int forced, uint64_t now_ns);
uint64_t watch_next_ns(const struct watch *watch);

#endif
