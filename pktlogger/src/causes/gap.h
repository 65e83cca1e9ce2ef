/* The gaps in which a sender sends nothing. A gap lies between one data packet and the next, or the end of the capture.
 * Its facts are collected once, from the acknowledgements that came in it: whether the receiver's window was full or
 * closed, whether anything was outstanding, and so on. Stops (analyse/stops.c) and limits (limits.c) get their causes
 * from the same facts: a stop is a long gap, and limits are sums of gaps. */
#ifndef PL_GAP_H
#define PL_GAP_H

#include <stdbool.h>
#include <stdint.h>

enum pl_sender_mode { PL_MODE_NORMAL, PL_MODE_FAST, PL_MODE_TIMEOUT };

/* A data packet, and the sender after it:
 * - queue_ns: how long its first part waited in queues; line_ns: in the box's queue, by its record. -1: not known.
 * - rtt_ns: the present round-trip time without queues; segment_ns: the line's present time for a full segment. 0: as
 *   at the first packet.
 * - `timeout`: a time-out sent the packet. `probe`: the packet is a tail-loss probe, which repeats outstanding data.
 *   `repair`: these data had been lost.
 * - `reduced`: ECN marks have reduced the congestion window since the previous packet. */
struct pl_sent {
    int64_t t_ns, queue_ns, line_ns, rtt_ns, segment_ns;
    uint64_t una, high; /* first byte outstanding, end of the last byte sent */
    uint32_t len, window;
    bool window_known, timeout, probe, repair, reduced;
    enum pl_sender_mode mode;
};

/* The sender after an acknowledgement. `advanced`: it acknowledges new data; `missed`: it acknowledges data that the
 * sender's capture lacks; `answer`: it carries data of the peer. `ended`: the recovery that it ends, or
 * PL_MODE_NORMAL. */
struct pl_acked {
    int64_t t_ns;
    uint64_t una, high;
    uint32_t window;
    bool advanced, missed, answer;
    enum pl_sender_mode ended;
};

/* Times are -1 where there is none. */
struct pl_gap {
    uint32_t mss;
    int64_t t0_ns;                 /* when its first packet was sent */
    uint64_t una, high;            /* then: first byte outstanding, end of the last byte sent */
    bool started;                  /* there is such a packet */
    bool full, roomy;              /* then: the window had no room for a segment; it had room. Neither: not known */
    bool answered, missed;         /* data of the peer came; data were acknowledged that the sender's capture lacks */
    bool bare;                     /* the acknowledgement after which nothing was outstanding carried no data */
    int64_t empty_ns;              /* since when nothing has been outstanding */
    int64_t room_ns;               /* since when the window has had room, and data were acknowledged */
    int64_t shut_ns;               /* since when the window has been 0; it may have been so before the gap */
    int64_t was_shut_ns;           /* for how long it was 0 before that, within the gap */
    int64_t recovered_ns;          /* when a recovery ended in the gap, */
    uint64_t recovered_flight;     /* how much was outstanding then, */
    enum pl_sender_mode recovered; /* and which it was. A repair by a probe counts as fast */
    uint64_t probed;               /* end of the data sent when a probe repaired a loss; 0: no repair is under way */
    int64_t acked_ns, between_acks_ns; /* the last acknowledgement of new data; its time after the one before */
    int64_t waits_ns;                  /* since when an acknowledgement of new data has been awaited */
};

/* The gap before the first data packet. */
struct pl_gap pl_gap_none(uint32_t mss);
/* Begins the gap after a packet. */
void pl_gap_begin(struct pl_gap *gap, const struct pl_sent *sent);
/* Takes an acknowledgement. */
void pl_gap_ack(struct pl_gap *gap, const struct pl_acked *acked);

/* Takes the window that an acknowledgement offers. If that ends a window of 0, returns since when it was 0; else -1. */
int64_t pl_gap_window(struct pl_gap *gap, int64_t now_ns, uint32_t window);

/* Whether data were outstanding before the packet that ends the gap was sent. */
static inline bool pl_gap_outstanding(const struct pl_gap *gap, const struct pl_sent *sent)
{
    return sent->mode != PL_MODE_NORMAL || sent->probe || (gap->empty_ns < 0 && gap->started);
}

/* The octets that were outstanding when the gap began. */
static inline uint64_t pl_gap_flight(const struct pl_gap *gap)
{
    return gap->high > gap->una ? gap->high - gap->una : 0;
}

/* For how long the window has been 0 within the gap. If the gap is divided, from_ns is where its last part begins. */
static inline int64_t pl_gap_shut_ns(const struct pl_gap *gap, int64_t from_ns, int64_t now_ns)
{
    int64_t since_ns = gap->shut_ns > from_ns ? gap->shut_ns : from_ns;
    return gap->was_shut_ns + (gap->shut_ns >= 0 ? now_ns - since_ns : 0);
}

/* Whether the window was 0 for more than half of the gap, or of its last part. */
static inline bool pl_gap_closed(const struct pl_gap *gap, int64_t from_ns, int64_t now_ns)
{
    return pl_gap_shut_ns(gap, from_ns, now_ns) * 2 > now_ns - from_ns;
}

/* For how long nothing has been outstanding. */
static inline int64_t pl_gap_empty_ns(const struct pl_gap *gap, int64_t now_ns)
{
    return gap->empty_ns < 0 ? 0 : now_ns - gap->empty_ns;
}

/* Whether nothing was outstanding for more than half of the gap. */
static inline bool pl_gap_empty(const struct pl_gap *gap, int64_t now_ns)
{
    return pl_gap_empty_ns(gap, now_ns) * 2 > now_ns - gap->t0_ns;
}

#endif
