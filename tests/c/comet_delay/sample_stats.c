#include "sample_stats.h"

#include <math.h>
#include <stdlib.h>

#include "check.h"

static void known_numbers_give_known_moments(void)
{
    struct sample_stats m = {0};
    CHECK_EQ(sample_stats_mean(&m) == 0 && sample_stats_sd(&m) == 0 && sample_stats_autocorrelation(&m) == 0, 1);
    for (int i = 0; i < 1000; i++)
        sample_stats_add(&m, (uint64_t)i, i % 2 ? 3000 : -1000);
    CHECK(fabs(sample_stats_mean(&m) - 1000) < 1e-9);
    CHECK(fabs(sample_stats_sd(&m) - 2000) < 1e-9);
    CHECK(fabs(sample_stats_autocorrelation(&m) + 1) < 1e-9); /* always the other one */
    CHECK_EQ(m.min, -1000);
    CHECK_EQ(m.max, 3000);
}

static void what_is_missing_in_between_makes_no_pair(void)
{
    struct sample_stats m = {0};
    for (int i = 0; i < 100; i++)
        sample_stats_add(&m, (uint64_t)i * 2, i);
    CHECK_EQ(m.pairs, 0);
    CHECK(sample_stats_autocorrelation(&m) == 0);
}

static void quantiles_are_within_a_bucket_on_both_sides(void)
{
    struct sample_stats m = {0};
    for (int i = 0; i < 100001; i++)
        sample_stats_add(&m, (uint64_t)i, (i - 50000) * 100);
    const struct {
        double share, want;
    } cases[] = {{0.01, -4.9e6}, {0.1, -4e6}, {0.9, 4e6}, {0.99, 4.9e6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = (double)sample_stats_quantile(&m, cases[i].share);
        CHECK(got / cases[i].want >= 0.99 && got / cases[i].want <= 1.26);
    }
    CHECK(llabs(sample_stats_quantile(&m, 0.5)) <= 100);
}

int main(void)
{
    RUN(known_numbers_give_known_moments);
    RUN(what_is_missing_in_between_makes_no_pair);
    RUN(quantiles_are_within_a_bucket_on_both_sides);
    return 0;
}
