/* Implements sample.h. */
#include "sample.h"

#include <stdlib.h>

#include "sort.h"

static void thin(struct pl_sample *sample)
{
    for (size_t i = 0; 2 * i < sample->kept.n; i++)
        sample->kept.at[i] = sample->kept.at[2 * i];
    sample->kept.n = (sample->kept.n + 1) / 2;
    sample->stride_less_one = 2 * sample->stride_less_one + 1;
}

int pl_sample_keep(struct pl_sample *sample, double value)
{
    if (PL_APPEND(&sample->kept, value) < 0)
        return -1;
    if (sample->kept.n == PL_SAMPLE_MOST)
        thin(sample);
    return 0;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void pl_sort_numbers(double *numbers, size_t n)
{
    if (pl_sort(numbers, n, sizeof *numbers, compare) < 0)
        qsort(numbers, n, sizeof *numbers, compare);
}

void pl_sample_sort(struct pl_sample *sample)
{
    pl_sort_numbers(sample->kept.at, sample->kept.n);
}

double pl_sample_quantile(const struct pl_sample *sample, double share)
{
    return sample->kept.n ? sample->kept.at[(size_t)(share * (double)(sample->kept.n - 1))] : 0;
}

double pl_sample_below(const struct pl_sample *sample, double value, bool equal)
{
    size_t low = 0, high = sample->kept.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        double at = sample->kept.at[middle];
        if (at < value || (equal && at == value))
            low = middle + 1;
        else
            high = middle;
    }
    return sample->kept.n ? (double)low / (double)sample->kept.n : 0;
}

void pl_sample_free(struct pl_sample *sample)
{
    free(sample->kept.at);
    *sample = (struct pl_sample){.given = 0};
}
