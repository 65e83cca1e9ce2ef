/* The spans of limits that may still change: those of the present round, whose cause is open, and of a few rounds
 * before it. Spans that cannot change any more are written, merged with neighbours of the same cause. */
#ifndef PL_SPANS_H
#define PL_SPANS_H

#include "time_spans.h"
#include "transfer.h"
#include "vector.h"

typedef void pl_limit_sink(void *context, const struct pl_limit *limit);

struct pl_span {
    struct pl_limit row;
    uint32_t round;
    bool open;   /* its round says why: */
    int unpaced; /* the cause if the round was not paced; PL_LIMIT_N: the round's cause applies */
    bool woken;  /* silence that may have waited for the send buffer */
    bool left;   /* no other cause than the congestion window remained */
};

struct pl_spans {
    PL_VECTOR(struct pl_span) pending;
    const struct pl_time_spans *busy; /* when the line was busy, if it is the only one with a queue; NULL: not known */
    size_t busy_at;                   /* index of the first of them that is not over */
    struct pl_limit held;             /* row kept until its cause changes; t1_ns < t0_ns: none */
    pl_limit_sink *sink;
    void *context;
};

/* The smaller of two queues, each -1 where it is not known. */
static inline int64_t pl_least_queue(int64_t a_ns, int64_t b_ns)
{
    return a_ns < 0 || (b_ns >= 0 && b_ns < a_ns) ? b_ns : a_ns;
}

struct pl_spans pl_spans_new(pl_limit_sink *sink, void *context);

/* Adds a span that begins where the last one ends. Returns 0, or -1 without memory. */
int pl_spans_add(struct pl_spans *spans, const struct pl_span *span);

/* Gives the open spans their cause. `left`: the cause is the congestion window because no other remained. If the cause
 * is the path's rate, a span in which the line was idle gets the cause `window`: idle time never counts as the
 * path's. */
void pl_spans_close(struct pl_spans *spans, enum pl_limit_cause cause, enum pl_limit_cause window, bool left);

/* Changes the cause of those spans of this round whose cause is congestion avoidance, ECN, or a congestion window that
 * alone remained. */
void pl_spans_rename(struct pl_spans *spans, uint32_t round, enum pl_limit_cause cause);

/* Assigns the send buffer to the silences that may have waited for it. */
void pl_spans_were_woken(struct pl_spans *spans);

/* Writes the closed spans of earlier rounds. */
void pl_spans_let_go(struct pl_spans *spans, uint32_t round);

/* Writes all. */
void pl_spans_end(struct pl_spans *spans);
void pl_spans_free(struct pl_spans *spans);

#endif
