/* What acknowledgements show about the data if there is only the sender's capture: which octets have arrived, when the
 * sender learned it, and which octets arrived more than once.
 *
 * If octets were sent several times before an acknowledgement showed their arrival, one of these copies arrived first.
 * The last copy is assumed to be that one, unless one of these signs rules it out:
 * - A duplicate was reported (DSACK, RFC 2883). Then one earlier copy arrived for each report.
 * - The acknowledgement that covers the octets echoes a time stamp from before the copy (Eifel, RFC 3522).
 * - Less than three quarters of the smallest round-trip time passed between the copy and the acknowledgement.
 * Copies before the first one that arrived were lost, and copies after it were needless. This is an inference: a copy
 * without any report may have been lost, too.
 * Rejected: tcptrace's rule, which counts every copy as a retransmission and none as needless. */
#ifndef PL_SHOWN_H
#define PL_SHOWN_H

#include "index.h"
#include "vector.h"

/* Octets that an acknowledgement showed to have arrived. */
struct pl_shown {
    uint64_t left, right;
    int64_t t_ns;
    uint32_t echo;   /* echoed time stamp; 0: none */
    bool again;      /* the acknowledgement reports a duplicate */
    bool cumulative; /* the acknowledgement's number shows them, so the octet at `left` was the next one expected */
    bool delayed;    /* the acknowledgement may have waited for a second segment */
};

struct pl_shown_list {
    PL_VECTOR(struct pl_shown) list;                /* in order of time */
    uint64_t left[NC_SACK_MAX], right[NC_SACK_MAX]; /* SACK blocks of the last acknowledgement */
    unsigned n;
};

/* Takes an acknowledgement that reached the sender. `acked`: the highest number before it; `high`: end of the data sent
 * so far; `mss`: a full segment. Returns 0, or -1 without memory. */
int pl_shown_add(struct pl_shown_list *shown, const struct pl_row *row, uint64_t acked, uint64_t high, uint32_t mss);

/* Whether the first block of an acknowledgement reports a duplicate. By RFC 2883, section 4, it does when it is below
 * the acknowledgement number, or within the second block. */
bool pl_shown_duplicate(const struct pl_row *row);

#endif
