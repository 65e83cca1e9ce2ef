/* How long the worker takes to wake up, learned from its own timers. The code is pure: the caller says how late each
 * timer was.
 *
 * Waking up takes time: tens of µs on a virtual machine whose processor had gone idle. The worker needs two figures.
 * `median_ns` is a running median: the worker wakes up that much before a departure. `least_ns` is the shortest recent
 * latency. A packet that woke the worker arrived at least that much earlier, so the worker dates the arrival back by
 * it. When all latencies exceed it, `least_ns` rises slowly, so that it follows a machine that has become slower.
 * Rejected: the median for both. It dates half of the packets back too far, and on a machine whose latency varies a
 * round trip was measured below the delay: 9.96 ms for 10 ms. */
#ifndef COMET_WAKE_LATENCY_H
#define COMET_WAKE_LATENCY_H

#include <stdint.h>

struct wake_latency {
    uint64_t median_ns, least_ns;
};

/* Call before the first wake-up. `ns` is a guess for both figures. */
void wake_latency_init(struct wake_latency *latency, uint64_t ns);

/* Takes note that a timer was `late_ns` late. */
void wake_latency_learn(struct wake_latency *latency, uint64_t late_ns);

#endif
