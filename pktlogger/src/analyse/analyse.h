/* Joins the captures of both ends of the same connections: the three readings that transfer.h explains. */
#ifndef PL_ANALYSE_H
#define PL_ANALYSE_H

#include "aggregate.h"
#include "clock.h"
#include "survey.h"
#include "tables.h"
#include "transfer.h"

enum { PL_SENDER, PL_RECEIVER, PL_END_N };

struct pl_analysis {
    struct pl_source captures[PL_END_N];
    enum pl_ends ends; /* where there is only one capture: the end of most of the data */
    struct pl_survey surveys[PL_END_N];
    struct pl_transfer *transfers;
    uint32_t n;
    uint32_t *numbers[PL_END_N];  /* maps a capture's flow number to its transfer's number; UINT32_MAX: none */
    uint32_t unmatched[PL_END_N]; /* flows of one capture that are not in the other */
    bool swapped;                 /* the captures were given in the wrong order, and were exchanged */
    bool reversed;                /* they contradict each other: packets arrive before they are sent */
    uint64_t bytes[2];            /* payload of all transfers: in their direction, and the other way */
    uint32_t one_way;             /* number of flows in both captures for which the receiver's has only the
                                   * acknowledgements */
    struct pl_clock clock;        /* of the receiver's capture, relative to the sender's */
    const struct pl_box *box;
    struct pl_pace pace;                   /* set before pl_analysis_run, like the members from here to
                                              `opening_bytes` */
    unsigned ruled_out;                    /* causes of losses that the path cannot have, as bits 1 << cause */
    struct pl_outages outages;             /* of the path */
    const struct pl_lines *lines;          /* of the path, from the sender's machine to the receiver's first; or NULL */
    const struct pl_send_samples *samples; /* of the senders' sockets, or NULL */
    int64_t late_from_ns;                  /* ignore lateness of the box below this; 0: below a millisecond */
    bool from_gateway, to_gateway;         /* the senders, or the receivers, are gateways */
    bool always_data;                      /* the senders' programs always have data after the first `opening_bytes` */
    uint64_t opening_bytes;                /* how many octets the program sends before it always has data */
    uint32_t *box_numbers;                 /* maps a flow number of the record to its transfer's number */
    uint32_t box_row;                      /* number of the record's next row */
    struct pl_time_spans busy[2];          /* when the lines were busy, by the record */
    struct pl_silences *silences;          /* n; see silences.h */
    struct pl_aggregates aggregates;       /* see aggregate.h */
    size_t open;
};

static inline bool pl_has_end(const struct pl_analysis *analysis, int end)
{
    return analysis->ends == PL_BOTH_ENDS || (analysis->ends == PL_SENDER_ALONE) == (end == PL_SENDER);
}

/* How many transfers were captured at these ends. */
static inline uint32_t pl_analysis_count(const struct pl_analysis *analysis, enum pl_ends ends)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < analysis->n; i++)
        n += analysis->transfers[i].ends == ends;
    return n;
}

/* The first reading. Flows are matched as pairs.h says. Each is analysed in the direction that left the sender's
 * machine: the direction whose first packet the sender's capture shows first. If a capture has no SYN, other
 * connections of the two hosts decide, by their first packets or by most of their payload. `box` is the record of the
 * delay box between the two ends, or NULL. `captures` must outlive the analysis. `clock` gives the relation of the
 * captures' clocks, or asks to estimate it.
 * One capture may be missing: it then has neither path nor data. Then all connections of the other one are analysed, in
 * the direction with more payload, each for the end at which it was captured (place.h).
 * *end is the capture that an error belongs to. pl_analysis_free is allowed after every result. */
enum pl_status pl_analysis_survey(struct pl_analysis *analysis, const struct pl_source captures[PL_END_N],
                                  const struct pl_box *box, const struct pl_clock *clock, int *end,
                                  struct nc_error *error);

/* The second and third reading, which complete the tables and the transfers. Errors concern the results; an error in a
 * capture would have appeared in the first reading. */
enum pl_status pl_analysis_run(struct pl_analysis *analysis, struct pl_tables *tables, struct nc_error *error);

void pl_analysis_free(struct pl_analysis *analysis);

#endif
