/* The bottleneck: a queue before a serial line.
 *
 * The discipline (discipline.h) decides which packets wait and which one is next. A packet is decided when its turn
 * comes, that is, when the line is free: until then drop-head may drop it, active queue management considers how long
 * it has waited, and a rate that is set meanwhile determines its exit. A decided packet has its exit time and continues
 * in the pipeline; it still counts in the queue until its last bit is out, in the list `on_line`. If the next packet is
 * certain (drop-tail) and will be out within 1 ms, it is decided before its turn. So the box wakes up for decisions at
 * most once per millisecond at high rates, and parts of a super-packet leave together. The bound is in bytes and in
 * packets. A packet that finds the bottleneck empty is always accepted, however small the bound is. Packets in the
 * queue are in chunks of memory that are allocated as the queue grows and are reused. The discipline's own memory is
 * allocated when the discipline changes.
 * Rejected: deciding all packets on arrival with drop-tail, as an earlier version did. On a line of 10 Kbit/s they kept
 * exit times minutes away even after the rate was raised. */
#ifndef COMET_BOTTLENECK_H
#define COMET_BOTTLENECK_H

#include "discipline.h"
#include "lines.h"
#include "models.h"
#include "wire_packet.h"

struct waiting;
struct waiting_chunk;

/* Counts of the line since its rate was set: bytes sent, as the framing counts them, and the time they took. */
struct line_count {
    uint64_t bytes, busy_ns;
};

struct bottleneck {
    struct serial_line line; /* its exit is also used with traces */
    struct line_count sent;
    struct rate_trace_state trace;
    uint64_t aqm_key; /* for the discipline's random numbers */
    struct queue queue;
    struct queued_list on_line;
    struct waiting_chunk *chunks; /* the newest first */
    struct queued *unused;        /* free packets of the chunks */
};

void bottleneck_init(struct bottleneck *bottleneck, uint64_t aqm_key);
void bottleneck_free(struct bottleneck *bottleneck);

/* Offers a packet at its time. FATE_PASS: it is in the queue now, perhaps marked. FATE_QUEUE, FATE_AQM: it is dropped.
 * With drop-head a full queue accepts it, and bottleneck_next returns the oldest waiting packets with FATE_QUEUE. */
enum fate bottleneck_offer(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                           const struct wire_packet *packet);

/* The next packet whose turn has come by `until_ns`, or false when there is none. With FATE_PASS the packet's time is
 * when its last bit leaves; with any other fate the packet is dropped. */
bool bottleneck_next(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                     uint64_t until_ns, struct wire_packet *packet, enum fate *fate);

/* When the next packet that waits for a decision has its turn. UINT64_MAX: none waits. */
uint64_t bottleneck_turn_ns(const struct bottleneck *bottleneck);

/* Bytes in the queue at `now_ns`, of packets that wait or are on the line. */
uint64_t bottleneck_occupancy(struct bottleneck *bottleneck, uint64_t now_ns);

#endif
