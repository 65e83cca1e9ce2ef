/* The pairs of hosts of two captures, and which host of each pair is the sender's machine. The first packets of their
 * connections show it. Captures that began in mid-connection lack these. Then round trips show it: the delay of a packet
 * plus the delay of the next packet in the other direction is positive, whatever the offset between the clocks, unless
 * each capture is taken for that of the other end. If there are no round trips, payload decides, although data may go
 * either way.
 * Rejected: a direction for each connection by its own payload. Data to the sender's machine would then seem to arrive
 * before they are sent. */
#ifndef PL_HOSTS_H
#define PL_HOSTS_H

#include "pairs.h"
#include "survey.h"

/* Two hosts. `opened`: how many of their connections show each of them as the sender's machine by their first packets.
 * `late`: a connection lacks its first packets. `bytes`: payload that each of them sent. */
struct pl_hosts {
    uint8_t address[2][16];
    uint64_t opened[2], bytes[2];
    bool late;
    int sender; /* the sender's machine by round trips: 0 or 1; -1: not known */
};

enum { PL_HOSTS_MOST = 64 }; /* limit on pairs of hosts: captures of operators have few, a scan has many */

typedef PL_VECTOR(struct pl_hosts) pl_hosts_list;

/* Finds the pairs of hosts among the flows that both captures have. `pairs`: of the flows of surveys[0]. The caller frees
 * list->at after either result. Returns 0, or -1 without memory. */
int pl_hosts_find(pl_hosts_list *list, const struct pl_survey surveys[2], const struct pl_pair *pairs);

/* The direction of `sender`, a flow of the sender's capture, in which packets leave the sender's machine. `receiver` is
 * the same flow in the receiver's capture. If both captures show the same times, it is direction 0, or direction 1 if
 * the sender's machine `accepted` the connections. */
unsigned pl_hosts_outgoing(const pl_hosts_list *list, const struct pl_flow *sender, const struct pl_flow *receiver,
                           bool flipped, bool accepted);

#endif
