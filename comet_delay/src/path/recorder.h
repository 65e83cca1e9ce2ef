/* Writes one direction's ring of the record file (record_format.h). Only the thread that runs the direction calls it.
 *
 * A packet is recorded completely or not at all. A frame is recorded only if there is room for it and for everything
 * that may still be recorded about its wire packets (two slots each: decided, sent); that room is then reserved.
 * Otherwise the frame is skipped and counted, and a GAP record before the next frame reports it. So a reader never
 * finds an incomplete packet, and without a reader the file keeps the first packets, including handshakes.
 * Rejected: overwriting the oldest records. The reader would have to check whether a record was overwritten while it
 * copied it, and the lost records would be those needed to interpret the rest. Rejected: waiting for the reader, which
 * would make packets late.
 *
 * The decisions about consecutive packets become one DECIDED record of a first time and 16-bit steps, which is exact.
 * It stays open, beyond the published head, until another record follows or recorder_flush is called. */
#ifndef COMET_RECORDER_H
#define COMET_RECORDER_H

#include "nc_vnet.h"
#include "record_format.h"

/* The run of decisions that is not published yet. */
struct recorder_open {
    struct comet_record_slot *slot; /* NULL: none */
    uint64_t last_ns;
};

struct recorder {
    struct comet_record_ring *shared;
    struct comet_record_slot *slots;
    uint64_t n;          /* slots */
    uint64_t head, tail; /* our head, which may be beyond the published one; the reader's tail as last seen */
    uint64_t index;      /* head mod n */
    uint64_t reserved;   /* slots that recorded packets may still need */
    uint64_t header_bytes;
    struct recorder_open open;
    uint64_t packets; /* recorded */
    uint64_t skipped_packets, skipped_frames, skipped_first, skipped_copies;
    struct {
        uint64_t first, packets, frames, from_ns, to_ns;
    } gap; /* frames skipped that no GAP record has reported yet */
    struct {
        bool waits;
        uint64_t t_ns;
        struct comet_record_line line;
    } line; /* the newest LINE record, if there was no room for it yet */
};

/* `slots` are the memory of the ring, `n` of them; of each frame at most `header_bytes` are kept. */
void recorder_init(struct recorder *recorder, struct comet_record_ring *shared, void *slots, uint64_t n,
                   uint64_t header_bytes);

/* Wire packets for which there was no room in the record, as last published. */
uint64_t recorder_skipped(const struct recorder *recorder);

/* Records a frame as it was read (vnet header first), whose first wire packet is `number`. True: the fate of each of
 * its packets must be recorded once, and its sending once if it passed. False: nothing else about the frame may be
 * recorded. */
bool recorder_frame(struct recorder *recorder, const uint8_t *data, const struct nc_super *super, uint64_t number,
                    uint64_t arrival_ns);

/* Records that wire packet `number` leaves (FATE_PASS) or is dropped at `t_ns`. `exit_ns`: when it left the bottleneck,
 * or 0. `copy`: it is a duplicate of a packet that passed. */
void recorder_decided(struct recorder *recorder, uint64_t number, uint64_t exit_ns, uint64_t t_ns, enum fate fate,
                      uint8_t edits, bool copy);

/* Records that a run was passed to the outgoing port. FATE_WRITE: the port did not accept it. */
void recorder_sent(struct recorder *recorder, uint64_t number, uint32_t count, uint64_t now_ns, enum fate fate);

/* Records the rate of the direction from `t_ns` on. If there is no room, the newest such record waits. */
void recorder_line(struct recorder *recorder, uint64_t t_ns, const struct comet_record_line *line);

/* Publishes all that was recorded so far. */
void recorder_flush(struct recorder *recorder);

#endif
