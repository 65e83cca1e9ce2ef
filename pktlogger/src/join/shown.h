/* What the acknowledgements show of the data, where the sender's capture is the only one: which octets have arrived,
 * since when the sender knows it, and which arrived more than once.
 *
 * Where octets were sent several times before they were shown, one of the copies had arrived first. It is the last one,
 * unless
 * - a duplicate was reported (DSACK, RFC 2883): then as many earlier ones arrived, too;
 * - the acknowledgement that reached them echoes a time stamp from before the copy (Eifel, RFC 3522);
 * - less than three quarters of the smallest round-trip time lie between the copy and the acknowledgement.
 * Copies before the first one that arrived were lost, and those behind it were needless. So this is an inference: a
 * copy of which nothing is reported may have been lost as well.
 * Rejected: tcptrace's rule, which counts every copy as a retransmission and none as needless. */
#ifndef PL_SHOWN_H
#define PL_SHOWN_H

#include "index.h"
#include "vector.h"

/* Octets that an acknowledgement showed to have arrived. */
struct pl_shown {
    uint64_t left, right;
    int64_t t_ns;
    uint32_t echo;   /* the time stamp that it echoes; 0: none */
    bool again;      /* it reports a duplicate */
    bool cumulative; /* by its number, so that what is at `left` had been awaited */
    bool delayed;    /* it may have waited for a second segment */
};

struct pl_shown_list {
    PL_VECTOR(struct pl_shown) list;                /* in order of time */
    uint64_t left[NC_SACK_MAX], right[NC_SACK_MAX]; /* blocks of the last acknowledgement */
    unsigned n;
};

/* Takes an acknowledgement that came to the sender. `acked`: the highest number before it; `high`: the end of what had
 * been sent; `mss`: a full segment. Returns 0, or -1 without memory. */
int pl_shown_add(struct pl_shown_list *shown, const struct pl_row *row, uint64_t acked, uint64_t high, uint32_t mss);

/* Whether the first block of an acknowledgement reports a duplicate. By RFC 2883, section 4, it does when it is below the
 * number, or within the second block. */
bool pl_shown_duplicate(const struct pl_row *row);

#endif
