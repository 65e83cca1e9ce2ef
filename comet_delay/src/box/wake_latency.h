/* How long the worker takes to wake up, learned from its own timers. The code is pure: the caller says how late each
 * timer was.
 *
 * Waking up takes time: tens of µs on a virtual machine whose processor had gone idle. The worker needs two figures.
 * `median_ns` is a running median: the worker sets its timer this much earlier than a departure. `least_ns` is the
 * shortest recent latency. A packet that woke the worker arrived at least this much earlier, so the worker subtracts it
 * from the arrival time. When all latencies exceed `least_ns`, it rises slowly, to adapt to a machine that has become
 * slower.
 * Rejected: the median for both. For half of the packets it is too large a correction, and on a machine whose latency
 * varies a round trip was measured below the delay: 9.96 ms for 10 ms. */
#ifndef COMET_WAKE_LATENCY_H
#define COMET_WAKE_LATENCY_H

#include <stdint.h>

struct wake_latency {
    uint64_t median_ns, least_ns;
};

/* Call before the first wake-up. `ns` is a guess for both figures. */
void wake_latency_init(struct wake_latency *latency, uint64_t ns);

/* Records that a timer was `late_ns` late. */
void wake_latency_learn(struct wake_latency *latency, uint64_t late_ns);

#endif
