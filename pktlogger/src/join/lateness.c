/* Implements lateness.h. */
#include "lateness.h"

#define LATE_NS INT64_C(1000000)
#define LATEST_NS (INT64_C(1) << 62) /* the record is foreign input */

int pl_lateness_add(struct pl_lateness *lateness, bool data, int64_t due_ns, int64_t released_ns)
{
    int64_t least_ns = lateness->from_ns ? lateness->from_ns : LATE_NS;
    if (due_ns < 0 || released_ns < due_ns || released_ns > LATEST_NS || released_ns - due_ns < least_ns)
        return 0;
    struct pl_time_spans *way = &lateness->ways[!data];
    struct pl_time_span *last = way->list.n ? &way->list.at[way->list.n - 1] : NULL;
    if (!last || due_ns > last->t1_ns || released_ns < last->t0_ns)
        return pl_time_spans_add(way, due_ns, released_ns);
    last->t0_ns = due_ns < last->t0_ns ? due_ns : last->t0_ns;
    last->t1_ns = released_ns > last->t1_ns ? released_ns : last->t1_ns;
    return 0;
}

int pl_lateness_at_sender(struct pl_lateness *lateness, int64_t back_ns)
{
    struct pl_time_spans *data = &lateness->ways[0], *acks = &lateness->ways[1];
    for (size_t i = 0; i < data->list.n; i++) {
        data->list.at[i].t0_ns += back_ns;
        data->list.at[i].t1_ns += back_ns;
    }
    for (size_t i = 0; i < acks->list.n; i++)
        if (pl_time_spans_add(data, acks->list.at[i].t0_ns, acks->list.at[i].t1_ns) < 0)
            return -1;
    acks->list.n = 0;
    return pl_time_spans_merge(data);
}

void pl_lateness_free(struct pl_lateness *lateness)
{
    for (int way = 0; way < 2; way++)
        pl_time_spans_free(&lateness->ways[way]);
}
