/* One direction of one connection, seen from both ends: everything that `analyse` knows about it. All sequence numbers
 * are relative as in the sender's capture. Those of the receiver's capture are translated by `delta`.
 *
 * The captures are read three times. Memory holds only open flows and data that is not acknowledged.
 * 1. survey.c finds the flows of both captures. The later readings need their direction, their MSS and the difference
 *    of their relative numbers, which are known only at the end of this one.
 * 2. join.c pairs packets sent with packets received, block by block as data is acknowledged, and writes segments and
 *    acks. It also measures round-trip times and delays. The labels depend on the smallest of these.
 * 3. walk.c follows the sender once more, along with the rows that were written. It writes kinds and events and finds
 *    stops.
 * Rejected: labels in the second reading, from the smallest round-trip time so far. The same rule would then have other
 * bounds at the beginning of a transfer than at its end. */
#ifndef PL_TRANSFER_H
#define PL_TRANSFER_H

#include <string.h>

#include "record_format.h"
#include "base.h"
#include "box.h"
#include "index.h"
#include "lateness.h"
#include "line.h"
#include "mss_levels.h"
#include "vector.h"

/* Which captures there are. */
enum pl_ends { PL_BOTH_ENDS, PL_SENDER_ALONE, PL_RECEIVER_ALONE };

enum pl_kind { PL_NEW, PL_FAST, PL_TIMEOUT, PL_SPURIOUS, PL_PROBE, PL_KIND_N };

enum pl_event_kind {
    PL_LOSS_BURST,
    PL_RTO,
    PL_FAST_RETRANSMIT,
    PL_ZERO_WINDOW,
    PL_RECEIVER_WINDOW,
    PL_IDLE,
    PL_ECN_REDUCTION,
    PL_EVENT_KIND_N,
};

/* Rows of the tables; FORMAT.md says what each field means. */
struct pl_segment {
    uint32_t flow, len;
    uint64_t seq;
    int64_t t_sent_ns, t_received_ns, delay_ns;
    uint64_t sender_frame, receiver_frame;
    int64_t t_box_in_ns, t_box_exit_ns, t_box_out_ns; /* with a box's record */
    uint16_t transmission;
    uint8_t kind, unseen,
        box_fate; /* unseen: it was acknowledged, but the receiver's capture does not show its arrival */
    uint8_t ecn_sent, ecn_received; /* enum nc_ecn; PL_NO_ECN: it did not arrive */
    int64_t t_acked_ns, rtt_ns;     /* with the sender's capture alone */
    /* not in the table: */
    bool sent_once; /* no other copy of any of its bytes was sent */
    bool repeats;   /* an earlier copy of all its bytes arrived */
    bool joined;    /* all fields above are final */
    bool again;     /* it begins below the end of the data sent before it */
    uint32_t token;
};

struct pl_ack {
    uint32_t flow, window, len; /* len: octets of data in the same packet */
    uint64_t ack;
    int64_t t_sent_ns, t_received_ns;
    int64_t t_box_in_ns, t_box_out_ns; /* with a box's record */
    uint8_t box_fate, ace;
    bool joined; /* this and the following fields are not in the table */
    bool again;  /* its number is not above all numbers before it */
    uint16_t parts;
    uint32_t token;
};

struct pl_event {
    uint32_t flow, packets;
    uint64_t seq, bytes;
    int64_t t0_ns, t1_ns;
    uint8_t kind;
};

/* Limits: why the sender sent no faster at a moment (FORMAT.md section 4, "Limits"). */
enum pl_limit_cause {
    PL_LIMIT_SLOW_START,
    PL_LIMIT_CONGESTION_AVOIDANCE,
    PL_LIMIT_RECEIVER_WINDOW,
    PL_LIMIT_ZERO_WINDOW,
    PL_LIMIT_SEND_BUFFER,
    PL_LIMIT_APPLICATION,
    PL_LIMIT_PACING,
    PL_LIMIT_PATH_RATE,
    PL_LIMIT_FAST_RECOVERY,
    PL_LIMIT_TIMEOUT,
    PL_LIMIT_CAPTURE_LOSS,
    PL_LIMIT_EMULATOR_LATE,
    PL_LIMIT_PATH_DOWN,
    PL_LIMIT_ECN,
    PL_LIMIT_N,
};

struct pl_limit {
    uint32_t flow, packets, window_bytes;
    uint64_t bytes, flight_bytes;
    int64_t t0_ns, t1_ns, queue_ns;
    uint8_t cause;
};

