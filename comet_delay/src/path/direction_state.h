/* The state of one direction of the box. direction.h has its functions, pipeline.h those of its stages. */
#ifndef COMET_DIRECTION_STATE_H
#define COMET_DIRECTION_STATE_H

#include "buncher.h"
#include "channels.h"
#include "drain.h"
#include "harmonizer.h"
#include "histogram.h"
#include "lines.h"
#include "models.h"
#include "nc_vnet.h"
#include "pacer.h"
#include "packet_pool.h"
#include "recorder.h"
#include "schedule.h"

/* A super-packet with a 1-byte MSS would have 65,535 parts. One with more than this counts as malformed. */
enum { DIRECTION_PARTS_MAX = 4096, DIRECTION_FRAME_MAX = 65536 + 256 };

/* The users of random numbers. The values must never change, because seeds in published runs depend on them. */
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
    uint64_t in_packets, in_bytes, in_frames; /* wire packets; their bytes, from the link header on; frames at the
                                               * port */
    uint64_t out_packets, out_bytes, out_frames;
    uint64_t duplicated, corrupted, forged, reordered, marked; /* wire packets */
    uint64_t drops[FATE_N];                                    /* wire packets */
    uint64_t drops_malformed;                                  /* frames */
    uint64_t first_in_ns, last_out_ns;
    struct histogram lateness; /* of wire packets, after their theoretical time */
};

struct direction {
    unsigned index; /* 0: a to b, 1: b to a */
    struct params params;
    struct models models;
    uint64_t granularity_ns;
    uint64_t keys[RANDOM_STAGES];
    struct serial_line access;
    struct loss_state loss, loss_after;
    struct channels channels;
    struct jitter_state jitter;
    struct delay_line delay;
    struct buncher buncher;
    struct pacer pacer;
    struct drain drain;
    struct harmonizer harmonizer;
    struct packet_pool pool;
    struct schedule schedule;
    struct recorder *recorder;            /* NULL: nothing is recorded */
    uint64_t trace_origin_ns;             /* time 0 of the rate trace */
    uint64_t due_bytes;                   /* bytes on the wire of the last run that direction_due built */
    uint8_t scratch[DIRECTION_FRAME_MAX]; /* its frame, if it was edited */
    struct direction_stats stats;
};

#endif
