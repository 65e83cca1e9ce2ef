/* Paced writes, in virtual time: the rate is kept, a late wake-up is made up for by one burst at most, and the kernel
 * paces while the window is the limit. */
#include "check.h"
#include "nc_clock.h"
#include "pacer.h"

#define RATE UINT64_C(1000000000) /* bytes a second: a byte takes a nanosecond */
#define BURST UINT64_C(1000000)
#define WRITE UINT64_C(128000)
#define RTT_NS (100 * NC_NS_PER_MS)
#define NEEDED (RATE / 10) /* bytes in a round trip */

static struct rttcp_pacer pacing_writes(uint64_t now_ns)
{
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST);
    CHECK(rttcp_pacer_look(&pacer, 2 * NEEDED, RTT_NS, now_ns));
    CHECK(pacer.writes);
    return pacer;
}

/* Writes at once what may be written at once, and returns the bytes; *now moves over the sleep, and `late_ns` more. */
static uint64_t burst(struct rttcp_pacer *pacer, uint64_t *now, uint64_t late_ns)
{
    uint64_t bytes = WRITE, until;
    while ((until = rttcp_pacer_wrote(pacer, WRITE, *now)) == 0)
        bytes += WRITE;
    *now = until + late_ns;
    return bytes;
}

static void the_rate_is_kept_and_no_burst_is_larger(void)
{
    uint64_t now = NC_NS_PER_S, began = now, sent = 0;
    struct rttcp_pacer pacer = pacing_writes(now);
    for (int i = 0; i < 1000; i++) {
        uint64_t bytes = burst(&pacer, &now, 0);
        CHECK(bytes <= BURST + WRITE);
        sent += bytes;
        CHECK(sent <= now - began + BURST);
    }
    CHECK_EQ(sent, now - began);
}

static void what_late_wake_ups_cost_is_made_up_for(void)
{
    uint64_t now = NC_NS_PER_S, began = now, sent = 0;
    struct rttcp_pacer pacer = pacing_writes(now);
    for (int i = 0; i < 1000; i++) {
        uint64_t bytes = burst(&pacer, &now, 300 * NC_NS_PER_US); /* less than a burst takes */
        CHECK(bytes <= 2 * BURST + WRITE);
        sent += bytes;
    }
    CHECK(sent + BURST >= now - began - 300 * NC_NS_PER_US);
}

static void a_long_stop_is_made_up_for_by_one_burst(void)
{
    uint64_t now = NC_NS_PER_S;
    struct rttcp_pacer pacer = pacing_writes(now);
    burst(&pacer, &now, 0);
    now += NC_NS_PER_S;
    CHECK(burst(&pacer, &now, 0) <= 2 * BURST + WRITE);
    CHECK(burst(&pacer, &now, 0) <= BURST + WRITE);
}

static void the_kernel_paces_while_the_window_is_the_limit(void)
{
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST);
    CHECK(!rttcp_pacer_look(&pacer, NEEDED * 12 / 10, RTT_NS, 1));
    CHECK_EQ(rttcp_pacer_wrote(&pacer, 64 * BURST, 1), 0);
    CHECK(rttcp_pacer_look(&pacer, NEEDED * 13 / 10, RTT_NS, 1));
    CHECK(!rttcp_pacer_look(&pacer, NEEDED * 12 / 10, RTT_NS, 1)); /* not at once back */
    CHECK(pacer.writes);
    CHECK(rttcp_pacer_look(&pacer, NEEDED, RTT_NS, 1));
    CHECK(!pacer.writes);
}

static void without_a_burst_or_a_pace_nothing_is_paced_here(void)
{
    struct rttcp_pacer kernel = rttcp_pacer_create(RATE, 0), none = rttcp_pacer_create(0, BURST);
    CHECK(!rttcp_pacer_look(&kernel, 100 * NEEDED, RTT_NS, 1));
    CHECK(!rttcp_pacer_look(&none, 100 * NEEDED, RTT_NS, 1));
    CHECK_EQ(rttcp_pacer_wrote(&kernel, 64 * BURST, 1), 0);
    CHECK_EQ(rttcp_pacer_wrote(&none, 64 * BURST, 1), 0);
}

int main(void)
{
    RUN(the_rate_is_kept_and_no_burst_is_larger);
    RUN(what_late_wake_ups_cost_is_made_up_for);
    RUN(a_long_stop_is_made_up_for_by_one_burst);
    RUN(the_kernel_paces_while_the_window_is_the_limit);
    RUN(without_a_burst_or_a_pace_nothing_is_paced_here);
    return 0;
}
