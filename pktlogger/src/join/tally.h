/* Round-trip times and delays of a transfer, from its joined segments in order of sending. */
#ifndef PL_TALLY_H
#define PL_TALLY_H

#include "order.h"
#include "transfer.h"

struct pl_new_ack {
    int64_t t_ns;
    uint64_t ack;
};

struct pl_tally {
    struct pl_transfer *t;
    PL_VECTOR(struct pl_new_ack) acks; /* of new data, from `next` on not yet compared with segments */
    size_t next;
    int64_t newest_sent_ns; /* the newest part that the next one covers; -1: none so far */
    bool newest_once;
    enum { SYN_MISSING, SYN_SEEN, HANDSHAKE_OVER } handshake;
    uint64_t syn_seq;
    int64_t syn_ns, last_sent_ns;
    PL_VECTOR(int64_t) delays; /* all of them, until there are many */
    uint32_t *histogram;       /* then their logarithms */
    uint64_t delay_n;
    struct pl_order order;
};

void pl_tally_begin(struct pl_tally *tally, struct pl_transfer *transfer);

/* For every packet of the sender's capture, and, with `acked` set, for one that acknowledges new data. Returns 0, or -1
 * without memory. */
int pl_tally_packet(struct pl_tally *tally, const struct pl_row *row, bool acked);
int pl_tally_segment(struct pl_tally *tally, const struct pl_segment *segment);
int pl_tally_end(struct pl_tally *tally);
void pl_tally_free(struct pl_tally *tally);

#endif
