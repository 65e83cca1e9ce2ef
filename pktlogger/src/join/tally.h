/* Round-trip times and delays of a transfer, from its joined segments in order of sending. */
#ifndef PL_TALLY_H
#define PL_TALLY_H

#include "order.h"
#include "round_trips.h"
#include "transfer.h"

struct pl_tally {
    struct pl_transfer *t;
    struct pl_round_trips trips;
    int64_t last_shown_ns; /* sender's capture alone: when the latest part that is known to have arrived was sent */
    int64_t last_sent_ns, last_answer_ns; /* last_answer_ns: when data was last acknowledged */
    PL_VECTOR(int64_t) delays;            /* all delays, until there are many */
    uint32_t *histogram;                  /* afterwards a histogram of their logarithms */
    uint64_t delay_n;
    struct pl_order order;
};

void pl_tally_begin(struct pl_tally *tally, struct pl_transfer *transfer);

/* These take every packet of the sender's capture, and every segment. They return 0, or -1 without memory. */
int pl_tally_packet(struct pl_tally *tally, const struct pl_row *row);
int pl_tally_segment(struct pl_tally *tally, const struct pl_segment *segment);
int pl_tally_end(struct pl_tally *tally);
void pl_tally_free(struct pl_tally *tally);

#endif
