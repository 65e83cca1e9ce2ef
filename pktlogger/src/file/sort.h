/* Sorts arrays that are nearly in order: the packets of two captures in order of time are nearly in order of numbers.
 * The function finds ascending runs and merges them. So an array of one run costs one comparison per element, and any
 * input O(n log n). Where two runs overlap, only the overlap is moved, in place (as in timsort), so a few elements out
 * of order cost little. Everything is inline, so that size and comparison are constants for the compiler.
 * Rejected: qsort(), which makes n log n comparisons whatever the order. */
#ifndef PL_SORT_H
#define PL_SORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

typedef int pl_compare(const void *left, const void *right);

#define PL_SORT_INLINE static inline __attribute__((always_inline))

/* `ends`: index after the last element of each run. */
struct pl_sort_work {
    PL_VECTOR(size_t) ends;
    uint8_t *spare; /* holds the end of a left run during a merge */
    size_t spare_bytes;
};

PL_SORT_INLINE int pl_sort_runs(struct pl_sort_work *work, const uint8_t *at, size_t n, size_t size,
                                pl_compare *compare)
{
    for (size_t i = 1; i <= n; i++)
        if (i == n || compare(at + (i - 1) * size, at + i * size) > 0)
            if (PL_APPEND(&work->ends, i) < 0)
                return -1;
    return 0;
}

/* The index of the first of n sorted elements that is greater than `key`. */
PL_SORT_INLINE size_t pl_sort_place(const uint8_t *at, size_t n, size_t size, pl_compare *compare, const uint8_t *key)
{
    size_t low = 0, high = 0;
    while (high < n && compare(at + high * size, key) <= 0) { /* the result is often the first element, or near it */
        low = high + 1;
        high = 2 * high + 1;
    }
    high = high < n ? high : n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(at + middle * size, key) > 0)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Merges the neighbouring runs [begin, middle) and [middle, end). */
PL_SORT_INLINE int pl_sort_merge(struct pl_sort_work *work, uint8_t *at, size_t begin, size_t middle, size_t end,
                                 size_t size, pl_compare *compare)
{
    begin += pl_sort_place(at + begin * size, middle - begin, size, compare, at + middle * size);
    size_t bytes = (middle - begin) * size;
    if (bytes == 0)
        return 0;
    if (bytes > work->spare_bytes) {
        free(work->spare);
        work->spare = malloc(bytes);
        work->spare_bytes = work->spare ? bytes : 0;
        if (!work->spare)
            return -1;
    }
    memcpy(work->spare, at + begin * size, bytes);
    const uint8_t *left = work->spare, *left_end = work->spare + bytes;
    const uint8_t *right = at + middle * size, *right_end = at + end * size;
    uint8_t *to = at + begin * size;
    while (left < left_end && right < right_end) {
        int from_left = compare(left, right) <= 0;
        memcpy(to, from_left ? left : right, size);
        left += from_left ? size : 0;
        right += from_left ? 0 : size;
        to += size;
    }
    memcpy(to, left, (size_t)(left_end - left)); /* the rest of the right run is in place already */
    return 0;
}

/* Sorts n elements of `size` bytes; equal elements keep their order. Returns 0, or -1 without memory; then the elements
 * are in any order. */
PL_SORT_INLINE int pl_sort(void *array, size_t n, size_t size, pl_compare *compare)
{
    struct pl_sort_work work = {.spare = NULL};
    uint8_t *at = array;
    int result = n < 2 ? 0 : pl_sort_runs(&work, at, n, size, compare);
    while (result == 0 && work.ends.n > 1) {
        size_t begin = 0, kept = 0;
        for (size_t r = 0; result == 0 && r < work.ends.n; r += 2) {
            size_t middle = work.ends.at[r], end = r + 1 < work.ends.n ? work.ends.at[r + 1] : middle;
            if (end > middle)
                result = pl_sort_merge(&work, at, begin, middle, end, size, compare);
            begin = work.ends.at[kept++] = end;
        }
        work.ends.n = kept;
    }
    free(work.spare);
    free(work.ends.at);
    return result;
}

#endif
