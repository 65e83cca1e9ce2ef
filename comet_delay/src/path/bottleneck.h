/* The bottleneck: a queue in front of a serial line.
 *
 * Which packets wait, and which goes next, is the discipline's affair (discipline.h). A packet is decided when its turn
 * comes, that is, when the line is free: until then drop-head may evict it, active queue management judges how long it
 * has waited, and a rate that is set while it waits determines its exit. A decided packet has its exit time and goes on
 * down the pipeline; it still counts in the queue until its last bit is out, in the list `on_line`. Where it is certain
 * which packet is next (drop-tail), one that will be out within 1 ms is decided ahead of its turn. So the box wakes up
 * for decisions at most once a millisecond at high rates, and parts of a super-packet leave together. The bound is in
 * bytes and in packets. A packet that finds the bottleneck empty is always taken, however small the bound is.
 * Packets in the queue lie in chunks that are allocated as the queue grows and used again. The discipline's own memory
 * is allocated when the discipline changes.
 * Rejected: deciding all packets on arrival with drop-tail, as an earlier version did. Behind a line of 10 Kbit/s they
 * kept exit times minutes away when the rate was raised. */
#ifndef COMET_BOTTLENECK_H
#define COMET_BOTTLENECK_H

#include "discipline.h"
#include "lines.h"
#include "models.h"
#include "wire_packet.h"

struct waiting;
struct waiting_chunk;

/* What the line has sent since its rate was set: bytes as the framing counts them, and the time they took. */
struct line_count {
    uint64_t bytes, busy_ns;
};

struct bottleneck {
    struct serial_line line; /* its exit holds for traces too */
    struct line_count sent;
    struct rate_trace_state trace;
    uint64_t aqm_key; /* for the discipline's random numbers */
    struct queue queue;
    struct queued_list on_line;
    struct waiting_chunk *chunks; /* the newest first */
    struct queued *unused;        /* packets of them that are free */
};

void bottleneck_init(struct bottleneck *bottleneck, uint64_t aqm_key);
void bottleneck_free(struct bottleneck *bottleneck);

/* Offers a packet at its time. FATE_PASS: it is in the queue now, perhaps marked. FATE_QUEUE, FATE_AQM: it is dropped.
 * With drop-head a full queue takes it, and the oldest packets that wait come out of bottleneck_next with
 * FATE_QUEUE. */
enum fate bottleneck_offer(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                           const struct wire_packet *packet);

/* The next packet whose turn has come by `until_ns`, or false when there is none. With FATE_PASS the packet's time is
 * when its last bit leaves; with any other fate the packet is dropped. */
bool bottleneck_next(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                     uint64_t until_ns, struct wire_packet *packet, enum fate *fate);

/* The time of the next packet's turn, among those that wait for a decision. UINT64_MAX: none waits. */
uint64_t bottleneck_turn_ns(const struct bottleneck *bottleneck);

/* Bytes in the queue at `now_ns`, of packets that wait or are on the line. */
uint64_t bottleneck_occupancy(struct bottleneck *bottleneck, uint64_t now_ns);

#endif
