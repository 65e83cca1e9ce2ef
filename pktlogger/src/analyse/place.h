/* Where a single capture was taken: at which end of each of its connections. A machine is the sender of some
 * connections and the receiver of others, so each connection has its own answer. The handshake gives it (pl_flow_near).
 * For a connection without a handshake the machine's addresses decide: the addresses at the near ends of the other
 * connections' handshakes. If the capture has no handshake at all, the machine's address comes from the connection with
 * the most data: it is the address of the end at which the user says that the capture was taken. */
#ifndef PL_PLACE_H
#define PL_PLACE_H

#include "flows.h"

enum { PL_PLACE_ADDRESSES = 16 };

struct pl_place {
    uint8_t address[PL_PLACE_ADDRESSES][16];
    size_t n;
};

/* `at_sender`: the user says that the capture was taken at the machine that sends most of the data. */
struct pl_place pl_place_of(const struct pl_flows *flows, bool at_sender);

/* The side of the connection that is on the capture's machine; -1: not known, or both are. */
int pl_place_near(const struct pl_place *place, const struct pl_flow *flow);

#endif
