/* The exchanges of a stream one by one: when each began and how long it took, in memory until the transfer is over, so
 * that writing them does not disturb it. At most RTTCP_LATENCIES_MAX are kept, 16 MB a stream; the others are counted.
 * The array doubles where it is full, because nobody knows how many exchanges a duration has; a large one moves its
 * pages and not its octets. */
#ifndef RTTCP_LATENCIES_H
#define RTTCP_LATENCIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RTTCP_LATENCIES_MAX (UINT64_C(1) << 20)

struct rttcp_latency {
    uint64_t t_ns; /* CLOCK_MONOTONIC: when the exchange began */
    uint64_t latency_ns;
};

struct rttcp_latencies {
    bool wanted; /* false: nothing is kept */
    struct rttcp_latency *at;
    uint64_t n, room, dropped;
};

void rttcp_latencies_add(struct rttcp_latencies *latencies, uint64_t t_ns, uint64_t latency_ns);

/* Writes one JSON object per line: `t_ns`, `stream`, `latency_ns`. False when writing fails (errno). */
bool rttcp_latencies_write(const struct rttcp_latencies *latencies, uint64_t stream, FILE *file);

void rttcp_latencies_release(struct rttcp_latencies *latencies);

#endif
