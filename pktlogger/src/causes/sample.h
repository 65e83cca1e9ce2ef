/* An evenly spaced subset of very many numbers, of at most PL_SAMPLE_MOST. */
#ifndef PL_SAMPLE_H
#define PL_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vector.h"

enum { PL_SAMPLE_MOST = 32768 };

/* It starts as {0}. `kept`: the numbers that are kept, in the order of their arrival until pl_sample_sort. */
struct pl_sample {
    PL_VECTOR(double) kept;
    uint64_t given, stride_less_one; /* one number of every `stride` is kept */
};

/* Returns 0, or -1 without memory. */
int pl_sample_keep(struct pl_sample *sample, double value);
static inline int pl_sample_add(struct pl_sample *sample, double value)
{
    return sample->given++ & sample->stride_less_one ? 0 : pl_sample_keep(sample, value);
}
void pl_sample_sort(struct pl_sample *sample);

/* Sorts `n` numbers, smallest first. */
void pl_sort_numbers(double *numbers, size_t n);

/* Quantile of a sorted sample; 0 for an empty one. */
double pl_sample_quantile(const struct pl_sample *sample, double share);

/* The share of a sorted sample that is less than `value` or, with `equal`, at most `value`. */
double pl_sample_below(const struct pl_sample *sample, double value, bool equal);
void pl_sample_free(struct pl_sample *sample);

#endif
