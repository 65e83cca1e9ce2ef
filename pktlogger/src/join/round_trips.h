/* Decides which acknowledgements are samples of the round-trip time, from the sender's capture alone. All round-trip
 * times come from here.
 *
 * An acknowledgement was sent because something arrived. It shows how far the data has arrived: up to its number, or to
 * the end of the first block of SACK, which reports the data that has just arrived (RFC 2018, section 4). The sample is
 * the time since the newest of this data was sent. There is no sample
 * - where this data is not newer than all data shown before: a repair, a duplicate or an overtaken packet had arrived;
 * - where any data was sent again after it: the acknowledgement may be for the copy, and may have waited for it (Karn;
 *   RFC 6298, section 3). Data sent after a repair arrives after it and causes another acknowledgement, so it gives
 *   samples;
 * - without SACK, where the next acknowledgement is a duplicate: then data behind a hole had arrived;
 * - where the capture lacks some of the data. When it begins in mid-connection, its first data may be copies, so data
 *   gives no sample until the first data is acknowledged.
 * Rejected: time stamps (RFC 7323), which distinguish copies but often count milliseconds. Rejected: samples of all
 * data that was sent once. The acknowledgement of a repair also covers such data when an earlier acknowledgement was
 * lost. */
#ifndef PL_ROUND_TRIPS_H
#define PL_ROUND_TRIPS_H

#include "index.h"
#include "vector.h"

struct pl_timed {
    uint64_t end; /* number after the last byte of a packet's data */
    int64_t t_ns;
};

struct pl_round_trips {
    PL_VECTOR(struct pl_timed) sent; /* packets; those from `first` on are not shown to have arrived */
    size_t first;
    bool started, whole, asked; /* whole: the SYN was seen; asked: that SYN opened the connection */
    bool sack; /* the receiver reports data behind a hole by SACK, according to both SYNs or to a block */
    uint64_t begun, high, data; /* first number sent; end of all octets sent; end of the data sent */
    uint64_t una, shown;        /* highest acknowledgement; end of the data that is shown to have arrived */
    int64_t again_ns;           /* when data was last sent again, or last missing from the capture */
    int64_t open_ns,
        open_t_ns; /* a sample that the next acknowledgement confirms or not, and the time of its acknowledgement; 0:
                    * none */
    bool gap;      /* since the last sample, new data was acknowledged without a sample */
};

struct pl_round_trip {
    int64_t ns;   /* the sample; -1: none */
    int64_t t_ns; /* when its acknowledgement arrived */
    bool gap;     /* between the last sample and this one, new data was acknowledged without a sample */
    bool answer;  /* the acknowledgement is for data that had not been acknowledged before */
};

struct pl_round_trips pl_round_trips_begin(const struct pl_flow *flow);

/* Takes a packet of the sender's capture, in order of time, whose data go in direction `dir`. Returns 0, or -1 without
 * memory. */
int pl_round_trips_packet(struct pl_round_trips *trips, const struct pl_row *row, unsigned dir,
                          struct pl_round_trip *trip);
void pl_round_trips_free(struct pl_round_trips *trips);

#endif
