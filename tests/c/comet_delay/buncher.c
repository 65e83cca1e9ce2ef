/* The buncher: packets leave together, only when the gate opens, in order, and at most as many at a time as its bound
 * allows. */
#include "buncher.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"

static void packets_leave_at_the_next_opening(void)
{
    const struct buncher_params params = {.period_ns = 1000};
    struct buncher b = {0};
    CHECK_EQ(buncher_send(&b, &params, 1), 1000);
    CHECK_EQ(buncher_send(&b, &params, 999), 1000);
    CHECK_EQ(buncher_send(&b, &params, 1000), 1000);
    CHECK_EQ(buncher_send(&b, &params, 1001), 2000);
    CHECK_EQ(buncher_send(&b, &params, 7500), 8000);
}

static void an_opening_lets_no_more_through_than_its_bound(void)
{
    const struct buncher_params params = {.period_ns = 1000, .packets = 3};
    struct buncher b = {0};
    for (uint64_t i = 0; i < 30; i++)
        CHECK_EQ(buncher_send(&b, &params, 500), 1000 * (1 + i / 3));
    CHECK_EQ(buncher_send(&b, &params, 50000), 50000);
}

/* Without a bound a wait is shorter than the period. The mean wait is half of the period, within 4 standard deviations
 * of the mean of n uniform values. */
static void waits_are_even_over_the_period(void)
{
    enum { N = 100000, PERIOD_NS = 125000 };
    const struct buncher_params params = {.period_ns = PERIOD_NS};
    struct buncher b = {0};
    uint64_t now = 0, sum = 0;
    for (uint64_t i = 0; i < N; i++) {
        now += random_u64(1, i) % (20 * (uint64_t)PERIOD_NS);
        uint64_t wait = buncher_send(&b, &params, now) - now;
        CHECK(wait < PERIOD_NS);
        sum += wait;
    }
    uint64_t mean = sum / N, bound = 4 * PERIOD_NS * 10 / 34 / 316; /* period / sqrt(12) / sqrt(n) */
    CHECK(mean + bound > PERIOD_NS / 2 && mean < PERIOD_NS / 2 + bound);
}

static void departures_never_fall_whatever_changes(void)
{
    struct buncher b = {0};
    uint64_t now = 0, last = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t draw = random_u64(2, i);
        const struct buncher_params params = {.period_ns = draw % 3 ? (draw >> 8) % 100000 : 0,
                                              .packets = (draw >> 40) % 4};
        now += (draw >> 50) % 5000;
        uint64_t departure = buncher_send(&b, &params, now);
        CHECK(departure >= now && departure >= last);
        last = departure;
    }
}

int main(void)
{
    RUN(packets_leave_at_the_next_opening);
    RUN(an_opening_lets_no_more_through_than_its_bound);
    RUN(waits_are_even_over_the_period);
    RUN(departures_never_fall_whatever_changes);
    return 0;
}
