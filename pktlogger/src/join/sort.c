/* Implements sort.h. */
#include "sort.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

/* `ends` has the end of each run, in elements. */
struct sort {
    size_t size;
    pl_compare *compare;
    PL_VECTOR(size_t) ends;
};

static int find_runs(struct sort *sort, const uint8_t *at, size_t n)
{
    for (size_t i = 1; i <= n; i++)
        if (i == n || sort->compare(at + (i - 1) * sort->size, at + i * sort->size) > 0)
            if (PL_APPEND(&sort->ends, i) < 0)
                return -1;
    return 0;
}

/* Merges two neighbouring runs into `to`. */
static void merge(const struct sort *sort, const uint8_t *left, const uint8_t *middle, const uint8_t *end, uint8_t *to)
{
    const uint8_t *right = middle;
    while (left < middle && right < end) {
        const uint8_t **from = sort->compare(left, right) <= 0 ? &left : &right;
        memcpy(to, *from, sort->size);
        *from += sort->size;
        to += sort->size;
    }
    memcpy(to, left, (size_t)(middle - left));
    memcpy(to + (middle - left), right, (size_t)(end - right));
}

/* Merges runs pair by pair from `from` to `to`; half as many are left. */
static void merge_all(struct sort *sort, const uint8_t *from, uint8_t *to)
{
    size_t begin = 0, kept = 0;
    for (size_t r = 0; r < sort->ends.n; r += 2) {
        size_t middle = sort->ends.at[r], end = r + 1 < sort->ends.n ? sort->ends.at[r + 1] : middle;
        merge(sort, from + begin * sort->size, from + middle * sort->size, from + end * sort->size,
              to + begin * sort->size);
        begin = sort->ends.at[kept++] = end;
    }
    sort->ends.n = kept;
}

int pl_sort(void *at, size_t n, size_t size, pl_compare *compare)
{
    struct sort sort = {.size = size, .compare = compare};
    if (n < 2)
        return 0;
    int result = find_runs(&sort, at, n);
    uint8_t *spare = result == 0 && sort.ends.n > 1 ? malloc(n * size) : NULL;
    if (result == 0 && sort.ends.n > 1 && !spare)
        result = -1;
    uint8_t *from = at, *to = spare;
    while (result == 0 && sort.ends.n > 1) {
        merge_all(&sort, from, to);
        uint8_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (result == 0 && from != at)
        memcpy(at, from, n * size);
    free(spare);
    free(sort.ends.at);
    return result;
}
