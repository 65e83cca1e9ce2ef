/* The delay of a path without queues, over time: levels that hold until the next one. base_finder.h finds them. */
#ifndef PL_BASE_H
#define PL_BASE_H

#include <stdint.h>

#include "vector.h"

struct pl_base_level {
    int64_t t_ns; /* it holds for what is sent from then on */
    int64_t delay_ns;
};

/* It starts as {0}: nothing is known. */
struct pl_base {
    PL_VECTOR(struct pl_base_level) levels; /* in order of time; the first one also holds before */
    int64_t least_ns;
};

/* Appends a level, which holds from t_ns on. Returns 0, or -1 without memory. */
int pl_base_append(struct pl_base *base, int64_t t_ns, int64_t delay_ns);

/* The base delay of what is sent at t_ns; 0 where nothing is known. */
int64_t pl_base_at(const struct pl_base *base, int64_t t_ns);

/* How much longer the path is for what is sent at t_ns than it was at its shortest. */
int64_t pl_base_moved_ns(const struct pl_base *base, int64_t t_ns);

void pl_base_free(struct pl_base *base);

#endif
