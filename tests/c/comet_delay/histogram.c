#include "histogram.h"

#include "check.h"

static void percentiles_are_within_a_bucket(void)
{
    struct histogram h = {0};
    for (uint64_t i = 1; i <= 100000; i++)
        histogram_add(&h, i, 1);
    const struct {
        double share;
        uint64_t want;
    } cases[] = {{0.5, 50000}, {0.9, 90000}, {0.99, 99000}, {0.001, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t got = histogram_percentile(&h, cases[i].share);
        CHECK(got >= cases[i].want && (double)got <= (double)cases[i].want * 1.26);
    }
    CHECK_EQ(histogram_percentile(&h, 1.0), 100000);
    CHECK_EQ(h.max, 100000);
}

static void small_and_huge_values_have_a_place(void)
{
    struct histogram h = {0};
    CHECK_EQ(histogram_percentile(&h, 0.5), 0);
    histogram_add(&h, 0, 1);
    CHECK_EQ(histogram_percentile(&h, 0.99), 0);
    histogram_add(&h, UINT64_MAX, 5);
    CHECK_EQ(histogram_percentile(&h, 0.99) == UINT64_MAX, 1);
    CHECK_EQ(h.count, 6);
}

int main(void)
{
    RUN(percentiles_are_within_a_bucket);
    RUN(small_and_huge_values_have_a_place);
    return 0;
}
