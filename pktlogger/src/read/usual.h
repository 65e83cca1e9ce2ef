/* Packets of the usual form: IPv4 without options or IPv6 without extension headers, over Ethernet or alone, and TCP
 * without a SYN, with the time stamp option, SACK blocks behind it, or no option. Nearly all packets of a transfer are
 * so. They are read here in a fraction of the instructions that nc_packet.h takes, and their connection is found by one
 * comparison. Every other packet, and every one that contradicts itself, is left to the general decoder.
 * Invariant: what is read here is what the general decoder says and pl_flows_find() finds. */
#ifndef PL_USUAL_H
#define PL_USUAL_H

#include "flows.h"
#include "reader.h"

enum { PL_USUAL_SLOTS = 512, PL_USUAL_ENDS = 36 };

/* Addresses and ports as they stand in a packet, and the connection and direction of such packets. */
struct pl_usual_slot {
    uint8_t ends[PL_USUAL_ENDS];
    uint8_t ip_version; /* 0: an empty slot */
    uint8_t dir;
    uint32_t flow;
};

struct pl_usual {
    struct pl_usual_slot slots[PL_USUAL_SLOTS]; /* of two connections with one slot the later one stays */
};

/* Notes the connection of a packet, for both directions, because it may be a new one between ends that were known. */
void pl_usual_note(struct pl_usual *usual, const struct nc_packet *packet, uint32_t flow, unsigned dir);

/* Reads a packet of the usual form whose connection was noted: of *out what a row has of it, as the row's `tcp`,
 * ip_version, ecn, ip_id and payload_len. False where it is left to the general decoder. */
bool pl_usual_read(const struct pl_usual *usual, const struct pl_frame *frame, struct nc_packet *out, uint32_t *flow,
                   unsigned *dir);

#endif
