/* Octets that are missing from a stream at a point of the path, such as the receiver's interface. If octets arrive
 * before earlier ones, the earlier ones are a hole until they arrive. A piece that fills a hole was either sent again,
 * because its first copy was lost before this point, or only overtaken. Two kinds of evidence distinguish these cases:
 * - Time stamps: a copy that was sent again is younger than the segment that overtook the hole (RFC 7323). Without time
 *   stamps the IPv4 identification, which grows, shows the same.
 * - Time, if neither decides: a copy that is sent again arrives at least a round trip after the hole appeared. Where no
 *   handshake shows the round trip, 3 ms count, as in Wireshark. */
#ifndef PL_HOLES_H
#define PL_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include "vector.h"

enum { PL_HOLES_MAX = 1024 };

/* A piece of a stream that arrived. */
struct pl_piece_seen {
    uint64_t left, right;
    int64_t t_ns;
    uint32_t stamp; /* the sender's time stamp; 0: none */
    uint16_t id;    /* IPv4 identification; 0: none */
};

struct pl_hole {
    uint64_t left, right;
    struct pl_piece_seen behind; /* the piece that overtook the hole */
};

/* `lost`: number of octets whose first copy was lost. */
typedef int pl_lost_sink(void *context, uint64_t left, uint64_t right, const struct pl_hole *hole);

struct pl_holes {
    PL_VECTOR(struct pl_hole) list; /* in order of the stream */
    uint64_t high;                  /* end of the octets that have arrived; `begun`: a piece has arrived */
    bool begun;
    int64_t rtt_ns; /* the smallest round trip so far; -1: not known */
    pl_lost_sink *lost;
    void *context;
};

/* What a piece added, in octets: new octets at the end; octets that filled holes, sent again or overtaken; octets that
 * were there before. */
struct pl_filled {
    uint64_t fresh, again, overtaken, known;
};

/* Takes a piece with left < right. Returns 0, or -1 without memory or when the sink failed. When there are more than
 * PL_HOLES_MAX holes, the one lowest in the stream counts as lost. */
int pl_holes_take(struct pl_holes *holes, const struct pl_piece_seen *piece, struct pl_filled *filled);

/* Takes all octets below `acked` as arrived. Octets among them that this point has not seen did pass, but this point
 * missed them. Returns the number of these. */
uint64_t pl_holes_forget(struct pl_holes *holes, uint64_t acked);

void pl_holes_free(struct pl_holes *holes);

#endif
