/* What the UDP port sends when no rate is asked: packets of one flow and one size, as many as the kernel takes.
 *
 * A call takes MESSAGES messages, each of as many packets as segmentation offload allows. The messages are made once.
 * Later only numbers and times change in them, which takes 1 ns a packet. The rest is the kernel's work, a third of it
 * the copy of the packets, and that depends on how much memory they are copied from. So the messages lie in the same
 * memory: each begins a header's length behind the one before it, and all headers have places of their own. A packet
 * therefore has headers of other messages behind its own one. Packets of less than MESSAGES headers lie side by side.
 *
 * ns of processor time a packet, 1,442-byte packets over a veth pair to a host that drops them, medians of sessions of
 * 9 and 7 rounds in turn on two busy processors. Only figures of one column can be compared:
 *
 *     the same zeros for ever, 64 messages a call         92    95
 *     likewise, 8 messages a call                         95
 *     messages side by side, 8 a call                     99   105    copied from 512 KB
 *     likewise, 1, 2, 4, 16 a call        113, 104, 99, 101           copied from 64 KB to 1 MB
 *     messages in the same memory, 8 a call                     95    copied from 65 KB
 *     likewise, 16, 32, 40 a call                       94, 94, 93
 *     headers and zeros as parts of their own, 8 a call  136
 *
 * In a third session a packet socket with PACKET_VNET_HDR and PACKET_QDISC_BYPASS took 102 where zeros took 92 and
 * messages side by side 99. The segment's size is an option of the socket; in each message it costs 1 or 2 ns a packet.
 *
 * Rejected: the packet socket. It gains nothing, and it would have to resolve addresses. MSG_ZEROCOPY: a veth pair
 * copies such packets, too, and page by page. More messages a call: they gain nothing, and all packets of a call have
 * the same time. */
#ifndef PL_FLOOD_H
#define PL_FLOOD_H

#include "port.h"

struct pl_flood;

/* `packets` a message, each with `payload` octets, at least a header's. NULL without memory. */
struct pl_flood *pl_flood_new(size_t packets, size_t payload);

/* How many packets a call of pl_flood_send may send. */
size_t pl_flood_most(const struct pl_flood *flood);

/* Sends `n` packets of the flow of `first`, whose numbers follow each other from its own on. As pl_port_send_all. */
int pl_flood_send(struct pl_flood *flood, struct pl_port *port, int fd, const struct pl_departure *first, size_t n,
                  struct nc_error *error);

void pl_flood_free(struct pl_flood *flood);

#endif
