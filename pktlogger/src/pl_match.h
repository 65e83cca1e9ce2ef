/* Pairs what was sent with what was received. A piece is something that can be sent several times and looks the same
 * each time (a range of sequence numbers between two borders, or an acknowledgement number); its token tells copies apart
 * where the network keeps one (IPv4 identification, TCP timestamp).
 *
 * Pieces with the same start and token are paired first; what is left of a start then without regard to the token. Within
 * such a group no piece is received before it was sent plus the smallest delay seen in certain pairs, and order is kept.
 * If fewer were received than sent, the latest that fit were received: copies are sent because earlier ones are
 * missing. If more were received than sent (duplicated in the network), the earliest arrivals count.
 * O(n log n), whatever the input. */
#ifndef PL_MATCH_H
#define PL_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_UNMATCHED UINT64_MAX

struct pl_piece {
    uint64_t start;
    int64_t t_ns;
    uint64_t owner;  /* the caller's */
    uint64_t match;  /* out: owner of the piece paired with, or PL_UNMATCHED */
    uint32_t token;
};

/* Sorts both arrays and fills in `match`. `tokens`: tokens tell copies apart. 0, or -1 without memory. */
int pl_match(struct pl_piece *sent, size_t sent_n, struct pl_piece *received, size_t received_n, bool tokens);

#endif
