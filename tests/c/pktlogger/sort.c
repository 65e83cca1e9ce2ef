/* Sorting by runs: any order, stable, and linear where the input is sorted. */
#include "sort.h"

#include <stdint.h>

#include "check.h"

struct element {
    uint32_t key, place;
};

static size_t comparisons;

static int by_key(const void *left, const void *right)
{
    const struct element *a = left, *b = right;
    comparisons++;
    return a->key < b->key ? -1 : a->key > b->key;
}

enum { N = 1000 };

static void check_sorted(const struct element *at)
{
    for (size_t i = 1; i < N; i++) {
        CHECK(at[i - 1].key <= at[i].key);
        CHECK(at[i - 1].key < at[i].key || at[i - 1].place < at[i].place);
    }
}

static void any_order_is_sorted_and_equal_ones_stay_in_order(void)
{
    struct element at[N];
    for (uint32_t keys = 1; keys <= N; keys *= 10)
        for (uint32_t shape = 0; shape < 4; shape++) {
            for (uint32_t i = 0; i < N; i++)
                at[i] = (struct element){(shape == 0   ? i * 7919u
                                          : shape == 1 ? N - i
                                          : shape == 2 ? i % 100
                                                       : i) %
                                             (keys + 1),
                                         i};
            CHECK_EQ(pl_sort(at, N, sizeof *at, by_key), 0);
            check_sorted(at);
        }
}

static void sorted_input_takes_one_comparison_an_element(void)
{
    struct element at[N];
    for (uint32_t i = 0; i < N; i++)
        at[i] = (struct element){i, i};
    comparisons = 0;
    CHECK_EQ(pl_sort(at, N, sizeof *at, by_key), 0);
    CHECK(comparisons <= N);
    for (uint32_t i = 0; i < N; i++) /* two runs */
        at[i] = (struct element){i % (N / 2), i};
    comparisons = 0;
    CHECK_EQ(pl_sort(at, N, sizeof *at, by_key), 0);
    check_sorted(at);
    CHECK(comparisons <= 2 * N);
}

int main(void)
{
    RUN(any_order_is_sorted_and_equal_ones_stay_in_order);
    RUN(sorted_input_takes_one_comparison_an_element);
    return 0;
}
