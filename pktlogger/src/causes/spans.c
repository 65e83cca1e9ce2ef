/* Implements spans.h. */
#include "spans.h"

#include "thresholds.h"

struct pl_spans pl_spans_new(pl_limit_sink *sink, void *context)
{
    return (struct pl_spans){.held = {.t0_ns = 0, .t1_ns = -1}, .sink = sink, .context = context};
}

/* Merges `from` into `to`, which ends where `from` begins. */
static void merge(struct pl_limit *to, const struct pl_limit *from)
{
    to->t1_ns = from->t1_ns;
    to->packets += from->packets;
    to->bytes += from->bytes;
    to->window_bytes = from->window_bytes;
    to->flight_bytes = from->flight_bytes > to->flight_bytes ? from->flight_bytes : to->flight_bytes;
    to->queue_ns = pl_least_queue(to->queue_ns, from->queue_ns);
}

int pl_spans_add(struct pl_spans *spans, const struct pl_span *span)
{
    struct pl_span *last = spans->pending.n ? &spans->pending.at[spans->pending.n - 1] : NULL;
    if (last && last->round == span->round && last->open == span->open && last->unpaced == span->unpaced &&
        last->row.cause == span->row.cause) {
        merge(&last->row, &span->row);
        last->woken = last->woken && span->woken;
        return 0;
    }
    return PL_APPEND(&spans->pending, *span);
}

static bool line_rested(struct pl_spans *spans, const struct pl_limit *row)
{
    double lasted_ns = (double)(row->t1_ns - row->t0_ns);
    return spans->busy &&
           (double)pl_time_spans_cover(spans->busy, &spans->busy_at, row->t0_ns, row->t1_ns) < PL_BUSY_LINE * lasted_ns;
}

void pl_spans_close(struct pl_spans *spans, enum pl_limit_cause cause, enum pl_limit_cause window, bool left)
{
    for (size_t i = 0; i < spans->pending.n; i++) {
        struct pl_span *span = &spans->pending.at[i];
        bool silent = span->unpaced < PL_LIMIT_N && cause != PL_LIMIT_PACING;
        if (span->open) {
            bool rested = !silent && cause == PL_LIMIT_PATH_RATE && line_rested(spans, &span->row);
            span->row.cause = (uint8_t)(silent ? span->unpaced : (int)(rested ? window : cause));
            span->left = left && !silent;
        }
        span->open = false;
    }
}

void pl_spans_rename(struct pl_spans *spans, uint32_t round, enum pl_limit_cause cause)
{
    for (size_t i = 0; i < spans->pending.n; i++) {
        struct pl_span *span = &spans->pending.at[i];
        bool window = span->left || span->row.cause == PL_LIMIT_CONGESTION_AVOIDANCE || span->row.cause == PL_LIMIT_ECN;
        if (!span->open && span->round == round && window)
            span->row.cause = (uint8_t)cause;
    }
}

void pl_spans_were_woken(struct pl_spans *spans)
{
    for (size_t i = 0; i < spans->pending.n; i++)
        if (spans->pending.at[i].woken && spans->pending.at[i].row.cause == PL_LIMIT_APPLICATION)
            spans->pending.at[i].row.cause = PL_LIMIT_SEND_BUFFER;
}

static void put(struct pl_spans *spans, const struct pl_limit *row)
{
    bool first = spans->held.t1_ns < spans->held.t0_ns;
    if (!first && spans->held.cause == row->cause) {
        merge(&spans->held, row);
        return;
    }
    if (!first)
        spans->sink(spans->context, &spans->held);
    spans->held = *row;
}

static void let_go(struct pl_spans *spans, uint32_t round, bool all)
{
    size_t n = 0;
    while (n < spans->pending.n && (all || (!spans->pending.at[n].open && spans->pending.at[n].round < round)))
        put(spans, &spans->pending.at[n++].row);
    for (size_t i = n; n && i < spans->pending.n; i++)
        spans->pending.at[i - n] = spans->pending.at[i];
    spans->pending.n -= n;
}

void pl_spans_let_go(struct pl_spans *spans, uint32_t round)
{
    let_go(spans, round, false);
}

void pl_spans_end(struct pl_spans *spans)
{
    let_go(spans, 0, true);
    if (spans->held.t1_ns >= spans->held.t0_ns)
        spans->sink(spans->context, &spans->held);
}

void pl_spans_free(struct pl_spans *spans)
{
    free(spans->pending.at);
}
