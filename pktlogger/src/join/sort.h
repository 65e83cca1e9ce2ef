/* Sorts arrays that are nearly in order, as what two captures show in order of time is nearly in order of numbers.
 * Ascending runs are found and merged, so that one run costs one comparison an element, and any input O(n log n).
 * Rejected: qsort(), which compares n log n times whatever the order. */
#ifndef PL_SORT_H
#define PL_SORT_H

#include <stddef.h>

typedef int pl_compare(const void *left, const void *right);

/* Sorts n elements of `size` bytes; equal ones keep their order. Returns 0, or -1 without memory, with the elements in
 * any order. */
int pl_sort(void *at, size_t n, size_t size, pl_compare *compare);

#endif
