/* The spans of limits that may still change: those of the round under way, whose cause is open, and of a few rounds
 * before it. What cannot change any more goes out, joined with its neighbours of the same cause. */
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
    int unpaced; /* but this is the cause unless the round was paced; PL_LIMIT_N: the round's is */
    bool woken;  /* silence that may have waited for the send buffer */
    bool left;   /* its cause is the congestion window, which is what was left */
};

struct pl_spans {
    PL_VECTOR(struct pl_span) pending;
    const struct pl_time_spans *busy; /* when the line was that alone makes packets queue; NULL: not known */
    size_t busy_at;                   /* the first of them that is not over */
    struct pl_limit held;             /* goes out when a row with another cause follows; t1_ns < t0_ns: none */
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

/* Gives the open spans their cause. `left`: it is the congestion window, and nothing shows it but that nothing else
 * is. Where it is the path's rate, a span in which the line rested has the cause `window`, so that no time in which it
 * does is the path's. */
void pl_spans_close(struct pl_spans *spans, enum pl_limit_cause cause, enum pl_limit_cause window, bool left);

/* What was left to the congestion window, or was that past slow start, in this round has another cause. */
void pl_spans_rename(struct pl_spans *spans, uint32_t round, enum pl_limit_cause cause);

/* The silences that may have waited for the send buffer did. */
void pl_spans_were_woken(struct pl_spans *spans);

/* Lets the closed spans go that are of rounds before this one. */
void pl_spans_let_go(struct pl_spans *spans, uint32_t round);

/* Lets all go, and frees. */
void pl_spans_end(struct pl_spans *spans);

#endif
