/* How punctually packets left: how late each packet was, how far the gaps between packets differ from the schedule's,
 * and the achieved rate. Times are passed in.
 *
 * The rate is the number of packets after the first moment, divided by the time since that moment; packets at the first
 * moment, such as a first burst, do not count. So ten packets, one per second, give a rate of exactly 1. */
#ifndef PL_PUNCTUALITY_H
#define PL_PUNCTUALITY_H

#include <stdbool.h>

#include "nc_spread.h"

struct pl_punctuality {
    bool timed;          /* the schedule has due times; otherwise packets leave as fast as they can, and none is late */
    uint64_t n, n_first; /* number of packets; number of packets at the first moment: those due then, or without due
                          * times those sent then */
    uint64_t first_due_ns, first_ns, last_due_ns, last_ns;
    struct nc_spread late; /* departure − due time; 0 for an early packet */
    struct nc_spread gap;  /* |gap between departures − gap between due times|, of successive packets */
};

/* A packet that was due at `due_ns` left at `at_ns`, on one clock. */
void pl_punctuality_add(struct pl_punctuality *punctuality, uint64_t due_ns, uint64_t at_ns);

/* `n` packets without due times left at `at_ns`. */
void pl_punctuality_add_untimed(struct pl_punctuality *punctuality, uint64_t at_ns, uint64_t n);

/* Packets a second; 0 when all left at the first moment. */
double pl_punctuality_pps(const struct pl_punctuality *punctuality);

#endif
