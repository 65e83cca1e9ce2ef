/* Which acknowledgements are samples of the round-trip time, from the sender's capture alone. All figures that are a
 * round-trip time come from here.
 *
 * An acknowledgement was sent because something arrived. It shows how far the data have arrived: up to its number, or
 * to the end of the first block of SACK, which holds what had just arrived (RFC 2018, section 4). The sample is the
 * time since the newest of these data were sent. There is no sample
 * - where they are not newer than all that was shown before: something that was overtaken, a repair or a duplicate had
 *   arrived;
 * - where something was sent again after them: the acknowledgement may be of that, and may have waited for it (Karn;
 *   RFC 6298, section 3). What is sent behind a repair arrives behind it, so that it is its own acknowledgement;
 * - without SACK, where the next acknowledgement is a duplicate: then something behind a hole had arrived;
 * - where the capture does not have all that was sent. When it begins in mid-connection, its first data may have been
 *   sent before, so what is sent until they are acknowledged gives none.
 * Rejected: time stamps (RFC 7323), which tell copies apart but often count milliseconds. Rejected: the data that no
 * copy was sent of, because the acknowledgement of a repair shows them, too, where an earlier one was lost. */
#ifndef PL_ROUND_TRIPS_H
#define PL_ROUND_TRIPS_H

#include "index.h"
#include "vector.h"

struct pl_timed {
    uint64_t end; /* of the data of a packet */
    int64_t t_ns;
};

struct pl_round_trips {
    PL_VECTOR(struct pl_timed) sent; /* from `first` on, what is not shown to have arrived */
    size_t first;
    bool started, whole, asked; /* whole: the SYN was seen; asked: it asked for the connection */
    bool sack;                  /* the receiver reports by SACK what is behind a hole; as both SYNs, or a block, say */
    uint64_t begun, high, data; /* first number sent, end of the last one, and of the last data */
    uint64_t una, shown;        /* the highest acknowledgement, and the end of what is shown to have arrived */
    int64_t again_ns;           /* when something was last sent again, or missed */
    int64_t open_ns, open_t_ns; /* a sample that the next acknowledgement decides, and its time; 0: none */
    bool gap;                   /* since the last sample new data were acknowledged without one */
};

struct pl_round_trip {
    int64_t ns;   /* the sample; -1: none */
    int64_t t_ns; /* when its acknowledgement arrived */
    bool gap;     /* before it and after the last sample, new data were acknowledged without one */
    bool answer;  /* its number acknowledges data that had not been acknowledged */
};

struct pl_round_trips pl_round_trips_begin(const struct pl_flow *flow);

/* Takes a packet of the sender's capture, in order of time, whose data go in direction `dir`. Returns 0, or -1 without
 * memory. */
int pl_round_trips_packet(struct pl_round_trips *trips, const struct pl_row *row, unsigned dir,
                          struct pl_round_trip *trip);
void pl_round_trips_free(struct pl_round_trips *trips);

#endif
