/* Pairs the pieces that were sent with those that were received. A piece is a range of sequence numbers between two
 * borders, or an acknowledgement number. It can be sent several times and looks the same each time. Its token
 * distinguishes the copies where the network preserves one (IPv4 identification, TCP timestamp).
 *
 * First, pieces with the same start and token are paired. If received pieces of a token are left when all sent ones are
 * paired, the network duplicated them. Then the remaining pieces of a start are paired in order, without regard to the
 * token. No piece is received before it was sent plus three quarters of the smallest delay of the certain pairs. If
 * fewer pieces were received than sent, the pairs get the latest sent pieces that fit, because a copy is sent when an
 * earlier one is missing. If more were received than sent (the network duplicated some), the pairs get the earliest
 * arrivals. The time is O(n log n) for any input.
 *
 * A flow is matched block by block. All pieces with the same start are in one block, except copies that came too late
 * for it. The smallest delay found so far passes from block to block. */
#ifndef PL_MATCH_H
#define PL_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_UNMATCHED UINT64_MAX

struct pl_piece {
    uint64_t start;
    int64_t t_ns;
    uint64_t owner; /* for the caller's use */
    uint64_t match; /* result: owner of the other piece of the pair, or PL_UNMATCHED */
    uint32_t token;
};

/* Sorts both arrays and fills in `match`. `tokens`: the pieces have tokens. `*min_delay_ns`: the smallest delay of
 * certain pairs, INT64_MAX before the first block. Returns 0, or -1 without memory. */
int pl_match(struct pl_piece *sent, size_t sent_n, struct pl_piece *received, size_t received_n, bool tokens,
             int64_t *min_delay_ns);

#endif
