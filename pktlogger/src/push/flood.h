/* Sends UDP packets without a rate: packets of one flow and one size, as many as the kernel takes.
 *
 * One call sends MESSAGES messages, each with as many packets as segmentation offload allows. The messages are made
 * once. Later only numbers and times change in them, which takes 1 ns per packet. The rest of the time is the kernel's,
 * which spends a third of it copying the packets. Copying is faster if the packets take less memory. So the messages
 * share memory: each begins a header's length after the previous one, so that no headers overlap. A packet therefore
 * contains headers of other messages after its own. Packets shorter than MESSAGES headers do not share memory.
 *
 * The table gives ns of processor time per packet for 1,442-byte packets over a veth pair to a host that drops them.
 * The figures are medians of two sessions, with 9 and 7 alternating rounds, on two busy processors. Each column is a
 * session, and only figures of one column can be compared:
 *
 *     always the same zeros, 64 messages per call         92    95
 *     likewise, 8 messages per call                       95
 *     messages side by side, 8 per call                   99   105    copied from 512 KB
 *     likewise, 1, 2, 4, 16 per call      113, 104, 99, 101           copied from 64 KB to 1 MB
 *     messages in shared memory, 8 per call                     95    copied from 65 KB
 *     likewise, 16, 32, 40 per call                     94, 94, 93
 *     headers and zeros as separate parts, 8 per call   136
 *
 * In a third session a packet socket with PACKET_VNET_HDR and PACKET_QDISC_BYPASS took 102 ns, zeros took 92 and
 * messages side by side 99. The segment size is an option of the socket; as an option of each message it would cost 1
 * or 2 ns more per packet.
 *
 * Rejected: the packet socket. It gains nothing, and it would have to resolve addresses. MSG_ZEROCOPY: a veth pair
 * copies such packets anyway, page by page. More messages per call: they gain nothing, and all packets of a call have
 * the same time. */
#ifndef PL_FLOOD_H
#define PL_FLOOD_H

#include "port.h"

struct pl_flood;

/* Messages of `packets` packets, each with `payload` octets, at least a header's length. NULL without memory. */
struct pl_flood *pl_flood_new(size_t packets, size_t payload);

/* The largest number of packets that one call of pl_flood_send may send. */
size_t pl_flood_most(const struct pl_flood *flood);

/* Sends `n` packets of the flow of `first`, with consecutive numbers from `first` on. Returns the result of
 * pl_port_send_all. */
int pl_flood_send(struct pl_flood *flood, struct pl_port *port, int fd, const struct pl_departure *first, size_t n,
                  struct nc_error *error);

void pl_flood_free(struct pl_flood *flood);

#endif
