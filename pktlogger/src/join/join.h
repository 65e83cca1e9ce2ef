/* The second reading: pairs what one connection's sender sent with what its receiver received, while both captures are
 * read side by side in order of time.
 *
 * What is open is held: parts and acknowledgements whose fate may still change. HORIZON_NS after the sender has seen an
 * acknowledgement, everything below it is joined as one block (block.c): by then every copy has arrived or never will.
 * A copy that is sent or arrives even later is joined on its own, as a further transmission of what had arrived. Rows
 * are written in order of sending as soon as all earlier ones are joined.
 * So memory is bounded by what is sent within a round-trip time and the horizon. When more than HELD_MAX is open, the
 * horizon is given up, so that a round-trip time is all; beyond OPEN_MAX the acknowledgement is, too.
 *
 * Both captures may show super-packets, but with different borders: segmentation offload at the sender, GRO at the
 * receiver, and a box in between that splits them. So the packets of both captures are first split into wire parts by
 * the MSS in use.
 * The token of a part is its IPv4 identification, which Linux increases by one for each part of a super-packet; RFC
 * 6864 allows any number. Where the identification is absent (IPv6) or always zero, the token is the TCP timestamp.
 * Without either only the order remains. */
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
    bool taken; /* it was joined */
    bool again; /* it begins below the end of what came before it */
};

/* What arrived and is not joined: from `first` on, but for what is taken. */
struct pl_arrivals {
    PL_VECTOR(struct pl_arrival) list; /* in order of arrival */
    size_t first;
    pl_lowest lowest; /* numbers */
    uint64_t high;    /* end of all that ever came; an acknowledgement ends behind its number */
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

    PL_VECTOR(struct pl_segment) segments; /* in order of sending, from `written` on not yet in the table */
    PL_VECTOR(struct pl_ack) acks;
    pl_lowest lowest_segments, lowest_acks;
    size_t segments_written, acks_written;
    struct pl_arrivals parts_arrived, acks_arrived;
    struct pl_stretches parts_again, acks_again; /* of what was sent or arrived and is not joined */
    uint64_t acks_high;                          /* behind the highest number that the receiver sent */
    bool by_borders;                             /* for tests: nothing is joined at once (block.c) */
    PL_VECTOR(struct pl_seen) parts_seen, acks_seen;
    struct pl_shown_list shown; /* with the sender's capture alone */

    uint64_t acked; /* by the highest acknowledgement that the sender has seen */
    uint64_t high;  /* end of the last byte sent */
    uint64_t first; /* of a capture begun in mid-connection: its first byte sent; what lies below was sent before it */
    bool closed;    /* that acknowledgement had window 0 */
    bool probing;   /* `probe` was sent into the closed window, and nobody knows yet whether it was taken */
    struct pl_row probe;
    uint64_t joined;   /* all below was in a block */
    size_t force_from; /* parts and acknowledgements of the next block that does not wait for the horizon */
    struct {
        int64_t t_ns;
        uint64_t acked;
    } marks[PL_MARKS]; /* how far the acknowledgements had come, oldest first */
    unsigned mark_n;
    int64_t parts_min_delay_ns, acks_min_delay_ns, parts_min_seen_ns, acks_min_seen_ns; /* of certain pairs (match.h) */
};

/* Makes part `i` of a packet with data, as wide as a wire packet; false when there is none. */
bool pl_part_of(const struct pl_transfer *t, const struct pl_row *row, uint32_t i, struct pl_arrival *part);

/* Returns NULL without memory. */
struct pl_join *pl_join_new(struct pl_transfer *transfer, size_t *open);
void pl_join_free(struct pl_join *join);

/* Take a packet of the transfer from one of the captures, or a row of the box's record. They return 0, or -1 without
 * memory. */
int pl_join_sender(struct pl_join *join, const struct pl_row *row, struct pl_tables *tables);
int pl_join_receiver(struct pl_join *join, const struct pl_row *row);
int pl_join_box(struct pl_join *join, uint32_t row);

/* Joins and writes all that is open; nothing more comes. */
int pl_join_finish(struct pl_join *join, struct pl_tables *tables);

/* Joins what is open below `cut` (block.c). Nothing open may lie on both sides of it. */
int pl_join_block(struct pl_join *join, uint64_t cut);

#endif