/* Why a part was lost (FORMAT.md section 4, "Losses"). */
enum pl_loss_cause {
    PL_LOSS_TAIL_DROP,
    PL_LOSS_AQM,
    PL_LOSS_BEFORE,
    PL_LOSS_BEHIND,
    PL_LOSS_ANYWHERE,
    PL_LOSS_OUTAGE,
    PL_LOSS_EMULATOR,
    PL_LOSS_CORRUPTED,
    PL_LOSS_CAPTURE,
    PL_LOSS_RECEIVER,
    PL_LOSS_UNKNOWN,
    PL_LOSS_POLICER,
    PL_LOSS_N,
};

struct pl_loss {
    uint32_t flow, len, run;
    uint64_t seq;
    int64_t t_sent_ns, queue_ns, spacing_ns, service_ns;
    uint8_t cause, seen_cause;
};

/* Causes that a verdict names in addition to limits: the reasons behind a limit (analyse/transfer_verdict.h). */
enum pl_finding {
    PL_FOUND_LOSSES,
    PL_FOUND_POLICER,
    PL_FOUND_PATH_MTU,
    PL_FOUND_SLOW_READER,
    PL_FOUND_NAGLE,
    PL_FOUND_CROSS_TRAFFIC,
    PL_FOUND_REQUESTS,
    PL_FOUND_WAY_BACK,
    PL_FOUND_GATEWAY,
    PL_FOUND_GATEWAY_FEED,
    PL_FINDING_N,
};

/* Evidence for the causes of pl_finding in a transfer. */
struct pl_signs {
    double policed_rate, policed_burst; /* octets a second and octets, with headers; 0: no policer */
    uint32_t largest_arrived;           /* payload of the largest part that arrived */
    uint32_t stuck_len;                 /* payload of a part of which stuck_tries copies were sent and none arrived */
    uint16_t stuck_tries;
    uint64_t shut,
        shut_small,   /* shut: how often the window was full; shut_small: how often of these it was also below 3/4 of
                       * window_kept */
        shut_largest; /* how often of these it was about as large as window_kept */
    uint64_t delayed; /* times that a short packet waited for a delayed acknowledgement */
    int64_t delayed_ns;
    uint64_t answers;     /* number of sends before which the peer's data came and everything was acknowledged */
    int64_t answers_ns;   /* total time without sending before these sends */
    int64_t ack_queue_ns; /* mean wait of acknowledgements in queues, weighted by time; 0: none, or not known */
    const struct pl_flow
        *behind;         /* connection by which the receiver's machine passes the data on; NULL: none was found */
    unsigned behind_dir; /* direction of the data in that connection */
    double others_bps;   /* rate of other connections of the captures meanwhile, in the same direction */
    uint32_t others;     /* number of these other connections */
    int64_t others_ns;   /* how long at least one of them, other than a stream of the same transfer, was under way */
    double beside_bps;   /* the part of others_bps between the same two hosts */
    double streams_bps;  /* the part of others_bps that belongs to streams of the same transfer */
    uint32_t streams;    /* the number of `others` that are such streams */
};

enum pl_cause {
    PL_RTO_AFTER_TAIL_DROP,
    PL_RTO_AFTER_LOSS,
    PL_RTO_AFTER_LOST_RETRANSMISSION,
    PL_RTO_SPURIOUS,
    PL_CAUSE_ZERO_WINDOW,
    PL_CAUSE_RECEIVER_WINDOW,
    PL_CAUSE_IDLE,
    PL_LOSS_RECOVERY,
    PL_ACK_WAIT,
    PL_UNFINISHED,
    PL_CAUSE_N,
};

struct pl_stop {
    int64_t t0_ns, t1_ns;
    enum pl_cause cause;
    uint64_t bytes;           /* octets lost, for causes that name a loss */
    uint32_t packets, outage; /* packets lost; outage: how many of them met an outage */
    int64_t waited_ns; /* time-out: time since the last lost packet was sent; other causes: time with the window closed,
                        * or with nothing to send */
    uint64_t outstanding_bytes; /* for causes that name outstanding octets */
    bool full_queue,
        probe; /* full_queue: most lost packets met a full queue; probe: a tail-loss probe ended the stop */
    char text[160];
};

/* A row of the table rates: an interval of one time scale. */
struct pl_rate {
    uint32_t flow, sent_packets, received_packets, window_bytes;
    uint64_t scale_ns, sent_bytes, received_bytes, acked_bytes, flight_bytes;
    int64_t t0_ns, rtt_ns;
};

