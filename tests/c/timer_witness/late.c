/* The witness's figures: every period counts, and a percentile is within 3 %. */
#include "sleeper.h"

#include "check.h"

#define MS UINT64_C(1000000)

static void one_late_wake_up_counts_every_period_it_missed(void)
{
    static struct spread late;
    uint64_t due_ns = sleeper_note(&late, 100 * MS, 100 * MS + 50, MS); /* on time */
    CHECK_EQ(due_ns, 101 * MS);
    CHECK_EQ(late.count, 1);
    due_ns = sleeper_note(&late, due_ns, 141 * MS, MS); /* a stop of 40 ms: 40 ms late, 39 ms late, … */
    CHECK_EQ(due_ns, 142 * MS);
    CHECK_EQ(late.count, 42);
    CHECK_EQ(late.max_ns, 40 * MS);
    CHECK(spread_percentile_ns(&late, 0.5) >= 20 * MS && spread_percentile_ns(&late, 0.5) <= 21 * MS);
    CHECK_EQ(sleeper_note(&late, 142 * MS, 142 * MS - 1, MS), 142 * MS); /* woken early: nothing to count */
    CHECK_EQ(late.count, 42);
}

static void percentiles_are_within_3_percent(void)
{
    static struct spread spread;
    CHECK_EQ(spread_percentile_ns(&spread, 0.99), 0);
    for (uint64_t value = 1; value <= 100000; value++)
        spread_add(&spread, value * 1000);
    for (int percent = 1; percent < 100; percent++) {
        double truth = percent * 1e6, found = (double)spread_percentile_ns(&spread, percent / 100.0);
        CHECK(found >= truth * 0.999 && found <= truth * 1.032);
    }
    CHECK_EQ(spread_percentile_ns(&spread, 1), 100 * MS);
}

static void the_largest_values_have_a_bucket(void)
{
    static struct spread spread;
    spread_add(&spread, UINT64_MAX);
    spread_add(&spread, 0);
    CHECK_EQ(spread_percentile_ns(&spread, 0.9), UINT64_MAX);
    CHECK_EQ(spread_percentile_ns(&spread, 0.1), 0);
}

int main(void)
{
    RUN(one_late_wake_up_counts_every_period_it_missed);
    RUN(percentiles_are_within_3_percent);
    RUN(the_largest_values_have_a_bucket);
    return 0;
}
