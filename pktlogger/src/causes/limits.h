/* What limited a sender at each moment between its first and its last data packet. The gap before each packet has one
 * cause. The packets themselves may show it (a time-out, a full window, silence); otherwise it is the cause of the
 * round: of what was sent until the round's first byte was acknowledged. Memory holds the gaps of a few rounds. `now`
 * is passed in, and the caller says what it knows of recoveries and time-outs.
 * Rejected: windows of fixed time as in T-RAT, because a pause or a closed window begins and ends at a packet. */
#ifndef PL_LIMITS_H
#define PL_LIMITS_H

#include "evidence.h"
#include "gap.h"
#include "spans.h"
#include "thresholds.h"
#include "transfer.h"

/* What is known before the first packet. min_rtt_ns: the round-trip time without queues, at least 1. segment_ns: the
 * bottleneck's time for a full segment; 0: not known. `sink` gets the rows, in order and without gaps between them. */
struct pl_limits_path {
    uint32_t flow, mss;
    int64_t min_rtt_ns, segment_ns;
    const struct pl_time_spans *down; /* when the path was certainly down, as the sender noticed it; NULL:
                                       * never */
    const struct pl_time_spans *late; /* when the box was late, as the sender noticed; NULL: never */
    const struct pl_time_spans *busy; /* times in which the line was busy, by the box's record; NULL: not known */
    uint64_t data_end;                /* end of the last byte that is ever sent; 0: not known */
    struct pl_samples_of samples;     /* of the sender's socket */
    bool always_data;                 /* after the first `opening_bytes`, its program always has data to send */
    uint64_t opening_bytes;           /* in these first octets the program may wait for answers; at least
                                       * PL_OPENING_BYTES */
    bool passes_on;                   /* the sender is a gateway: its waits say nothing about its send buffer */
    bool line_known;                  /* segment_ns is the configured rate of the line, not an estimate from captures */
    bool line_alone;                  /* packets queue only at the line of `busy` */
    bool middle;                      /* the capture began in mid-connection: nothing is known about the time before */
    int64_t shown_from_ns;            /* both captures show the data from then on, and a queue may have been standing by
                                       * then; 0: they show the first data, too */
    pl_limit_sink *sink;
    void *context;
};

struct pl_limits;

/* Returns NULL without memory. */
struct pl_limits *pl_limits_new(const struct pl_limits_path *path);
/* Takes a data packet and the gap that it ends. Returns 0, or -1 without memory. */
int pl_limits_send(struct pl_limits *limits, const struct pl_gap *gap, const struct pl_sent *sent);
/* Judges the open round. `gap`: the last one, which the end of the capture ends. */
void pl_limits_end(struct pl_limits *limits, const struct pl_gap *gap);
/* NULL is allowed. */
void pl_limits_free(struct pl_limits *limits);

/* "slow_start", …; and the words for people. */
const char *pl_limit_name(enum pl_limit_cause cause);
const char *pl_limit_words(enum pl_limit_cause cause);

#endif