struct pl_trip {
    uint32_t flow;
    uint8_t gap;
    int64_t t_ns, rtt_ns;
};

/* What both ends show of ECN marks (FORMAT.md section 3, summary.json). */
struct pl_mark_sum {
    uint64_t ce_received, ce_received_bytes; /* from the sender to the receiver */
    uint64_t ece_received;                   /* acknowledgements at the sender, RFC 3168 */
    uint64_t ce_reported, ce_reported_bytes; /* reported by AccECN's counter ACE, and by its option */
    uint64_t cwr_sent, reductions;
    uint64_t box_marked; /* with a box's record */
};

enum { PL_SCALES_MAX = 4, PL_TRAIN_BINS = 16 };

/* The user's choices for rates and bursts. */
struct pl_pace {
    int64_t scales_ns[PL_SCALES_MAX];
    unsigned scale_n;
    int64_t burst_gap_ns; /* a longer gap ends a burst */
};

/* Sums over the intervals of a time scale, for data sent [0] and data received [1]. */
struct pl_scale_sum {
    uint64_t intervals, bytes[2], most[2];
    double squares[2];
};

/* Bursts. by_size[i] counts bursts of 2^i up to 2^(i+1) - 1 parts; the last element also counts all longer ones. */
struct pl_trains {
    uint64_t n, parts, bytes_max;
    uint32_t parts_max;
    uint64_t by_size[PL_TRAIN_BINS];
};

struct pl_join;
struct pl_walk;
struct pl_arrived;
struct pl_send_samples;
struct pl_aggregate;

/* When outages began and ended at the path, in order, as far as this is known; n = 0: nothing is known. */
struct pl_outages {
    const int64_t *down_ns, *up_ns; /* down_ns: INT64_MIN where only the end of the outage is known */
    size_t n;
};

/* A time in which none of the packets arrived that the connections between two hosts sent in one direction. The span
 * lies between two arrivals, and runs from the sending time of one to that of the other. INT64_MIN or INT64_MAX stand
 * for an arrival that does not exist. The other fields describe the packets that were lost in the span, with and
 * without data. */
struct pl_silence {
    struct pl_time_span span;
    int64_t first_lost_ns, last_lost_ns; /* when the first and the last of them were sent */
    uint64_t lost;                       /* number of parts */
    uint32_t losers;                     /* number of connections that lost some */
    bool outage;                         /* whether all connections together show an outage (analyse/silences.h) */
};

/* In order of time. It starts as {0}. */
struct pl_silences {
    PL_VECTOR(struct pl_silence) list;
};

struct pl_transfer {
    uint32_t number;                /* `flow` in the tables */
    enum pl_ends ends;              /* with one capture alone, fields about the other capture have this one's values */
    const struct pl_flow *flow;     /* as in the sender's capture */
    const struct pl_flow *far_flow; /* the same flow in the receiver's capture, if addresses or ports differ there
                                     * (NAT); NULL: they do not */
    unsigned dir;                   /* of the data, in the sender's capture */
    unsigned receiver_dir;          /* of the data, in the receiver's capture */
    uint32_t mss, mss_option;       /* at the end; 0: not known, so packets are not split into parts */
    const struct pl_mss_levels *levels; /* of the receiver's capture; NULL: none */
    struct pl_mss_place place[2];       /* of the sender's and the receiver's capture */
    bool
        lost_at_most; /* one capture alone, and no SACK: nothing shows which copy arrived, and `lost` is an upper bound */
    bool mss_said;    /* a SYN gave the MSS; otherwise it comes from the packets' sizes */
    bool scale_known;       /* scale of the receiver's window */
    uint8_t window_shift;   /* the window scale, if the sender's capture lacks it and the receiver's has it */
    uint8_t scale_least;    /* if the scale is unknown: the smallest one with which the outstanding data fits into the
                             * window */
    int64_t delta;          /* sender's relative number minus the receiver's */
    bool data_ids, ack_ids; /* data, or acknowledgements, have IPv4 identifications at both ends */
    uint64_t sender_rows, receiver_rows; /* packets of both directions */
    int64_t sender_first_ns, sender_last_ns, receiver_first_ns,
        receiver_last_ns;     /* when the captures began and ended */
    const struct pl_box *box; /* the record of the box between, with `box_flow` in it; NULL: none */
    uint32_t box_flow;
    unsigned box_dir;                 /* direction of the data in the box's flow */
    const struct pl_time_spans *busy; /* when the box's line was busy in the data's direction; NULL: not known */
    int64_t box_delta;                /* sender's relative number minus the box's */
    struct pl_lateness lateness;      /* of the box, with its record */
    struct pl_base base;              /* base delay of data, by the box's record where there is one */
    struct pl_base seen_base;         /* base delay of data, by the captures alone */
    struct pl_base ack_base;          /* base delay of acknowledgements */

