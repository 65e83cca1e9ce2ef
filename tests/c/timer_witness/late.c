/* The statistics of the witness: every period counts. */
#include "sleeper.h"

#include "check.h"

#define MS UINT64_C(1000000)

static void one_late_wake_up_counts_every_period_it_missed(void)
{
    static struct nc_spread late;
    uint64_t due_ns = sleeper_note(&late, 100 * MS, 100 * MS + 50, MS); /* on time */
    CHECK_EQ(due_ns, 101 * MS);
    CHECK_EQ(late.n, 1);
    due_ns = sleeper_note(&late, due_ns, 141 * MS, MS); /* a stop of 40 ms: 40 ms late, 39 ms late, … */
    CHECK_EQ(due_ns, 142 * MS);
    CHECK_EQ(late.n, 42);
    CHECK_EQ(late.max, 40 * MS);
    /* 21 of the 42 are at most 19 ms: 50 ns, and 0 to 19 ms */
    CHECK(nc_spread_percentile(&late, 0.5) >= 19 * MS && nc_spread_percentile(&late, 0.5) < 20 * MS);
    CHECK_EQ(sleeper_note(&late, 142 * MS, 142 * MS - 1, MS), 142 * MS); /* woken early: nothing to count */
    CHECK_EQ(late.n, 42);
}

int main(void)
{
    RUN(one_late_wake_up_counts_every_period_it_missed);
    return 0;
}
