/* From the records of a delay box (nc_record.h) to events in order of time: what came in, what went out, and, when all is
 * known of it, each wire packet with its fate.
 * Each direction has its frames in the order they came; records about their wire packets find them there by number. A
 * frame is told of as `in` once it is known what becomes of all its packets, so that a dropped one can be named as such,
 * and `out` as packets were sent; four streams, each in order, are merged by time. A frame is `done` and forgotten when
 * nothing more can be said of it, in order of number. Memory is that of the headers of what the box itself holds.
 * Bad records are counted and skipped. */
#ifndef PL_RECORD_H
#define PL_RECORD_H

#include "nc_record.h"
#include "nc_vnet.h"

enum { PL_RECORD_HELD = NC_FATE_N }; /* as a fate: in the box when the record ended */

struct pl_record_part {
    uint64_t exit_ns, t_ns, sent_ns; /* monotonic; 0: not. t_ns: of departure, or drop */
    uint8_t fate, edits;
    bool decided, unsent;
};

struct pl_record_copy {
    uint32_t part;
    struct pl_record_part times;
};

struct pl_record_frame {
    uint64_t number, arrival_ns;
    uint32_t parts, undecided, unsent; /* `unsent` counts copies too */
    uint32_t frame_len, captured;
    uint32_t copy_n, copy_room, out_waiting;
    struct nc_super super;       /* .packet is decoded for every frame; parts > 1: all of it is set */
    struct pl_record_copy *copies;
    uint8_t *data;               /* vnet header and captured bytes */
    uint32_t flow, dir;          /* the sink's own */
    uint64_t seq, ack;
    struct pl_record_part part[];
};

struct pl_record_out {
    struct pl_record_frame *frame;
    uint64_t t_ns;
    uint32_t first, count;
};

struct pl_record_sink {
    void (*in)(void *context, unsigned direction, struct pl_record_frame *frame);
    void (*out)(void *context, unsigned direction, const struct pl_record_out *out);
    void (*done)(void *context, unsigned direction, const struct pl_record_frame *frame);
    void (*gap)(void *context, unsigned direction, const struct nc_record *record);
    void *context;
};

struct pl_record_direction {
    struct pl_record_frame **frames; /* ring; done <= told <= head */
    uint64_t done, told, head, mask;
    struct pl_record_out *outs;      /* ring */
    uint64_t out_tail, out_head, out_mask;
    uint64_t next_number;            /* the least that a further frame may have */
    uint64_t seen_ns;                /* nothing earlier comes */
    uint64_t held_parts;             /* of frames in memory */
    uint64_t packets, sent, copies;  /* wire packets */
    uint64_t dropped[NC_FATE_N];     /* by cause; loss behind the bottleneck too */
    uint64_t gaps, gap_packets;
    uint64_t damaged;                /* records that are none, or contradict themselves */
    uint64_t unmatched;              /* wire packets told of that were never taken in */
};

struct pl_record {
    struct pl_record_direction direction[2];
    struct pl_record_sink sink;
    bool no_memory;
};

void pl_record_init(struct pl_record *record, const struct pl_record_sink *sink);
void pl_record_free(struct pl_record *record);

/* Takes in the records at [at, end), which is contiguous and ends with one, until `slots_max` slots were looked at.
 * Returns how many were. */
uint64_t pl_record_take(struct pl_record *record, unsigned direction, const uint8_t *at, const uint8_t *end,
                        uint64_t slots_max);

/* Tells of all that is in order. `least_ns[d]`: nothing earlier comes from a direction any more (UINT64_MAX, which no record says: nothing at
 * all, and what is still in the box stays there). */
void pl_record_tell(struct pl_record *record, const uint64_t least_ns[2]);

#endif
