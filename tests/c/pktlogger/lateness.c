/* Spans of time in which the delay box was late with packets that were due. */
#include "lateness.h"

#include "check.h"

#define MS INT64_C(1000000)

static void a_millisecond_is_late_and_less_is_not(void)
{
    struct pl_lateness late = {0};
    CHECK_EQ(pl_lateness_add(&late, true, 10 * MS, 11 * MS - 1), 0);
    CHECK_EQ(late.ways[0].list.n, 0);
    CHECK_EQ(pl_lateness_add(&late, true, 10 * MS, 11 * MS), 0);
    CHECK_EQ(late.ways[0].list.n, 1);
    pl_lateness_free(&late);
}

static void what_granularity_asks_for_is_not_late(void)
{
    struct pl_lateness late = {.from_ns = 5 * MS};
    CHECK_EQ(pl_lateness_add(&late, true, 10 * MS, 15 * MS - 1), 0);
    CHECK_EQ(late.ways[0].list.n, 0);
    CHECK_EQ(pl_lateness_add(&late, true, 10 * MS, 15 * MS), 0);
    CHECK_EQ(late.ways[0].list.n, 1);
    pl_lateness_free(&late);
}

/* In a record, -1 means that the packet never left. A foreign record may have any other time. */
static void what_left_before_it_was_due_is_not_late(void)
{
    struct pl_lateness late = {0};
    const int64_t released[] = {9 * MS, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof released / sizeof *released; i++)
        CHECK_EQ(pl_lateness_add(&late, false, INT64_C(4683743612465315839), released[i]), 0);
    CHECK_EQ(pl_lateness_add(&late, false, -1, 5 * MS), 0);
    CHECK_EQ(late.ways[1].list.n, 0);
    pl_lateness_free(&late);
}

static void the_sender_feels_late_data_an_acknowledgement_later(void)
{
    struct pl_lateness late = {0};
    CHECK_EQ(pl_lateness_add(&late, true, 10 * MS, 20 * MS), 0);
    CHECK_EQ(pl_lateness_add(&late, false, 25 * MS, 40 * MS), 0);
    CHECK_EQ(pl_lateness_at_sender(&late, 12 * MS), 0);
    CHECK_EQ(late.ways[0].list.n, 1); /* 22 to 32 and 25 to 40 overlap */
    CHECK(late.ways[0].list.at[0].t0_ns == 22 * MS && late.ways[0].list.at[0].t1_ns == 40 * MS);
    pl_lateness_free(&late);
}

int main(void)
{
    RUN(a_millisecond_is_late_and_less_is_not);
    RUN(what_granularity_asks_for_is_not_late);
    RUN(what_left_before_it_was_due_is_not_late);
    RUN(the_sender_feels_late_data_an_acknowledgement_later);
    return 0;
}
