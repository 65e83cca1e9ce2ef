/* Finds packets that a capture shows several times. A router, a bridge, a mirror port or `-i any` shows each packet
 * more than once. Two frames show one packet when addresses, ports, TCP header and IPv4 identification are equal (the
 * TTL may differ) and they are at most PL_COPY_NS apart. Linux gives a retransmission another identification.
 *
 * The network also duplicates packets, and its duplicates count as packets. So a packet seen again at another interface
 * is always a copy. A packet seen again at the same interface is a copy only if the beginning of the capture shows
 * nearly every packet of a direction twice. Without identification (IPv6, or 0), every second one of equal packets
 * counts as a copy. */
#ifndef PL_COPIES_H
#define PL_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "reader.h"

#define PL_COPY_NS INT64_C(10000000)

enum { PL_COPIES_FRAMES = 20000 }; /* frames at the beginning by which the capture is judged */

enum pl_copies_are { PL_COPIES_NONE, PL_COPIES_ACROSS, PL_COPIES_ALL };

struct pl_seen;

struct pl_copies {
    struct pl_seen *table;
    enum pl_copies_are are;
    uint64_t packets[2], again[2], across; /* counts in the beginning of the capture, by direction */
};

/* Returns 0, or -1 without memory. */
int pl_copies_init(struct pl_copies *copies);
void pl_copies_free(struct pl_copies *copies);

/* Takes a frame of the beginning. */
void pl_copies_study(struct pl_copies *copies, const struct pl_frame *frame, const struct nc_packet *packet);

/* After the beginning: decides which packets of the capture count as copies, and forgets the packets of the
 * beginning. */
void pl_copies_judge(struct pl_copies *copies);

/* True when this TCP packet is a copy of an earlier one. */
bool pl_copies_is(struct pl_copies *copies, const struct pl_frame *frame, const struct nc_packet *packet);

#endif
