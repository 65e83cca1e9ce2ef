/* Paced writes, in virtual time: the rate is kept, and at most one burst makes up for a late wake-up. */
#include "check.h"
#include "nc_clock.h"
#include "pacer.h"

#define RATE UINT64_C(1000000000) /* bytes a second: a byte takes a nanosecond */
#define BURST UINT64_C(1000000)
#define WRITE UINT64_C(128000)

/* Writes as much as may be written at once. Returns the number of bytes; *now advances by the sleep and by
 * `late_ns`. */
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
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST, now);
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
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST, now);
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
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST, now);
    burst(&pacer, &now, 0);
    now += NC_NS_PER_S;
    CHECK(burst(&pacer, &now, 0) <= 2 * BURST + WRITE);
    CHECK(burst(&pacer, &now, 0) <= BURST + WRITE);
}

static void a_stream_that_is_held_up_sends_two_bursts_at_most_when_it_may_again(void)
{
    uint64_t now = NC_NS_PER_S;
    struct rttcp_pacer pacer = rttcp_pacer_create(RATE, BURST, now);
    for (int i = 0; i < 100; i++, now += 100 * NC_NS_PER_MS) /* the window would allow this write every 100 ms */
        CHECK_EQ(rttcp_pacer_wrote(&pacer, WRITE, now), 0);
    CHECK(burst(&pacer, &now, 0) <= 2 * BURST + WRITE);
}

static void without_a_burst_or_a_pace_nothing_is_paced_here(void)
{
    struct rttcp_pacer kernel = rttcp_pacer_create(RATE, 0, 1), none = rttcp_pacer_create(0, BURST, 1);
    CHECK_EQ(rttcp_pacer_wrote(&kernel, 64 * BURST, 1), 0);
    CHECK_EQ(rttcp_pacer_wrote(&none, 64 * BURST, 1), 0);
}

/* The bytes of a stream whose writes succeed at once, in `duration_ns`. */
static uint64_t small_writes(uint64_t bytes_per_s, uint64_t mss, uint64_t duration_ns)
{
    uint64_t now = NC_NS_PER_S, end = now + duration_ns, sent = 0, write = rttcp_pacer_small_write(bytes_per_s, mss);
    struct rttcp_pacer pacer = rttcp_pacer_create(bytes_per_s, write, now);
    pacer.ahead_bytes = 0;
    while (now < end) {
        uint64_t until = rttcp_pacer_wrote(&pacer, write, now);
        sent += write;
        CHECK((double)(sent - write) <= (double)(now - NC_NS_PER_S) * (double)bytes_per_s / 1e9 + 1);
        now = until ? until : now;
    }
    return sent;
}

static void a_low_pace_is_kept_from_the_first_octet_to_the_end(void)
{
    CHECK_EQ(small_writes(1250, 1448, 5 * NC_NS_PER_S), 6250); /* 10 kbit/s */
    for (uint64_t rate = 1; rate < 100000; rate = rate * 3 + 1) {
        uint64_t write = rttcp_pacer_small_write(rate, 1448), due = 7 * rate,
                 sent = small_writes(rate, 1448, 7 * NC_NS_PER_S);
        CHECK(sent + 1 >= due && sent <= due + write + 1);
    }
}

static void the_kernel_paces_where_its_unpaced_segments_are_short(void)
{
    CHECK_EQ(rttcp_pacer_small_write(0, 1448), 0);
    CHECK_EQ(rttcp_pacer_small_write(144800, 1448), 0);
    CHECK_EQ(rttcp_pacer_small_write(144790, 1448), 1448);
    CHECK_EQ(rttcp_pacer_small_write(1, 1448), 1);
}

int main(void)
{
    RUN(the_rate_is_kept_and_no_burst_is_larger);
    RUN(what_late_wake_ups_cost_is_made_up_for);
    RUN(a_long_stop_is_made_up_for_by_one_burst);
    RUN(a_stream_that_is_held_up_sends_two_bursts_at_most_when_it_may_again);
    RUN(without_a_burst_or_a_pace_nothing_is_paced_here);
    RUN(a_low_pace_is_kept_from_the_first_octet_to_the_end);
    RUN(the_kernel_paces_where_its_unpaced_segments_are_short);
    return 0;
}
