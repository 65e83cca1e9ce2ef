/* The facts of a sender's gaps, from which stops and limits get their causes. */
#include "check.h"
#include "gap.h"

#define MS INT64_C(1000000)
enum { MSS = 1000, WINDOW = 10 * MSS };

static void send_at(struct pl_gap *gap, int64_t t_ns, uint64_t una, uint64_t high, uint32_t window)
{
    const struct pl_sent sent = {
        .t_ns = t_ns, .una = una, .high = high, .len = MSS, .window = window, .window_known = true};
    pl_gap_begin(gap, &sent);
}

static void acknowledge_at(struct pl_gap *gap, int64_t t_ns, uint64_t una, uint64_t high, bool advanced)
{
    const struct pl_acked acked = {.t_ns = t_ns, .una = una, .high = high, .window = WINDOW, .advanced = advanced};
    pl_gap_ack(gap, &acked);
}

static void a_window_of_zero_counts_in_each_gap_that_it_lasts(void)
{
    struct pl_gap gap = pl_gap_none(MSS);
    send_at(&gap, 0, 0, MSS, WINDOW);
    CHECK_EQ(pl_gap_window(&gap, 10 * MS, 0), -1);
    CHECK_EQ(pl_gap_window(&gap, 11 * MS, 0), -1);
    CHECK_EQ(pl_gap_shut_ns(&gap, 0, 18 * MS), 8 * MS);
    CHECK(!pl_gap_closed(&gap, 0, 20 * MS) && pl_gap_closed(&gap, 0, 21 * MS));
    send_at(&gap, 30 * MS, 0, MSS + 1, 0); /* a probe of the window */
    CHECK_EQ(pl_gap_shut_ns(&gap, 30 * MS, 40 * MS), 10 * MS);
    CHECK_EQ(pl_gap_window(&gap, 50 * MS, WINDOW), 10 * MS); /* since when it was closed */
    CHECK_EQ(pl_gap_shut_ns(&gap, 30 * MS, 90 * MS), 20 * MS);
    send_at(&gap, 90 * MS, MSS, 2 * MSS, WINDOW);
    CHECK_EQ(pl_gap_shut_ns(&gap, 90 * MS, 100 * MS), 0);
}

static void a_window_is_full_if_it_leaves_no_room_for_a_segment(void)
{
    struct pl_gap gap = pl_gap_none(MSS);
    send_at(&gap, 0, 0, WINDOW - MSS, WINDOW);
    CHECK(!gap.full && gap.roomy);
    send_at(&gap, MS, 0, WINDOW - MSS + 1, WINDOW);
    CHECK(gap.full && !gap.roomy);
    acknowledge_at(&gap, 2 * MS, 0, WINDOW - MSS + 1, false); /* the same window again */
    CHECK_EQ(gap.room_ns, -1);
    acknowledge_at(&gap, 3 * MS, MSS, WINDOW - MSS + 1, true);
    acknowledge_at(&gap, 4 * MS, 2 * MSS, WINDOW - MSS + 1, true);
    CHECK_EQ(gap.room_ns, 3 * MS);
}

static void nothing_is_outstanding_from_the_last_acknowledgement_on(void)
{
    struct pl_gap gap = pl_gap_none(MSS);
    const struct pl_sent next = {.t_ns = 100 * MS, .una = 2 * MSS, .high = 3 * MSS, .len = MSS};
    CHECK(!pl_gap_outstanding(&gap, &next)); /* before the first packet */
    send_at(&gap, 0, 0, 2 * MSS, WINDOW);
    acknowledge_at(&gap, 20 * MS, MSS, 2 * MSS, true);
    CHECK(pl_gap_outstanding(&gap, &next) && !pl_gap_empty(&gap, 100 * MS));
    CHECK_EQ(pl_gap_flight(&gap), 2 * MSS);
    acknowledge_at(&gap, 50 * MS, 2 * MSS, 2 * MSS, true);
    CHECK(!pl_gap_outstanding(&gap, &next) && gap.bare);
    CHECK(!pl_gap_empty(&gap, 100 * MS) && pl_gap_empty(&gap, 101 * MS));
    CHECK_EQ(gap.between_acks_ns, 30 * MS);
    CHECK_EQ(gap.waits_ns, 50 * MS);
    pl_gap_begin(&gap, &next);
    CHECK(pl_gap_outstanding(&gap, &next) && gap.waits_ns == 100 * MS);
}

static void a_repair_by_a_probe_lasts_until_its_answer(void)
{
    struct pl_gap gap = pl_gap_none(MSS);
    send_at(&gap, 0, 0, 2 * MSS, WINDOW);
    const struct pl_sent probe = {.t_ns = 90 * MS, .high = 2 * MSS, .len = MSS, .probe = true, .repair = true};
    pl_gap_begin(&gap, &probe);
    acknowledge_at(&gap, 110 * MS, MSS, 2 * MSS, true);
    CHECK(gap.probed == 2 * MSS && gap.recovered_ns == -1);
    acknowledge_at(&gap, 120 * MS, 2 * MSS, 2 * MSS, true);
    CHECK(gap.probed == 0 && gap.recovered_ns == 120 * MS && gap.recovered == PL_MODE_FAST);
    CHECK_EQ(gap.recovered_flight, 0);
}

int main(void)
{
    RUN(a_window_of_zero_counts_in_each_gap_that_it_lasts);
    RUN(a_window_is_full_if_it_leaves_no_room_for_a_segment);
    RUN(nothing_is_outstanding_from_the_last_acknowledgement_on);
    RUN(a_repair_by_a_probe_lasts_until_its_answer);
    return 0;
}
