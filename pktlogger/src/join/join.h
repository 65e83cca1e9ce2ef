/* The second reading: pairs the packets that one connection's sender sent with those that its receiver received. Both
 * captures are read side by side in order of time.
 *
 * A part or an acknowledgement is open while its fate may still change. Memory holds all open ones. Everything below an
 * acknowledgement's number is joined as one block (block.c) HORIZON_NS after the acknowledgement has reached the
 * sender: by then every copy has arrived or never will. A copy that is sent or arrives even later is joined on its own,
 * as a further transmission of data that had arrived. Rows are written in order of sending as soon as all earlier ones
 * are joined. So memory is bounded by the data sent within a round-trip time and the horizon. When more than HELD_MAX
 * elements are open, acknowledged data is joined without waiting for the horizon, so memory holds only a round-trip
 * time. When more than OPEN_MAX are open, all data is joined without waiting for acknowledgements.
 *
 * Both captures may show super-packets, but with different borders: segmentation offload makes them at the sender, GRO
 * makes them at the receiver, and a box in between splits them. So the packets of both captures are first split into
 * wire parts by the MSS in use.
 * The token of a part is its IPv4 identification. Linux increases it by one for each part of a super-packet; RFC 6864
 * allows any number. Where the identification is absent (IPv6) or always zero, the token is the TCP timestamp. Without
 * either, parts are paired by order alone. */
#ifndef PL_JOIN_H
#define PL_JOIN_H

#include "lowest.h"
#include "shown.h"
#include "stretches.h"
#include "tables.h"
#include "tally.h"
#include "transfer.h"

enum { PL_MARKS = 6 };

/* A part that arrived, or an acknowledgement that reached the sender (len 0). */
struct pl_arrival {
    uint64_t number, frame;
    int64_t t_ns;
    uint32_t len, token;
    uint8_t ecn;
    bool taken; /* it has been joined */
    bool again; /* it begins below the highest octet that arrived before it */
};

/* The arrivals that are not joined: those from `first` on, except the ones that are taken. */
struct pl_arrivals {
    PL_VECTOR(struct pl_arrival) list; /* in order of arrival */
    size_t first;
    pl_lowest lowest; /* the lowest numbers */
    uint64_t high;    /* end of all arrivals so far; an acknowledgement ends at its number + 1 */
};

/* A packet in the box's record. */
struct pl_seen {
    uint64_t number;
    int64_t t_ns;
    uint32_t row, len;
};

struct pl_join {
    struct pl_transfer *t;
    struct pl_tally tally;
    size_t *open; /* parts and acknowledgements held by all transfers */

    PL_VECTOR(struct pl_segment) segments; /* in order of sending; those from `written` on are not in the table yet */
    PL_VECTOR(struct pl_ack) acks;
    pl_lowest lowest_segments, lowest_acks;
    size_t segments_written, acks_written;
    struct pl_arrivals parts_arrived, acks_arrived;
    struct pl_stretches parts_again, acks_again; /* octets or numbers that repeat earlier ones and are not joined yet */
    uint64_t acks_high;                          /* one more than the highest number that the receiver sent */
    bool by_borders;                             /* for tests: plain parts go through all steps, too (block.c) */
    PL_VECTOR(struct pl_seen) parts_seen, acks_seen;
    struct pl_shown_list shown; /* with the sender's capture alone */

    uint64_t acked; /* highest acknowledgement number that has reached the sender */
    uint64_t high;  /* end of the last byte sent */
    uint64_t first; /* where the capture begins in mid-connection: number of its first byte; earlier bytes were sent
                  before the capture */
    bool closed;    /* the acknowledgement with the highest number closed the window */
    bool
        probing; /* `probe` was sent into the closed window, and it is not yet known whether the receiver accepted it */
    struct pl_row probe;
    uint64_t joined;   /* everything below this number has been joined */
    size_t force_from; /* number of open elements at which the next block does not wait for the horizon */
    struct {
        int64_t t_ns;
        uint64_t acked;
    } marks[PL_MARKS]; /* the highest acknowledgement at earlier moments, oldest first */
    unsigned mark_n;
    int64_t parts_min_delay_ns, acks_min_delay_ns, parts_min_seen_ns,
        acks_min_seen_ns; /* smallest delays of certain pairs (match.h) */
};

/* Makes part `i` of a packet with data, as long as the payload of one wire packet. False when the packet has no such
 * part. */
bool pl_part_of(const struct pl_transfer *t, const struct pl_row *row, uint32_t i, struct pl_arrival *part);

/* Returns NULL without memory. */
struct pl_join *pl_join_new(struct pl_transfer *transfer, size_t *open);
void pl_join_free(struct pl_join *join);

/* Each of these takes a packet of the transfer from one of the captures, or a row of the box's record. They return 0,
 * or -1 without memory. */
int pl_join_sender(struct pl_join *join, const struct pl_row *row, struct pl_tables *tables);
int pl_join_receiver(struct pl_join *join, const struct pl_row *row);
int pl_join_box(struct pl_join *join, uint32_t row);

/* Joins and writes everything that is open, at the end of the input. */
int pl_join_finish(struct pl_join *join, struct pl_tables *tables);

/* Joins all open elements below `cut` (block.c). No open element may lie on both sides of `cut`. */
int pl_join_block(struct pl_join *join, uint64_t cut);

#endif
