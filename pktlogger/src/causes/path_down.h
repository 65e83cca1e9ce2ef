/* Finds outages by acknowledgements: several in a row are lost. losses.h does the same with data. The outages are
 * evidence for the limit `path_down`. */
#ifndef PL_PATH_DOWN_H
#define PL_PATH_DOWN_H

#include "both_ways.h"
#include "time_spans.h"
#include "transfer.h"

struct pl_ack_outages {
    const struct pl_transfer *t;
    struct pl_time_spans *spans; /* as the sender felt them */
    int64_t first_ns, last_ns;   /* the present run: when its first and last acknowledgement were sent */
    int64_t longest_ns;          /* delay of those that arrived */
    int64_t before_ns;           /* when the latest one that arrived was sent */
    uint64_t lost, of_outage;    /* the present run: number lost, and number of these that an outage took by the box's
                                  * record */
    pl_ack_runs *runs;           /* list of lost runs */
    bool gathers;                /* true: appends lost runs to `runs`; false: `runs` says which of them an outage
                                  * lost */
    size_t at;                   /* index of the next one in `runs` */
};

void pl_ack_outages_begin(struct pl_ack_outages *outages, const struct pl_transfer *t, struct pl_time_spans *spans,
                          pl_ack_runs *runs, bool gathers);

/* Takes the next acknowledgement in order of sending. Returns 0, or -1 without memory. */
int pl_ack_outages_add(struct pl_ack_outages *outages, const struct pl_ack *ack);
int pl_ack_outages_end(struct pl_ack_outages *outages);

#endif
