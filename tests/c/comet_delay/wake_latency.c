/* The estimated wake-up latency: the median follows the wake-ups, and the minimum never exceeds the true latency, so no
 * arrival is dated back too far. */
#include "wake_latency.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { WAKE_UPS = 20000, SETTLED = 500, GUESS_NS = 50 * NC_NS_PER_US };

/* Uniform on [low, high): the latency of wake-up `i` on a machine with such latencies. */
static uint64_t between(uint64_t low_ns, uint64_t high_ns, uint64_t i)
{
    return low_ns + random_u64(random_key(1, 0, 0), i) % (high_ns - low_ns);
}

static void the_median_follows(void)
{
    struct wake_latency latency;
    wake_latency_init(&latency, GUESS_NS);
    for (uint64_t i = 0; i < WAKE_UPS; i++)
        wake_latency_learn(&latency, between(20000, 40000, i));
    CHECK(latency.median_ns > 27000 && latency.median_ns < 33000);
}

/* One wake-up in six is delayed by other work, for up to 3 ms. With this noise, round trips shorter than the delay had
 * been found. The estimated minimum rises by r = 25 ns per wake-up until a shorter wake-up comes. When the estimate is
 * x above the shortest latency, a wake-up is shorter with probability x / 48 us. So P(more than x) = exp(-x^2 / (2 r 48
 * us)), which is 1e-9 at 7 us. */
static void the_least_stays_at_the_shortest_whatever_else_takes_long(void)
{
    struct wake_latency latency;
    wake_latency_init(&latency, GUESS_NS);
    for (uint64_t i = 0; i < WAKE_UPS; i++) {
        wake_latency_learn(&latency, i % 6 ? between(20000, 60000, i) : between(20000, 3000000, i));
        if (i > SETTLED)
            CHECK(latency.least_ns >= 20000 && latency.least_ns < 27000);
    }
}

static void both_follow_a_machine_that_becomes_slower_up_to_their_bound(void)
{
    struct wake_latency latency;
    wake_latency_init(&latency, GUESS_NS);
    for (uint64_t i = 0; i < WAKE_UPS; i++)
        wake_latency_learn(&latency, 80000);
    CHECK(latency.least_ns > 79000 && latency.least_ns <= 80000);
    for (uint64_t i = 0; i < WAKE_UPS; i++)
        wake_latency_learn(&latency, 10 * NC_NS_PER_MS);
    CHECK_EQ(latency.least_ns, 200 * NC_NS_PER_US);
    CHECK_EQ(latency.median_ns, 200 * NC_NS_PER_US);
}

static void a_clock_that_stands_dates_nothing_back(void)
{
    struct wake_latency latency;
    wake_latency_init(&latency, GUESS_NS);
    wake_latency_learn(&latency, 0);
    CHECK_EQ(latency.least_ns, 0);
}

int main(void)
{
    RUN(the_median_follows);
    RUN(the_least_stays_at_the_shortest_whatever_else_takes_long);
    RUN(both_follow_a_machine_that_becomes_slower_up_to_their_bound);
    RUN(a_clock_that_stands_dates_nothing_back);
    return 0;
}
