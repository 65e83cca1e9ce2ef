/* Where a capture alone was taken: at which end of each of its connections. A machine sends by some connections and
 * receives by others, so this is a question of each connection, and not of the capture. The handshake answers it
 * (pl_flow_near). A connection without one is answered by its addresses: the machine's are those of the near ends that
 * handshakes show, or else that of the end at which the capture is said to be, of the connection with the most data. */
#ifndef PL_PLACE_H
#define PL_PLACE_H

#include "flows.h"

enum { PL_PLACE_ADDRESSES = 16 };

struct pl_place {
    uint8_t address[PL_PLACE_ADDRESSES][16];
    size_t n;
};

/* `at_sender`: the capture is said to be at the machine that sends most of the data. */
struct pl_place pl_place_of(const struct pl_flows *flows, bool at_sender);

/* The side of the connection that is on the capture's machine; -1: not known, or both are. */
int pl_place_near(const struct pl_place *place, const struct pl_flow *flow);

#endif
