/* How punctual the packets left: how late each was, by how much the gaps between them differ from those of the
 * schedule, and the rate that was reached. Times are passed in.
 *
 * The rate counts the packets behind the first moment over the time since that moment, so that one packet a second is
 * one packet a second also over ten packets, and bursts do not count their own size twice. */
#ifndef PL_PUNCTUALITY_H
#define PL_PUNCTUALITY_H

#include <stdbool.h>

#include "nc_spread.h"

struct pl_punctuality {
    bool timed;          /* the schedule has times; else packets leave as fast as they can, and none is late */
    uint64_t n, n_first; /* packets; of these at the first moment: due, or without times left, at once */
    uint64_t first_due_ns, first_ns, last_due_ns, last_ns;
    struct nc_spread late; /* time of departure behind due time; 0 for a packet before it */
    struct nc_spread gap;  /* |gap between departures - gap between due times|, of packets in a row */
};

/* A packet that was due at `due_ns` left at `at_ns`, on one clock. */
void pl_punctuality_add(struct pl_punctuality *punctuality, uint64_t due_ns, uint64_t at_ns);

/* `n` packets without due times left at `at_ns`. */
void pl_punctuality_add_untimed(struct pl_punctuality *punctuality, uint64_t at_ns, uint64_t n);

/* Packets a second; 0 when all left at the first moment. */
double pl_punctuality_pps(const struct pl_punctuality *punctuality);

#endif
