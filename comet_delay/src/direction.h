/* One direction of the box, without I/O and without a clock: packets in with the time they came, runs of wire packets
 * out with the time they are due. Everything a virtual-time test needs.
 *
 *   access line → loss → bottleneck → delay → loss → pacer → harmonizer → corrupt → reorder → duplicate → schedule
 *
 * A super-packet is one entry in memory, but all of this is decided for every wire packet in it: each holds a reference
 * until it is sent or dropped. Survivors that are neighbours and leave within `granularity_ns` of each other leave
 * together, at the last one's time: a run. */
#ifndef COMET_DIRECTION_H
#define COMET_DIRECTION_H

#include "bottleneck.h"
#include "harmonizer.h"
#include "histogram.h"
#include "models.h"
#include "nc_vnet.h"
#include "pacer.h"
#include "record.h"
#include "schedule.h"
#include "stage.h"
#include "store.h"

/* A super-packet with a 1-byte MSS would have 65,535 parts; one with more than this is malformed to us. */
enum { DIRECTION_PARTS_MAX = 4096, DIRECTION_FRAME_MAX = 65536 + 256 };

/* What draws random numbers. A number keeps its meaning for ever: seeds in published runs depend on it. */
enum random_stage {
    RANDOM_LOSS_BEFORE,
    RANDOM_LOSS_AFTER,
    RANDOM_DUPLICATE,
    RANDOM_CORRUPT,
    RANDOM_FORGE,
    RANDOM_REORDER,
    RANDOM_BIT,
    RANDOM_AQM,
    RANDOM_JITTER,
    RANDOM_STAGES
};

struct direction_stats {
    uint64_t in_packets, in_bytes, in_frames;    /* wire packets; L2 bytes of them; what crossed the port */
    uint64_t out_packets, out_bytes, out_frames;
    uint64_t duplicated, corrupted, forged, reordered, marked; /* wire packets */
    uint64_t drops[FATE_N];                      /* by the model, wire packets */
    uint64_t drops_memory, drops_malformed;      /* not the model's: wire packets, frames */
    uint64_t drops_write;                        /* the far port would not take it, wire packets */
    uint64_t first_in_ns, last_out_ns;
    struct histogram lateness;                   /* of wire packets, behind their theoretical time */
};

struct direction {
    unsigned index; /* 0: a to b, 1: b to a */
    struct params params;
    struct models models;
    uint64_t granularity_ns;
    uint64_t keys[RANDOM_STAGES];
    struct serial_line access;
    struct loss_state loss, loss_after;
    struct bottleneck bottleneck;
    struct jitter_state jitter;
    uint64_t delay_last_ns;
    struct pacer pacer;
    struct harmonizer harmonizer;
    struct store store;
    struct schedule schedule;
    struct record_ring *record; /* NULL: no recorder */
    uint64_t due_bytes; /* on the wire, of the run that direction_due built last */
    uint8_t scratch[DIRECTION_FRAME_MAX]; /* its frame, where it was edited */
    struct direction_stats stats;
};

/* 0, or -1 with errno when memory is short. `memory` bounds the packets held. The path is empty: no delay, no rate. */
int direction_init(struct direction *direction, unsigned index, uint64_t seed, uint64_t granularity_ns, uint64_t memory,
                   uint64_t prefault);
void direction_free(struct direction *direction);

/* Puts parameters into force from the next packet on. `models`, built from them, becomes the direction's. */
void direction_set(struct direction *direction, const struct params *params, const struct models *models,
                   uint64_t now_ns);

/* Where to read the next packet to: room for NC_VNET_LEN + DIRECTION_FRAME_MAX bytes at ->data. NULL: memory is used up,
 * so whatever arrives is to be read elsewhere and reported by direction_refuse. */
struct stored *direction_reserve(struct direction *direction);

/* Takes in the packet read there, `len` bytes, at `now_ns`. */
void direction_take(struct direction *direction, struct stored *packet, uint32_t len, uint64_t now_ns);
void direction_refuse(struct direction *direction, const uint8_t *data, uint32_t len, uint64_t now_ns);

/* The next run, if it is due by `now_ns`, built in `run`; NULL otherwise. Then direction_sent, with whether the port took it. */
const struct due *direction_due(struct direction *direction, uint64_t now_ns, struct nc_run *run);
void direction_sent(struct direction *direction, uint64_t now_ns, bool ok);

/* When there is next something to do: a departure, or a decision at the bottleneck. UINT64_MAX: nothing. */
uint64_t direction_next_ns(struct direction *direction);

/* The statistics object of `show`; receive-ring drops are the port's to know. */
json_t *direction_json(struct direction *direction, uint64_t receive_ring_drops, uint64_t now_ns);

#endif