    uint64_t rows_left;                 /* rows that the present reading has not reached yet */
    struct pl_join *join;               /* during the second reading */
    struct pl_walk *walk;               /* during the third */
    struct pl_arrived *arrived;         /* during the only reading of a receiver's capture alone */
    uint32_t first_run[2], last_run[2]; /* first and last run in segments and in acks (tables.h); UINT32_MAX: none */
    PL_VECTOR(struct pl_stop) stops;
    PL_VECTOR(uint32_t) lost_runs; /* for each lost part in order of sending: its run in the study of losses */

    uint64_t data_end; /* sequence number after the last byte of data */
    uint64_t segments, bytes, retransmitted, retransmitted_bytes, lost, lost_bytes, spurious, timeouts, fast_recoveries;
    uint64_t in_flight_at_end; /* parts without arrival that may have arrived after the receiver's capture ended */
    int64_t
        certain_delay_ns; /* longest delay among parts that were sent once and therefore cannot be confused with a copy */
    uint64_t acked_unseen_bytes; /* octets acknowledged that the receiver's capture does not have */
    uint64_t unseen;             /* number of parts with such octets */
    uint64_t *box_fates; /* [256], with a box: number of data parts by fate; PL_NO_FATE: the box did not see them */
    uint64_t unresolved; /* parts left out of the join because too many borders overlap */
    uint64_t max_unacknowledged_bytes;
    uint32_t window_max;  /* largest window that the receiver offered outside SYNs; 0: not known */
    uint32_t window_kept; /* largest window that moved its right edge, after the first offer was used up; 0: none did */
    uint32_t window_fixed; /* by the samples, the largest that the receiver ever offers; 0: it may grow, or not known */
    struct pl_signs signs;
    const struct pl_line *line; /* the path's line in the data's direction; NULL: not known */
    double hosts_bps;           /* payload per second that the hosts handle at most; INFINITY: not bounded */
    double service_ns;          /* by the captures: time that the bottleneck takes per byte; 0: not known */
    double shown_service_ns;    /* the same as a mean over all data that kept the bottleneck busy; an upper bound */
    double serial_ns;           /* upper bound of that time where others share the bottleneck; 0: none do */
    double slow_service_ns;     /* the same time where the bottleneck was slowest, for this transfer's bytes */
    int64_t most_queue_ns;      /* longest wait of a packet in queues; 0: no packet waited */
    int64_t first_ns,
        last_ns; /* first data sent; last data sent, or the arrival of its acknowledgement if that is later */
    int64_t min_rtt_ns, max_rtt_ns;     /* -1: no sample */
    int64_t min_delay_ns, max_delay_ns; /* among parts that arrived; -1: none did */
    int64_t low_delay_ns;     /* 5th percentile of delays: the smallest delay without the effect of late time stamps */
    int64_t typical_queue_ns; /* 95th percentile of (delay − min_delay_ns) */
    uint64_t not_arrived;     /* number of parts that did not arrive, lost or not */
    int64_t limit_ns[PL_LIMIT_N];
    uint64_t sampled; /* number of samples of the sender's socket */
    bool sets_rate;   /* by the samples, congestion control sends at a rate that it sets */
    struct pl_mark_sum marks;
    uint64_t duplicate_acks; /* at the sender */
    uint64_t reordered,
        overtaken_sum; /* number of parts that arrived after later ones; sum of the numbers of parts that overtook each */
    uint32_t overtaken_max;
    int64_t
        reordered_late_ns; /* largest time between the first overtaking arrival and the arrival of a reordered part */
    const struct pl_pace *pace;
    bool from_gateway,
        to_gateway;   /* the sender, or the receiver, is a gateway: it forwards the data of another connection */
    bool always_data; /* the options --always-data and --opening */
    uint64_t opening_bytes;
    const struct pl_send_samples *samples; /* samples of all senders; NULL: none */
    unsigned ruled_out;                    /* loss causes that are impossible on this path, as bits 1 << cause */
    struct pl_outages outages;
    struct pl_aggregate *aggregate; /* the transfers that share its queue; NULL: the transfer is studied by itself */
    const struct pl_silences
        *silent; /* when nothing arrived from any connection between its hosts; NULL: it is the only connection */
    struct pl_scale_sum scales[PL_SCALES_MAX];
    struct pl_trains trains;
    uint64_t loss_causes[PL_LOSS_N], loss_seen_causes[PL_LOSS_N];
};

