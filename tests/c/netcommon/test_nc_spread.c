/* Percentiles compared with their definition; and merged spreads. */
#include "check.h"
#include "nc_spread.h"

static void percentiles_are_within_a_bin(void)
{
    struct nc_spread *spread = calloc(1, sizeof *spread);
    for (uint64_t i = 1; i <= 100000; i++)
        nc_spread_add(spread, i * 10);
    for (int percent = 1; percent <= 100; percent++) {
        double found = (double)nc_spread_percentile(spread, percent / 100.0), wanted = percent * 10000.0;
        CHECK(found >= wanted && found <= wanted * (1 + 1.0 / 32));
    }
    CHECK_EQ(spread->max, 1000000);
    nc_spread_add(spread, UINT64_MAX);
    CHECK_EQ(nc_spread_percentile(spread, 1) == UINT64_MAX, 1);
    free(spread);
}

static void a_merge_is_as_if_one_had_taken_all(void)
{
    struct nc_spread *all = calloc(1, sizeof *all), *parts = calloc(3, sizeof *parts);
    for (uint64_t i = 1; i <= 3000; i++) {
        nc_spread_add(all, i * i);
        nc_spread_add(&parts[i % 2], i * i); /* the third one stays empty */
    }
    nc_spread_merge(&parts[2], &parts[0]);
    nc_spread_merge(&parts[2], &parts[1]);
    CHECK(memcmp(&parts[2], all, sizeof *all) == 0);
    memset(&parts[0], 0, sizeof parts[0]);
    nc_spread_merge(&parts[2], &parts[0]);
    CHECK(memcmp(&parts[2], all, sizeof *all) == 0);
    free(all);
    free(parts);
}

int main(void)
{
    RUN(percentiles_are_within_a_bin);
    RUN(a_merge_is_as_if_one_had_taken_all);
    return 0;
}
