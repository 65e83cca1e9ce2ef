/* One wire packet on its way through a direction's pipeline (pipeline.h). */
#ifndef COMET_WIRE_PACKET_H
#define COMET_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "fate.h"
#include "params.h"

struct packet_buffer;

struct wire_packet {
    uint64_t number;  /* of this direction, from 0 */
    uint64_t time_ns; /* where its last bit is now, in theory */
    struct packet_buffer *buffer;
    uint64_t flow;        /* hash of addresses and ports; 0 if no stage needs it */
    uint64_t overtake_ns; /* jitter that may let it be overtaken: added only after the stages that need packets in
                           * order */
    uint32_t part;        /* index of the part in the buffer's super-packet */
    uint32_t l2_bytes;
    uint32_t ip_bytes;
    uint32_t ack;
    uint8_t edits; /* enum packet_edit */
    bool ect;      /* ECN-capable transport: may be marked instead of dropped */
    bool ect1;     /* ECT(1) or CE */
    bool ack_only; /* TCP with no information except `ack` */
    bool exempt;   /* impairments do not apply to it (filter.h) */
};

/* IEEE 802.3: frames are padded to 64 bytes with their check sequence. Preamble, check sequence and gap are 24. */
enum { SHORTEST_ETHERNET = 60, ETHERNET_OVERHEAD = 24 };

/* Bytes that the packet takes on a line. */
static inline uint32_t wire_packet_line_bytes(const struct wire_packet *packet, const struct params *params)
{
    switch ((enum framing)params->framing) {
    case FRAMING_ETHERNET:
        return (packet->l2_bytes < SHORTEST_ETHERNET ? SHORTEST_ETHERNET : packet->l2_bytes) + ETHERNET_OVERHEAD;
    case FRAMING_IP:
        return packet->ip_bytes;
    case FRAMING_L2:
        break;
    }
    return packet->l2_bytes;
}

#endif
