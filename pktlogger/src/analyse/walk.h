/* The third reading: follows a sender packet by packet in its capture, together with the segments that the second
 * reading wrote. It finds the kind of each transmission, loss bursts, events and stops. */
#ifndef PL_WALK_H
#define PL_WALK_H

#include "gap.h"
#include "tables.h"
#include "transfer.h"

/* Lost parts that were sent close together. */
struct pl_burst {
    int64_t t0_ns, t1_ns;
    uint64_t seq, seq_end; /* start of the lowest part, end of the highest */
    uint64_t bytes, first; /* `first`: the number of its first segment */
    uint32_t packets;
    bool full_queue; /* when the last part before the burst was sent, the queue was about as long as the longest ones */
};

/* A lost part that may still explain a time-out. */
struct pl_lost_part {
    uint64_t number, end; /* `number` of the segment, from 0; `end`: sequence number after its last byte */
    int64_t t_sent_ns;
    uint32_t len;
    bool retransmission, outage; /* `outage`: by the box's record, or sent while nothing passed the path */
    uint8_t fate;                /* in the box */
};

/* The lost parts that may be outstanding (bursts.c). */
struct pl_losses {
    PL_VECTOR(struct pl_burst) bursts; /* the last one may not be over */
    PL_VECTOR(struct pl_lost_part) parts;
    size_t kept;              /* number of parts left after the last pass over them */
    uint64_t between;         /* parts not lost since the last lost one */
    bool arrived;             /* at least one part has arrived */
    int64_t arrived_delay_ns; /* delay of the last part that arrived, corrected to the path's shortest delay */
};

/* Takes the next segment in order of sending; `down`: nothing passed the path at that time. A burst that has ended
 * becomes an event. */
int pl_losses_add(struct pl_losses *losses, const struct pl_transfer *t, struct pl_tables *tables,
                  const struct pl_segment *segment, uint64_t number, bool down);
/* Forgets losses before segment `since` and those that `una` acknowledges: they cannot explain a later stop. */
void pl_losses_forget(struct pl_losses *losses, uint64_t since, uint64_t una);
void pl_losses_end(struct pl_losses *losses, const struct pl_transfer *t, struct pl_tables *tables);

/* A gap that is a stop, and the state at its end, from which stops.c finds its cause. */
struct pl_resume {
    const struct pl_gap *gap;
    int64_t t1_ns;
    uint64_t una, high;                         /* first byte outstanding, end of the last byte sent */
    const struct pl_losses *losses;             /* of parts sent since the previous time-out */
    uint64_t since;                             /* number of the first segment that the time-out sent, or 0 */
    bool ended, timeout, retransmission, probe; /* `ended`: by a segment */
};
int pl_add_stop(struct pl_transfer *transfer, const struct pl_resume *resume);

struct pl_aside;

/* Takes a packet of the transfer from the sender's capture, and passes it on to limits and rates by `aside`. Returns 0,
 * or -1 without memory. */
int pl_walk(struct pl_transfer *transfer, const struct pl_row *row, struct pl_tables *tables, struct pl_aside *aside);

/* Ends what is still open when the capture ends. `aside` releases transfer->walk after limits and rates have got
 * everything. */
int pl_walk_end(struct pl_transfer *transfer, struct pl_tables *tables, struct pl_aside *aside);

#endif
