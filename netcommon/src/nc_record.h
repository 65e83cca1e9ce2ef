/* The file in which a delay box records every wire packet and from which a logger reads while the box runs: a head, then
 * one ring of 64-byte slots a direction. One process writes, one reads; neither ever waits for the other.
 * comet_delay/RECORD.md shows the octets and says what the records mean together.
 * Invariant: head and tail count slots and only grow; tail <= head <= tail + ring_slots; the box alone writes `head`,
 * the reader alone `tail`. A record is contiguous: one that would cross the end of the ring is preceded by a pad. Every
 * record begins with a mark, so that behind damage a reader finds the next one slot by slot.
 * Rejected: nc_ring.h. It has no counters for what found no room, and a damaged length in it ends the reading. */
#ifndef NC_RECORD_H
#define NC_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NC_RECORD_MAGIC "COMETREC"
#define NC_RECORD_MARK 0x5243u

enum {
    NC_RECORD_VERSION = 1,
    NC_RECORD_SLOT = 64,
    NC_RECORD_RINGS = 2,          /* 0: a to b, 1: b to a */
    NC_RECORD_HEAD_BYTES = 16384, /* the rings follow, one behind the other */
    NC_RECORD_TEXT_BYTES = 12288,
    NC_RECORD_PORT_BYTES = 128,
    NC_RECORD_PARTS_MAX = 4096,   /* wire packets a frame stands for */
    NC_RECORD_COUNT_MAX = 4096,   /* wire packets a DECIDED record holds */
    NC_RECORD_LOCK_BOX = 0, NC_RECORD_LOCK_READER = 1, /* bytes locked (F_OFD_SETLK) by either while it is there */
};

enum nc_record_type {
    NC_RECORD_PAD = 0,     /* nothing: the rest of the ring's end */
    NC_RECORD_FRAME = 1,   /* a frame was taken in; its headers */
    NC_RECORD_DECIDED = 2, /* what becomes of consecutive wire packets, and when */
    NC_RECORD_SENT = 3,    /* a run of wire packets was handed to the far port */
    NC_RECORD_GAP = 4,     /* packets that found no room here */
    NC_RECORD_TYPES
};

/* What became of a wire packet. */
enum nc_fate {
    NC_FATE_PASS,   /* it leaves (DECIDED), it was sent (SENT) */
    NC_FATE_LOSS,   /* the loss model; exit_ns != 0: the one behind the bottleneck */
    NC_FATE_QUEUE,  /* the bottleneck's queue was full */
    NC_FATE_AQM,    /* active queue management */
    NC_FATE_PACE,   /* the pacer's buffer was full */
    NC_FATE_MEMORY, /* the box had no memory for it */
    NC_FATE_WRITE,  /* the far port would not take it */
    NC_FATE_N
};

/* What was done to its bytes. */
enum nc_record_edit { NC_EDIT_CE = 1, NC_EDIT_CORRUPT = 2, NC_EDIT_FORGE = 4 };

/* One direction's cursors and counters. */
struct nc_record_ring {
    _Atomic uint64_t head;            /* slots written */
    _Atomic uint64_t packets;         /* wire packets recorded */
    _Atomic uint64_t skipped_packets; /* wire packets that found no room, none of their records is here */
    _Atomic uint64_t skipped_frames;
    _Atomic uint64_t skipped_first;   /* number of the first of them */
    _Atomic uint64_t skipped_copies;  /* duplicates of recorded packets that found no room */
    uint64_t unused_producer[2];
    _Atomic uint64_t tail;            /* slots read */
    uint64_t unused_reader[7];
};

struct nc_record_head {
    char magic[8];
    uint32_t version, head_bytes, slot_bytes, rings;
    uint64_t ring_slots;              /* of each */
    uint64_t monotonic_ns, realtime_ns; /* read together when the box started; times in records are monotonic */
    uint32_t captured_max;            /* header bytes kept of a frame */
    uint32_t text_bytes;
    _Atomic uint32_t ended;           /* the box ended in order: nothing more comes */
    uint32_t pid;                     /* of the box */
    char port[2][NC_RECORD_PORT_BYTES]; /* "NAME" or "NAME@NETNS", terminated */
    uint64_t unused[8];
    struct nc_record_ring ring[NC_RECORD_RINGS];
    char text[NC_RECORD_TEXT_BYTES];  /* the parameters at the start, JSON */
};

_Static_assert(sizeof(struct nc_record_ring) == 128 && offsetof(struct nc_record_ring, tail) == 64, "cache lines");
_Static_assert(offsetof(struct nc_record_head, ring) == 384, "as RECORD.md says");
_Static_assert(sizeof(struct nc_record_head) <= NC_RECORD_HEAD_BYTES, "the head fits");

/* One record as it lies in a slot; host byte order. `a` and `b` by type:
 *   FRAME    number of its first wire packet, arrival, a = frame bytes, b = captured bytes; then vnet header and bytes
 *   DECIDED  first number, time of departure or drop, exit_ns of the bottleneck; then fate, edits, copy, and steps
 *   SENT     first number, when
 *   GAP      first number, first and last arrival (t_ns, exit_ns); then packets, frames */
struct nc_record_slot {
    uint16_t mark;
    uint8_t type, slots;
    uint32_t count;     /* wire packets */
    uint64_t number;
    uint64_t t_ns;
    union {
        struct { uint32_t frame_len, captured; } frame;
        uint64_t exit_ns, to_ns;
        uint8_t sent_fate;
    };
    union {
        uint8_t data[32];                                          /* FRAME */
        struct { uint8_t fate, edits, copy, zero[5]; uint16_t step[12]; } decided;
        struct { uint64_t packets, frames; } gap;
    };
};
_Static_assert(sizeof(struct nc_record_slot) == NC_RECORD_SLOT, "a slot");
enum { NC_RECORD_DATA_AT = 32, NC_RECORD_STEP_AT = 40 };

/* A record, checked: what it holds lies within its slots. `step` (count - 1 of them) and `data` point into the memory read
 * from; the i-th packet of a DECIDED record is step[0] + … + step[i - 1] behind the first, in t_ns and exit_ns. */
struct nc_record {
    enum nc_record_type type;
    uint32_t slots, count;
    uint64_t number, t_ns, exit_ns; /* exit_ns 0: it did not pass the bottleneck */
    enum nc_fate fate;
    uint8_t edits;
    bool copy;                      /* a duplicate of a packet decided before */
    uint32_t frame_len, captured;
    const uint8_t *data;            /* NC_VNET_LEN + captured bytes */
    const uint8_t *step;            /* uint16_t, host order */
    uint64_t gap_packets, gap_frames;
};

enum nc_record_next { NC_RECORD_GOT, NC_RECORD_END, NC_RECORD_BAD };

/* The record at *at, which moves behind it; behind a bad one by a slot. END: fewer bytes than a slot before `end`. */
enum nc_record_next nc_record_read(const uint8_t **at, const uint8_t *end, struct nc_record *out);

/* Checks a file's head: `len` bytes of it are there. 0, or -1 with a reason ("is not …") without the file's name. */
int nc_record_check(const uint8_t *data, size_t len, char *why, size_t why_size);

/* "loss", "queue", …; "sent" for NC_FATE_PASS. */
const char *nc_fate_name(enum nc_fate fate);

#endif
