/* A direction is a pipeline of stages; each takes one wire packet at its theoretical time and either drops it or
 * moves its time on. No stage knows the clock, the other stages, or super-packets.
 * Invariant: a stage is offered packets with times that never fall. */
#ifndef COMET_STAGE_H
#define COMET_STAGE_H

#include <stdint.h>

#include "params.h"

enum fate {
    FATE_PASS,
    FATE_LOSS,  /* the loss model took it */
    FATE_QUEUE, /* the bottleneck's queue was full */
    FATE_N
};

/* One wire packet on its way through the pipeline. */
struct wire_packet {
    uint64_t number;  /* of this direction, from 0 */
    uint64_t time_ns; /* where its last bit is now, in theory */
    uint32_t l2_bytes;
    uint32_t ip_bytes;
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
enum fate stage_access(struct serial_line *line, const struct params *params, struct wire_packet *packet);

/* Independent loss; `key` from random_key. */
enum fate stage_loss(uint64_t key, const struct params *params, const struct wire_packet *packet);

/* The bottleneck: drop-tail queue in bytes in front of a serial line. A packet counts until its last bit is out; one
 * that finds the bottleneck empty is always taken. */
struct queue_entry {
    uint64_t exit_ns;
    uint32_t bytes;
};
struct bottleneck {
    struct serial_line line;
    struct queue_entry *entries; /* ring of those not yet out, oldest first */
    uint64_t head, tail, mask;   /* head - tail entries in use */
    uint64_t bytes, peak_bytes;
};
void bottleneck_init(struct bottleneck *bottleneck);
void bottleneck_free(struct bottleneck *bottleneck);
enum fate stage_bottleneck(struct bottleneck *bottleneck, const struct params *params, struct wire_packet *packet);
/* Bytes in the queue at `now_ns`. */
uint64_t bottleneck_occupancy(struct bottleneck *bottleneck, uint64_t now_ns);

/* Constant propagation delay. Lowering it never lets a packet overtake: `last_ns` is the latest time let out. */
enum fate stage_delay(uint64_t *last_ns, const struct params *params, struct wire_packet *packet);

#endif
