/* What is missing of a stream at a place behind the path, such as the receiver's interface: octets that were overtaken
 * by later ones are a hole until they arrive. What fills a hole was sent again, and the first copy had been lost before
 * this place, or it was only overtaken. Which of them, say
 * - the time stamps: a copy that was sent again is younger than what had overtaken the hole (RFC 7323), or the IPv4
 *   identification, which grows;
 * - else the time: a copy that is sent again comes a round trip after the hole at the earliest. Without a handshake that
 *   shows the round trip, 3 ms count, as in Wireshark. */
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
    struct pl_piece_seen behind; /* what overtook it */
};

/* `lost`: octets whose first copy was lost. */
typedef int pl_lost_sink(void *context, uint64_t left, uint64_t right, const struct pl_hole *hole);

struct pl_holes {
    PL_VECTOR(struct pl_hole) list; /* in order of the stream */
    uint64_t high;                  /* end of what has arrived; `begun`: something has */
    bool begun;
    int64_t rtt_ns; /* the smallest round trip so far; -1: not known */
    pl_lost_sink *lost;
    void *context;
};

/* What a piece brought, in octets: new ones at the end; such that fill holes, sent again or overtaken; known ones. */
struct pl_filled {
    uint64_t fresh, again, overtaken, known;
};

/* Takes a piece with left < right. Returns 0, or -1 without memory or when the sink failed. Of more than PL_HOLES_MAX
 * holes the oldest in the stream counts as lost. */
int pl_holes_take(struct pl_holes *holes, const struct pl_piece_seen *piece, struct pl_filled *filled);

/* What lies below `acked` has arrived all the same, and this place missed it. Returns how many octets that was. */
uint64_t pl_holes_forget(struct pl_holes *holes, uint64_t acked);

void pl_holes_free(struct pl_holes *holes);

#endif
