/* The windows that a receiver offers, by their right edge (RFC 9293, 3.8.6). A receiver does not take an offer back.
 * Its first offer may be larger than later ones, because Linux makes it before it knows how much memory the packets
 * take, or before the program has set its limit. Then the edge stays where it is until that offer is used up, even if
 * the program reads at once. So only later offers, which move the edge, show the capacity of an empty buffer. */
#ifndef PL_OFFERS_H
#define PL_OFFERS_H

#include "transfer.h"

struct pl_offers {
    bool begun;
    uint64_t first_edge, edge; /* the end of the first offer, and of the one that reaches furthest */
};

/* Takes the window of an acknowledgement without SYN; sets window_max and window_kept of the transfer. */
void pl_offers_note(struct pl_offers *offers, struct pl_transfer *transfer, uint64_t ack, uint32_t window);

#endif
