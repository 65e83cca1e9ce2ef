/* Implements time_spans.h. */
#include "time_spans.h"

#include "sort.h"

int pl_time_spans_add(struct pl_time_spans *spans, int64_t t0_ns, int64_t t1_ns)
{
    struct pl_time_span span = {t0_ns, t1_ns};
    return PL_APPEND(&spans->list, span);
}

static int by_start(const void *left, const void *right)
{
    const struct pl_time_span *a = left, *b = right;
    return (a->t0_ns > b->t0_ns) - (a->t0_ns < b->t0_ns);
}

int pl_time_spans_merge(struct pl_time_spans *spans)
{
    struct pl_time_span *at = spans->list.at;
    size_t n = spans->list.n, kept = 0;
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
    spans->list.n = kept + 1;
    return 0;
}

int64_t pl_time_spans_cover(const struct pl_time_spans *spans, size_t *at, int64_t t0_ns, int64_t t1_ns)
{
    const struct pl_time_span *list = spans->list.at;
    int64_t sum_ns = 0;
    while (*at < spans->list.n && list[*at].t1_ns <= t0_ns)
        ++*at;
    for (size_t i = *at; i < spans->list.n && list[i].t0_ns < t1_ns; i++) {
        int64_t from_ns = list[i].t0_ns > t0_ns ? list[i].t0_ns : t0_ns;
        sum_ns += (list[i].t1_ns < t1_ns ? list[i].t1_ns : t1_ns) - from_ns;
    }
    return sum_ns;
}

void pl_time_spans_free(struct pl_time_spans *spans)
{
    free(spans->list.at);
    *spans = (struct pl_time_spans){0};
}
