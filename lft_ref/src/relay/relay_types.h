/* A relay's settings and counters. */
#ifndef LFT_RELAY_TYPES_H
#define LFT_RELAY_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"

struct relay_settings {
    uint64_t sessions_max, half_open_max, half_open_ns, idle_ns, host_rate_bps, burst_ns;
    uint32_t socket_mark;                /* of packets towards hosts; 0: none */
    struct access destinations, sources; /* of the far side's connections */
    bool transparent;                    /* the far side keeps source addresses when asked to */
    /* while the tunnel is bypassed, this gateway connects to the servers of its proxies' clients itself */
    bool proxy_bypass;
};

struct relay_counters {
    uint64_t near_accepted, near_refused, near_direct, far_connects, far_failed, far_not_allowed, near_limited,
        idle_closed, half_open_expired, half_open_evicted, places_evicted, sockets_evicted, accepts_without_descriptor,
        connects_without_descriptor, names_without_memory, far_no_resources, resets_in, resets_out, bytes_in, bytes_out;
};

#endif
