/* A direction is a pipeline; each stage takes one wire packet at its theoretical time and either drops it or moves its
 * time on. No stage knows the clock, the other stages, or how a packet is stored.
 * Invariant: a stage is offered packets with times that never fall (what may reorder comes last). */
#ifndef COMET_STAGE_H
#define COMET_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "params.h"

enum fate {
    FATE_PASS,
    FATE_LOSS,  /* the loss model took it, before or behind the bottleneck */
    FATE_QUEUE, /* the bottleneck's queue was full */
    FATE_AQM,   /* active queue management dropped it */
    FATE_PACE,  /* the pacer's buffer was full */
    FATE_N
};

/* What is done to a packet's bytes on the way out. */
enum edit {
    EDIT_CE = 1,      /* ECN: congestion experienced */
    EDIT_CORRUPT = 2, /* one bit flipped, seen by the checksum */
    EDIT_FORGE = 4,   /* one bit flipped, the checksum made to fit */
};

struct stored;

/* One wire packet on its way through the pipeline. */
struct wire_packet {
    uint64_t number;  /* of this direction, from 0 */
    uint64_t time_ns; /* where its last bit is now, in theory */
    struct stored *stored;
    uint64_t flow;    /* hash of addresses and ports */
    uint32_t part;    /* of the super-packet stored there */
    uint32_t l2_bytes;
    uint32_t ip_bytes;
    uint8_t edits;
    bool ect;         /* ECN-capable transport: may be marked instead of dropped */
};

/* Bytes that the packet takes on a line. */
static inline uint32_t stage_line_bytes(const struct params *params, const struct wire_packet *packet)
{
    switch ((enum framing)params->framing) {
    case FRAMING_ETHERNET: return packet->l2_bytes + 24;
    case FRAMING_IP: return packet->ip_bytes;
    case FRAMING_L2: break;
    }
    return packet->l2_bytes;
}

/* A serial line: the time its last bit went out, with the fraction of a nanosecond that rounding would lose. */
struct serial_line {
    uint64_t exit_ns;
    uint64_t fraction; /* of a nanosecond, in units of 1/rate_bps */
    uint64_t rate_bps; /* that `fraction` is in */
};

/* Exit of a packet that arrives at `arrival_ns`: max(previous exit, arrival) + bits / rate. */
uint64_t serial_line_send(struct serial_line *line, uint64_t rate_bps, uint64_t arrival_ns, uint32_t bytes);

/* The line packets come in on: serialises, never drops. */
void stage_access(struct serial_line *line, const struct params *params, struct wire_packet *packet);

/* Propagation delay and what varies of it. Neither lowering it nor a small variation lets a packet overtake: `last_ns` is
 * the latest time let out. */
void stage_delay(uint64_t *last_ns, uint64_t delay_ns, struct wire_packet *packet);

#endif
