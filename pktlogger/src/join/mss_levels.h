/* The MSS of one direction of a flow over time, as unmerged packets show it. The SYNs say the largest MSS, but a sender
 * uses a smaller one once it knows that the path's MTU has shrunk.
 *
 * A level begins where PL_MSS_LEVEL_LEAST packets have one size, and no packet of the previous size comes between them.
 * Packets with PSH do not count: they end what the application wrote, and may have any length. Nor do packets smaller
 * than the others: they are the rest of a longer packet that was retransmitted. */
#ifndef PL_MSS_LEVELS_H
#define PL_MSS_LEVELS_H

#include <stdint.h>

#include "row.h"
#include "vector.h"

enum { PL_MSS_LEVEL_LEAST = 8, PL_MSS_LEVELS_MOST = 1024 };

/* Holds from the packet with this frame number on, which begins at `seq`. `mss_option`: payload and TCP options of a full
 * packet. */
struct pl_mss_level {
    uint64_t seq, frame;
    uint32_t mss_option;
};

/* It starts as {0}. */
struct pl_mss_levels {
    PL_VECTOR(struct pl_mss_level) list;
    struct pl_mss_level next; /* what may become a level */
    uint32_t shown, smaller;  /* packets of its size, and smaller ones since the last of these */
};

/* Takes the next packet with data. Returns 0, or -1 without memory. */
int pl_mss_levels_add(struct pl_mss_levels *levels, const struct pl_row *row);

/* Where a reading of one capture is in the list. It starts as {0}. */
struct pl_mss_place {
    size_t passed;       /* levels that have begun */
    uint32_t mss_option; /* of the present one; 0: the SYNs' */
    uint64_t high;       /* end of the data so far */
};

/* Take the next packet with data, in the capture of the list (`arrived`), or in the sender's (`sent`, where `delta` is
 * the sender's relative number minus the list's). Return the payload of each of its wire packets but the last.
 * After the path has shrunk the sender's first packets still have the old size, and do not arrive. So a smaller size
 * holds from the first retransmission on, or from the first packet whose length is not a multiple of the old size. */
uint32_t pl_mss_place_arrived(struct pl_mss_place *place, const struct pl_mss_levels *levels, const struct pl_row *row);
uint32_t pl_mss_place_sent(struct pl_mss_place *place, const struct pl_mss_levels *levels, int64_t delta,
                           const struct pl_row *row);

#endif
