/* The state of the walk, which walk.c and window.c share. */
#ifndef PL_WALK_STATE_H
#define PL_WALK_STATE_H

#include "aside.h"
#include "explain.h"
#include "marks.h"
#include "offers.h"
#include "rates.h"
#include "round_trips.h"
#include "walk.h"

/* A part of the present packet, and its row in the table. The rows of a packet need not be adjacent. */
struct walked {
    struct pl_segment segment;
    uint64_t row;
};

struct pl_walk {
    struct pl_transfer *t;
    struct pl_tables *tables;
    struct pl_cursor cursor;
    PL_VECTOR(struct walked) parts; /* of the present packet */
    struct pl_losses losses;
    struct pl_explain explain;
    struct pl_rates *rates;
    struct pl_aside *aside;
    struct pl_round_trips trips;
    struct pl_marks marks;
    uint64_t segment;         /* number of the next segment that will be sent */
    uint64_t timeout_segment; /* the first segment sent by the last time-out */
    int64_t timeout_ns;       /* when that was */
    bool reset;
    int64_t now_ns;     /* time of the latest packet */
    uint64_t una, high; /* first byte outstanding, end of the last byte sent */
    uint64_t acked;     /* the greatest acknowledgement number that has arrived */
    struct pl_gap gap;  /* since the last send */
    int64_t last_ack_ns;
    int64_t srtt_ns; /* the smoothed round-trip time (RFC 6298, 2.3); 0: no sample yet */
    bool hint;       /* a hint at a loss came since una last moved */
    bool window_known;
    uint32_t window;
    struct pl_offers offers;
    enum pl_sender_mode mode;
    bool probe;            /* the present packet is a tail-loss probe */
    uint64_t recover;      /* the mode ends when una reaches this */
    struct pl_event fast;  /* the present fast recovery */
    uint64_t repaired;     /* end of the octets that fast recovery retransmitted */
    uint32_t repair_tsval; /* the time stamp of its first retransmission; 0: none */
    struct pl_event
        limited; /* the present span in which the receiver's window is the limit; packets 0: there is none */
};

void pl_walk_event(struct pl_walk *s, enum pl_event_kind kind, struct pl_event event);
/* Takes the window of an acknowledgement. */
void pl_walk_note_window(struct pl_walk *s, const struct pl_row *packet);
/* Ends the present gap. If the window was full in it, it is part of a wait for the window. Waits that are less than a
 * round-trip time apart make one span. */
void pl_walk_end_window_wait(struct pl_walk *s, int64_t now_ns);
/* Ends the spans of the window that are open when the capture ends. */
void pl_walk_end_windows(struct pl_walk *s, int64_t now_ns);

#endif
