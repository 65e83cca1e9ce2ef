/* The two kinds of lines that packets pass. A serial line takes time for every bit, so packets queue for it; a delay
 * line takes the same time for every packet and holds any number of them. Neither lets a packet overtake another. */
#ifndef COMET_LINES_H
#define COMET_LINES_H

#include <stdint.h>

/* The time at which the line's last bit leaves, with the fraction of a nanosecond that rounding would lose. */
struct serial_line {
    uint64_t exit_ns;
    uint64_t fraction; /* of a nanosecond, in units of 1/rate_bps */
    uint64_t rate_bps; /* that `fraction` is in */
};

/* Exit of a packet that arrives at `arrival_ns`: max(previous exit, arrival) + bits / rate. */
uint64_t serial_line_send(struct serial_line *line, uint64_t rate_bps, uint64_t arrival_ns, uint32_t bytes);

/* The latest time at which a packet leaves the line. */
struct delay_line {
    uint64_t exit_ns;
};

/* Exit of a packet that arrives at `arrival_ns`: max(previous exit, arrival + delay), so that neither a lower delay nor
 * less jitter lets a packet overtake. */
uint64_t delay_line_send(struct delay_line *line, uint64_t delay_ns, uint64_t arrival_ns);

#endif
