/* Spans of time, such as those in which the delay box was late or nothing passed the path. */
#ifndef PL_TIME_SPANS_H
#define PL_TIME_SPANS_H

#include <stdint.h>

#include "vector.h"

struct pl_time_span {
    int64_t t0_ns, t1_ns;
};

/* It starts as {0}. */
struct pl_time_spans {
    PL_VECTOR(struct pl_time_span) list;
};

/* Returns 0, or -1 without memory. */
int pl_time_spans_add(struct pl_time_spans *spans, int64_t t0_ns, int64_t t1_ns);

/* Sorts the spans by time, and merges those that overlap or touch. Returns 0, or -1 without memory. */
int pl_time_spans_merge(struct pl_time_spans *spans);

/* How many ns of the time from t0_ns to t1_ns the merged spans cover. *at is the index of the first span that is not
 * over; it starts as 0, and t0_ns never decreases. */
int64_t pl_time_spans_cover(const struct pl_time_spans *spans, size_t *at, int64_t t0_ns, int64_t t1_ns);

void pl_time_spans_free(struct pl_time_spans *spans);

#endif
