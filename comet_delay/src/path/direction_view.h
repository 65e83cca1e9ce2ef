/* A direction's counts and state as plain data, the same in the process and in the kernel. */
#ifndef COMET_DIRECTION_VIEW_H
#define COMET_DIRECTION_VIEW_H

#include "direction_state.h"

enum { DIRECTION_FACT_NAME = 24 };

struct direction_queue {
    uint64_t bytes, packets, facts_n;
    struct direction_fact {
        char name[DIRECTION_FACT_NAME];
        uint64_t value;
    } facts[QUEUE_FACTS_MAX];
};

struct direction_view {
    struct direction_stats stats;
    struct line_count sent;
    struct loss_count loss, loss_after;
    struct sample_stats jitter_drawn, jitter_added;
    uint64_t jitter_clamped;
    uint64_t queue_bytes, queue_peak_bytes, held_bytes, held_peak_bytes;
    uint64_t channels;
    struct direction_queue queues[CHANNELS_MAX]; /* of each channel: the figures of its discipline */
};

void direction_view(struct direction *direction, uint64_t now_ns, struct direction_view *view);

#endif
