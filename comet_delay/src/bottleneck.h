/* The bottleneck: a queue in front of a serial line.
 *
 * A ring of wire packets in the order they came, with three cursors: out <= decided <= head. Packets before `decided`
 * have their exit time and went on down the pipeline; they still count in the queue until their last bit is out. Those
 * behind it wait, and what becomes of them may depend on packets yet to come (drop-head, active queue management decides when a
 * packet's turn comes). With plain drop-tail nothing does, so each packet is decided as soon as it is taken in; the box
 * then has one thing less to wake up for.
 * Counted in bytes and in packets; one that finds the bottleneck empty is always taken, however small the bound. */
#ifndef COMET_BOTTLENECK_H
#define COMET_BOTTLENECK_H

#include "models.h"
#include "stage.h"

struct queued;

/* What the line sent since its rate was set: bytes as framing counts them, and the time they took. */
struct line_count {
    uint64_t bytes, busy_ns;
};

struct bottleneck {
    struct serial_line line;      /* its exit counts for traces too */
    struct line_count sent;
    struct rate_trace_state trace;
    struct aqm aqm;
    uint64_t aqm_key; /* for its random numbers */
    struct queued *ring;
    uint64_t out, decided, head, mask;
    uint64_t evicted; /* of those that wait, the oldest, given up but not yet told */
    uint64_t bytes, packets, peak_bytes; /* in the queue */
};

void bottleneck_init(struct bottleneck *bottleneck, uint64_t aqm_key);
void bottleneck_free(struct bottleneck *bottleneck);

/* Offers a packet at its time. FATE_PASS: it is in the queue now, perhaps marked; FATE_QUEUE, FATE_AQM: it is not. With
 * drop-head it is taken, and the oldest that wait come out of bottleneck_next with FATE_QUEUE. */
enum fate bottleneck_offer(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                           const struct wire_packet *packet);

/* The next packet whose turn has come by `until_ns`: with FATE_PASS its time is that of its last bit leaving; otherwise
 * it was dropped. Returns false when there is none. */
bool bottleneck_next(struct bottleneck *bottleneck, const struct params *params, const struct models *models,
                     uint64_t until_ns, struct wire_packet *packet, enum fate *fate);

/* When the next undecided packet's turn comes; UINT64_MAX: none waits. */
uint64_t bottleneck_turn_ns(const struct bottleneck *bottleneck);

/* Bytes in the queue at `now_ns`. */
uint64_t bottleneck_occupancy(struct bottleneck *bottleneck, uint64_t now_ns);

#endif
