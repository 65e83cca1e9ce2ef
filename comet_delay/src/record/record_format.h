/* The file in which the delay box records every wire packet, and from which a logger reads while the box runs: a head,
 * then one ring of 64-byte slots for each direction. One process writes, one reads, and neither ever waits for the
 * other. comet_delay/RECORD.md shows the octets and explains the records. The format is a contract between two tools,
 * so pktlogger links this room; it may use no other code of the box.
 * Invariant: head and tail count slots and only grow; tail <= head <= tail + ring_slots; the box alone writes `head`,
 * the reader alone `tail`. A record is contiguous: a pad precedes a record that would cross the end of the ring. Every
 * record begins with a mark, so that after damage a reader can search for the next record slot by slot.
 * Rejected: a ring of bytes with a length before each record; after one damaged length nothing more could be read. */
#ifndef COMET_RECORD_FORMAT_H
#define COMET_RECORD_FORMAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fate.h"

#define COMET_RECORD_MAGIC "COMETREC"
#define COMET_RECORD_MARK 0x5243u

enum {
    COMET_RECORD_VERSION = 2, /* 1 had no LINE records */
    COMET_RECORD_SLOT = 64,
    COMET_RECORD_RINGS = 2,          /* 0: a to b, 1: b to a */
    COMET_RECORD_HEAD_BYTES = 16384, /* the rings follow, one after the other */
    COMET_RECORD_TEXT_BYTES = 12288,
    COMET_RECORD_PORT_BYTES = 128,
    COMET_RECORD_PARTS_MAX = 4096, /* wire packets a frame stands for */
    COMET_RECORD_COUNT_MAX = 4096, /* wire packets a DECIDED record holds */
    COMET_RECORD_LOCK_BOX = 0,
    COMET_RECORD_LOCK_READER = 1, /* the byte of the file that each process locks (F_OFD_SETLK) as long as it runs */
};

enum comet_record_type {
    COMET_RECORD_PAD = 0,     /* empty: fills the ring's end */
    COMET_RECORD_FRAME = 1,   /* a frame arrived; its headers */
    COMET_RECORD_DECIDED = 2, /* the fate of consecutive wire packets, and its time */
    COMET_RECORD_SENT = 3,    /* a run of wire packets was passed to the outgoing port */
    COMET_RECORD_GAP = 4,     /* packets for which there was no room in the record */
    COMET_RECORD_LINE = 5,    /* the rate of the direction from t_ns on */
    COMET_RECORD_TYPES
};

/* One direction's cursors and counters. */
struct comet_record_ring {
    _Atomic uint64_t head;            /* slots written */
    _Atomic uint64_t packets;         /* wire packets recorded */
    _Atomic uint64_t skipped_packets; /* wire packets for which there was no room: none of their records is in the
                                       * ring */
    _Atomic uint64_t skipped_frames;
    _Atomic uint64_t skipped_first;  /* number of the first of them */
    _Atomic uint64_t skipped_copies; /* duplicates of recorded packets for which there was no room */
    uint64_t unused_producer[2];
    _Atomic uint64_t tail; /* slots read */
    uint64_t unused_reader[7];
};

struct comet_record_head {
    char magic[8];
    uint32_t version, head_bytes, slot_bytes, rings;
    uint64_t ring_slots;                /* of each */
    uint64_t monotonic_ns, realtime_ns; /* read together when the box started; times in records are monotonic */
    uint32_t captured_max;              /* header bytes kept of a frame */
    uint32_t text_bytes;
    _Atomic uint32_t ended;                /* the box ended normally, so nothing more follows */
    uint32_t pid;                          /* of the box */
    char port[2][COMET_RECORD_PORT_BYTES]; /* "NAME" or "NAME@NETNS", terminated */
    uint64_t unused[8];
    struct comet_record_ring ring[COMET_RECORD_RINGS];
    char text[COMET_RECORD_TEXT_BYTES]; /* the parameters at the start, JSON */
};

_Static_assert(sizeof(struct comet_record_ring) == 128 && offsetof(struct comet_record_ring, tail) == 64,
               "cache lines");
_Static_assert(offsetof(struct comet_record_head, ring) == 384, "as RECORD.md says");
_Static_assert(sizeof(struct comet_record_head) <= COMET_RECORD_HEAD_BYTES, "the head fits");

#define COMET_RECORD_UNBOUNDED UINT64_MAX

/* The rate of a direction. Each packet counts with its IP length plus `overhead_bytes`. */
struct comet_record_line {
    uint64_t rate_bps, packets_per_s; /* COMET_RECORD_UNBOUNDED: not bounded */
    uint32_t overhead_bytes;
    uint8_t mean;          /* the rate is the mean of a trace of opportunities */
    uint8_t queues_behind; /* packets may also queue after the bottleneck: pacer, bus, harmonizer, buncher */
    uint8_t zero[10];
};

/* One record in its slot, in host byte order. Its fields by type:
 *   FRAME    number of the first wire packet, arrival, bytes of the frame, bytes captured; then vnet header and bytes
 *   DECIDED  first number, time of departure or drop, exit_ns of the bottleneck; then fate, edits, copy, and steps
 *   SENT     first number, time, fate
 *   GAP      first number, first and last arrival (t_ns, to_ns); then packets, frames
 *   LINE     from when on; then struct comet_record_line */
struct comet_record_slot {
    uint16_t mark;
    uint8_t type, slots;
    uint32_t count; /* wire packets */
    uint64_t number;
    uint64_t t_ns;
    union {
        struct {
            uint32_t frame_len, captured;
        } frame;
        uint64_t exit_ns, to_ns;
        uint8_t sent_fate;
    };
    union {
        uint8_t data[32]; /* FRAME */
        struct {
            uint8_t fate, edits, copy, zero[5];
            uint16_t step[12];
        } decided;
        struct {
            uint64_t packets, frames;
        } gap;
        struct comet_record_line line;
    };
};
_Static_assert(sizeof(struct comet_record_slot) == COMET_RECORD_SLOT, "a slot");
enum { COMET_RECORD_DATA_AT = 32, COMET_RECORD_STEP_AT = 40 };

/* A record that was checked: all its contents are within its slots. `step` (count - 1 of them) and `data` point into
 * the memory that was read. The i-th packet of a DECIDED record has the first packet's t_ns and exit_ns plus step[0] +
 * … + step[i - 1]. */
struct comet_record {
    enum comet_record_type type;
    uint32_t slots, count;
    uint64_t number, t_ns, exit_ns; /* exit_ns 0: it did not pass the bottleneck */
    enum fate fate;
    uint8_t edits;
    bool copy; /* a duplicate of a packet decided before */
    uint32_t frame_len, captured;
    const uint8_t *data; /* NC_VNET_LEN + captured bytes */
    const uint8_t *step; /* uint16_t, host order */
    uint64_t gap_packets, gap_frames;
    struct comet_record_line line;
};

enum comet_record_next { COMET_RECORD_GOT, COMET_RECORD_END, COMET_RECORD_BAD };

/* Reads the record at *at and moves *at behind it, or by one slot if the record is bad. END: less than a slot is left
 * before `end`. */
enum comet_record_next comet_record_read(const uint8_t **at, const uint8_t *end, struct comet_record *out);

/* Checks the head of a file of which `len` bytes were read. Returns 0, or -1 with a reason ("is not …"), before which
 * the caller puts the file's name. */
int comet_record_check(const uint8_t *data, size_t len, char *why, size_t why_size);

#endif
