/* Direct evidence of why a sender sent nothing for a while. Evidence counts in this order:
 *
 *   1. The program. A rate that it asked for limits it. A program that always has data to send is not the limit before
 *      it has given its last octet; once all octets have been sent, only repairs are awaited. By its own account of
 *      what it has to send, it either waits for room, and is not the limit, or has given everything, and waits for no
 *      room. A program that leaves room in both windows and in its buffer is the limit in any case: its processor is
 *      too slow.
 *   2. The kernel. Its counters of time say whether the receiver's window or the send buffer held data back. The unsent
 *      octets say whether there were any data. The congestion control's name, the rate that an option allows, cwnd and
 *      ssthresh say whether anything paces, and whether the congestion window is in slow start.
 *   3. The record of the delay box: whether the line was busy.
 *   4. The packets: windows, silences, flights, queues (limits.c, round.c). They decide where none of the above does.
 *
 * The kernel's evidence on the receiver's window is looked at before that on the send buffer: data behind a full window
 * are unsent, those in a full send buffer need not be. */
#ifndef PL_EVIDENCE_H
#define PL_EVIDENCE_H

#include "send_samples.h"

/* What the kernel says about a span of time. `within`: there are samples in the span, and `seen` counts them. Otherwise
 * `seen` counts the nearest sample. */
struct pl_evidence {
    struct pl_samples_seen seen;
    bool within;
    enum pl_answer window; /* the receiver's window held data back */
    enum pl_answer buffer; /* the program waited for room in its send buffer. The kernel's answer is never PL_NO: Linux
                            * lets a blocking writer exceed the buffer, and then does not count its wait */
    enum pl_answer slow;   /* the connection was in slow start */
};

/* Call with spans in the order of their beginnings. */
struct pl_evidence pl_evidence_over(struct pl_samples_of *samples, int64_t t0_ns, int64_t t1_ns, uint32_t mss);

/* By most samples, data waited to be sent. */
static inline bool pl_unsent(const struct pl_evidence *known)
{
    return known->seen.unsent * 2 > known->seen.n;
}

static inline bool pl_filled(const struct pl_evidence *known)
{
    return known->seen.filled * 2 > known->seen.n;
}

/* By most samples, data waited for the congestion control's rate alone. */
static inline bool pl_rate_holds(const struct pl_evidence *known)
{
    return known->seen.sets_rate && known->seen.roomy * 2 > known->seen.n;
}

/* By most samples, data waited for the program's own rate limit alone. */
static inline bool pl_program_holds(const struct pl_evidence *known)
{
    bool allows = known->seen.pace_bytes_per_s && known->seen.pace_bytes_per_s < INT64_MAX;
    return allows && known->seen.roomy * 2 > known->seen.n;
}

static inline bool pl_idle(const struct pl_evidence *known)
{
    return known->seen.idle * 2 > known->seen.n;
}

static inline bool pl_waits(const struct pl_evidence *known)
{
    return known->seen.waits * 2 > known->seen.n;
}

/* By most samples, the program had not written data although both windows and the buffer had room. It may have had
 * data. */
static inline bool pl_late(const struct pl_evidence *known)
{
    return known->seen.late * 2 > known->seen.n;
}

/* By most samples within the span, and by its own account, the program had written everything, and everything was sent:
 * the next packet is a retransmission or a new message. */
static inline bool pl_given(const struct pl_evidence *known)
{
    return known->within && known->seen.given * 2 > known->seen.n;
}

/* By most samples within the span, the program's own rate limit held the data back: nothing was unsent, or less than a
 * segment although both windows had room for it. */
static inline bool pl_keeps_pace(const struct pl_evidence *known)
{
    return known->within && known->seen.kept && (known->seen.kept + known->seen.idle) * 2 > known->seen.n;
}

#endif