#define PL_NO_ECN UINT8_MAX
#define PL_NO_LOST_RUN UINT32_MAX /* an outage took the part */

/* True for the fate of a part that the box dropped (FORMAT.md section 6 numbers the fates). */
static inline bool pl_box_dropped(uint8_t fate)
{
    return fate > FATE_PASS && fate < FATE_N;
}

/* True for the fate of a part that the box dropped because a queue was full, or about to be. */
static inline bool pl_box_queue(uint8_t fate)
{
    return fate == FATE_QUEUE || fate == FATE_AQM;
}

/* The longest time for which a part may be under way: the longest delay seen, plus an eighth, because a growing queue
 * makes each delay longer than the previous ones. */
static inline int64_t pl_under_way_ns(const struct pl_transfer *transfer)
{
    return transfer->certain_delay_ns + transfer->certain_delay_ns / 8;
}

/* True for a lost part: the box dropped it, or it never reached the receiver although the receiver's capture covers the
 * time of its arrival. An acknowledged part is not lost: the capture alone missed it. */
static inline bool pl_lost(const struct pl_transfer *transfer, const struct pl_segment *segment)
{
    return segment->t_received_ns < 0 && !segment->unseen &&
           (pl_box_dropped(segment->box_fate) ||
            (segment->t_sent_ns >= transfer->receiver_first_ns &&
             segment->t_sent_ns + pl_under_way_ns(transfer) <= transfer->receiver_last_ns));
}

/* True for a part that the box corrupted, by its record, and that has a frame in the receiver's capture. It arrived at
 * the interface but counts as lost, because the receiver's TCP drops segments with a wrong checksum. */
static inline bool pl_corrupted(const struct pl_segment *segment)
{
    return segment->t_received_ns < 0 && segment->receiver_frame > 0;
}

/* When a part would have arrived if the path had had its shortest delay, by the captures alone. */
static inline int64_t pl_settled_ns(const struct pl_transfer *transfer, const struct pl_segment *segment)
{
    return segment->t_received_ns - pl_base_moved_ns(&transfer->seen_base, segment->t_sent_ns);
}

/* Octets of headers in a full packet, from the IP header on. */
static inline uint32_t pl_transfer_headers(const struct pl_transfer *transfer)
{
    uint32_t options = transfer->mss_option > transfer->mss ? transfer->mss_option - transfer->mss : 0;
    return (transfer->flow->ip_version == 6 ? 60 : 40) + options;
}

/* True when both transfers are between the same two hosts: in the same direction or, with `back`, in opposite
 * directions. */
static inline bool pl_transfer_same_hosts(const struct pl_transfer *a, const struct pl_transfer *b, bool back)
{
    for (unsigned end = 0; end < 2; end++)
        if (memcmp(a->flow->side[a->dir ^ end].address, b->flow->side[b->dir ^ end ^ back].address,
                   sizeof a->flow->side->address) != 0)
            return false;
    return true;
}

/* True for a packet of direction `dir` with payload and a usable sequence number. */
static inline bool pl_is_data(const struct pl_row *row, unsigned dir)
{
    return row->dir == dir && row->len > 0 && row->seq < UINT64_MAX / 4;
}

void pl_transfer_free(struct pl_transfer *transfer);

/* The round-trip time without queues at a moment: the smallest round-trip time, plus the amount by which the base
 * delays of both directions now exceed their smallest values. -1: no sample. */
static inline int64_t pl_transfer_rtt_ns(const struct pl_transfer *transfer, int64_t t_ns)
{
    if (transfer->min_rtt_ns < 0)
        return -1;
    return transfer->min_rtt_ns + pl_base_moved_ns(&transfer->base, t_ns) + pl_base_moved_ns(&transfer->ack_base, t_ns);
}

/* The time without sending after which a pause that begins at t_ns is a stop: 4 base round-trip times, at least 100
 * ms. */
int64_t pl_stop_threshold_ns(const struct pl_transfer *transfer, int64_t t_ns);

const char *pl_cause_name(enum pl_cause cause);

#endif
