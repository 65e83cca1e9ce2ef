/* The recorder's producer: one ring of the record file (nc_record.h) a direction, written by the thread that runs the
 * direction and by nobody else.
 *
 * A packet is recorded completely or not at all. A frame is let in only when there is room for it and for everything
 * that may still be said of its wire packets, which is then reserved (two slots each: decided, sent); otherwise the frame is
 * skipped, counted, and told of by a GAP record before the next one let in. So what a reader finds has no half-known fates, and
 * without a reader the file keeps the first packets, handshakes among them.
 * Rejected: overwriting the oldest. The reader would have to check every record for having been overwritten while it
 * was copied, and what is lost would be what explains the rest. Waiting for the reader: it would be late packets.
 *
 * Decisions about neighbouring packets become one record of first time and 16-bit steps, which is exact (DECIDED); it stays
 * open, beyond the published head, until something else is recorded or record_flush. */
#ifndef COMET_RECORD_H
#define COMET_RECORD_H

#include <jansson.h>

#include "nc_clock.h"
#include "nc_record.h"
#include "nc_vnet.h"

struct recorder_settings {
    const char *path;      /* NULL: no recorder */
    uint64_t memory_bytes; /* of the file */
    uint64_t header_bytes; /* kept of each frame */
};

/* The run of decisions not yet published. */
struct record_open {
    struct nc_record_slot *slot; /* NULL: none */
    uint64_t last_ns;
};

struct record_ring {
    struct nc_record_ring *shared;
    struct nc_record_slot *slots;
    uint64_t n;              /* slots */
    uint64_t head, tail;     /* ours, beyond the published; the reader's as last seen */
    uint64_t index;          /* head mod n */
    uint64_t reserved;       /* slots that packets let in may still need */
    uint64_t header_bytes;
    struct record_open open;
    uint64_t packets;        /* recorded */
    uint64_t skipped_packets, skipped_frames, skipped_first, skipped_copies;
    struct { uint64_t first, packets, frames, from_ns, to_ns; } gap; /* not yet told of */
};

struct recorder;

/* Makes the file, with its space taken up so that writing to it cannot fail; it replaces one of that name unless a
 * running box writes to it. `text`: the parameters. NULL with a one-line reason. */
struct recorder *recorder_open(const struct recorder_settings *settings, const char *const ports[2], const char *text,
                               struct nc_clock_pair clock, char *why, size_t why_size);
struct record_ring *recorder_ring(struct recorder *recorder, unsigned direction);

/* Says that nothing more comes. The file stays. NULL is allowed. */
void recorder_close(struct recorder *recorder);

/* {"packets","skipped_packets","skipped_frames","skipped_copies","used_bytes","bytes"} of one direction, as last shown; any thread. */
json_t *record_json(const struct record_ring *ring);

/* Wire packets that are not in the record for want of room, as last shown. */
uint64_t record_skipped(const struct record_ring *ring);

/* A ring in memory of the caller's: for recorder_open and for tests. */
void record_ring_init(struct record_ring *ring, struct nc_record_ring *shared, void *slots, uint64_t n,
                      uint64_t header_bytes);

/* A frame came in, as read (vnet header first), whose first wire packet is `number`. True: it is recorded, and every
 * packet of it must be decided once and, if passed, sent once; false: nothing of it may be recorded. */
bool record_frame(struct record_ring *ring, const uint8_t *data, const struct nc_super *super, uint64_t number,
                  uint64_t arrival_ns);

/* Wire packet `number` leaves (NC_FATE_PASS) or is dropped at `t_ns`; exit_ns: it passed the bottleneck then, or 0. A copy
 * is a duplicate of one that passed. */
void record_decided(struct record_ring *ring, uint64_t number, uint64_t exit_ns, uint64_t t_ns, enum nc_fate fate,
                    uint8_t edits, bool copy);

/* The run was handed to the far port; NC_FATE_WRITE: which did not take it. */
void record_sent(struct record_ring *ring, uint64_t number, uint32_t count, uint64_t now_ns, enum nc_fate fate);

/* Shows the reader all that was recorded so far. */
void record_flush(struct record_ring *ring);

#endif
