/* Implements lateness.h. */
#include "lateness.h"

#include "sort.h"

#define LATE_NS INT64_C(1000000)
#define LATEST_NS (INT64_C(1) << 62) /* the record is foreign input */

int pl_lateness_add(struct pl_lateness *lateness, bool data, int64_t due_ns, int64_t released_ns)
{
    if (due_ns < 0 || released_ns < due_ns || released_ns > LATEST_NS || released_ns - due_ns < LATE_NS)
        return 0;
    struct pl_late_span span = {due_ns, released_ns};
    struct pl_late_span *last = lateness->ways[!data].n ? &lateness->ways[!data].at[lateness->ways[!data].n - 1] : NULL;
    if (!last || span.t0_ns > last->t1_ns || span.t1_ns < last->t0_ns)
        return PL_APPEND(&lateness->ways[!data], span);
    last->t0_ns = span.t0_ns < last->t0_ns ? span.t0_ns : last->t0_ns;
    last->t1_ns = span.t1_ns > last->t1_ns ? span.t1_ns : last->t1_ns;
    return 0;
}

static int by_start(const void *left, const void *right)
{
    const struct pl_late_span *a = left, *b = right;
    return (a->t0_ns > b->t0_ns) - (a->t0_ns < b->t0_ns);
}

int pl_lateness_at_sender(struct pl_lateness *lateness, int64_t back_ns)
{
    for (size_t i = 0; i < lateness->ways[0].n; i++) {
        lateness->ways[0].at[i].t0_ns += back_ns;
        lateness->ways[0].at[i].t1_ns += back_ns;
    }
    for (size_t i = 0; i < lateness->ways[1].n; i++)
        if (PL_APPEND(&lateness->ways[0], lateness->ways[1].at[i]) < 0)
            return -1;
    lateness->ways[1].n = 0;
    struct pl_late_span *at = lateness->ways[0].at;
    size_t n = lateness->ways[0].n, kept = 0;
    if (n == 0)
        return 0;
    if (pl_sort(at, n, sizeof *at, by_start) < 0)
        return -1;
    for (size_t i = 1; i < n; i++) {
        if (at[i].t0_ns > at[kept].t1_ns)
            at[++kept] = at[i];
        else if (at[i].t1_ns > at[kept].t1_ns)
            at[kept].t1_ns = at[i].t1_ns;
    }
    lateness->ways[0].n = kept + 1;
    return 0;
}

void pl_lateness_free(struct pl_lateness *lateness)
{
    for (int way = 0; way < 2; way++)
        free(lateness->ways[way].at);
    *lateness = (struct pl_lateness){0};
}
