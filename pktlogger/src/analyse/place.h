/* Where a single capture was taken: at which end of each of its connections. A machine is the sender of some
 * connections and the receiver of others, so each connection has its own answer. The handshake gives it (pl_flow_near).
 * For a connection without a handshake the addresses decide. The machine's addresses are those of the near ends that
 * handshakes show. Without any handshake it is the address of one end of the connection with the most data: the end at
 * which the capture is said to be. */
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
