/* Turns the records of a delay box (record_format.h) into events in order of time: frames that came in, packets that
 * went out, and each wire packet with its fate once that is known. Each direction keeps its frames in order of arrival,
 * and later records about their wire packets find them by number.
 * A frame's `in` event is emitted once the fate of all its packets is known, so that a dropped packet can be marked. An
 * `out` event is emitted for packets that were sent. The `in` and `out` events of two directions are four streams, each
 * in order of time, and they are merged by time. A frame's `done` event is emitted, in order of number, when no further
 * event can concern it; the frame is then freed. Memory holds the headers of the packets in the box. Bad records are
 * counted and skipped. */
#ifndef PL_REPLAY_H
#define PL_REPLAY_H

#include "record_format.h"
#include "nc_vnet.h"

enum { PL_FATE_HELD = FATE_N }; /* another fate: still in the box when the record ended */

struct pl_replay_part {
    uint64_t exit_ns, t_ns, sent_ns; /* monotonic; 0: did not happen. t_ns: departure, or drop */
    uint8_t fate, edits;
    bool decided, unsent;
};

struct pl_replay_copy {
    uint32_t part;
    struct pl_replay_part times;
};

struct pl_replay_frame {
    uint64_t number, arrival_ns;
    uint32_t parts, undecided, unsent; /* `unsent` counts copies too */
    uint32_t frame_len, captured;
    uint32_t copy_n, copy_room, out_waiting;
    struct nc_super super; /* .packet is set for every frame, the rest only when parts > 1 */
    struct pl_replay_copy *copies;
    uint8_t *data;      /* vnet header and captured bytes */
    uint32_t flow, dir; /* the sink may set these, and also seq and ack */
    uint64_t seq, ack;
    struct pl_replay_part part[];
};

struct pl_replay_out {
    struct pl_replay_frame *frame;
    uint64_t t_ns;
    uint32_t first, count;
};

struct pl_replay_sink {
    void (*in)(void *context, unsigned direction, struct pl_replay_frame *frame);
    void (*out)(void *context, unsigned direction, const struct pl_replay_out *out);
    void (*done)(void *context, unsigned direction, const struct pl_replay_frame *frame);
    void (*gap)(void *context, unsigned direction, const struct comet_record *replay);
    void *context;
    void (*line)(void *context, unsigned direction, const struct comet_record *replay); /* NULL: not wanted */
};

struct pl_replay_direction {
    struct pl_replay_frame **frames; /* ring; done <= emitted <= head */
    uint64_t done, emitted, head, mask;
    struct pl_replay_out *outs; /* ring */
    uint64_t out_tail, out_head, out_mask;
    uint64_t next_number;           /* the lowest number that the next frame may have */
    uint64_t seen_ns;               /* latest time so far; all later records are newer */
    uint64_t held_parts;            /* wire packets of the frames in memory */
    uint64_t packets, sent, copies; /* wire packets */
    uint64_t dropped[FATE_N];       /* drops by cause, including loss after the bottleneck */
    uint64_t gaps, gap_packets;
    uint64_t damaged;   /* records that cannot be decoded or contradict others */
    uint64_t unmatched; /* wire packets with a fate but without an arrival */
};

struct pl_replay {
    struct pl_replay_direction direction[2];
    struct pl_replay_sink sink;
    bool no_memory;
};

void pl_replay_init(struct pl_replay *replay, const struct pl_replay_sink *sink);
void pl_replay_free(struct pl_replay *replay);

/* Reads the records at [at, end), which is contiguous and ends at the end of a record, until `slots_max` slots were
 * read. Returns the number of slots read. */
uint64_t pl_replay_read(struct pl_replay *replay, unsigned direction, const uint8_t *at, const uint8_t *end,
                        uint64_t slots_max);

/* Emits every event whose turn has come. `least_ns[d]`: direction `d` will deliver nothing older than this. UINT64_MAX:
 * it will deliver nothing more, and packets still in the box stay there. */
void pl_replay_emit(struct pl_replay *replay, const uint64_t least_ns[2]);

#endif
