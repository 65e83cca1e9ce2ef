/* The rate `auto` over a path whose round-trip time changes during a transfer: up, down, several times. The goodput is
 * compared with the goodput on the same path without the change, so the bounds hold for any rule that sets the rate. */
#include "check.h"
#include "nc_clock.h"
#include "sim.h"

#define MS NC_NS_PER_MS
#define S NC_NS_PER_S

struct change_case {
    uint64_t rate_bps, queue_bytes, rtt_ns, duration_ns;
    struct sim_change changes[NC_STRINGS_MAX];
};

static struct sim_result result(const struct change_case *c, bool changes, bool auto_rate)
{
    struct nc_error error;
    char name[] = "lft-sim", *argv[] = {name, NULL};
    struct sim_settings s;
    struct sim_result r;
    CHECK_EQ(sim_settings_parse(&s, 1, argv, &error), 0);
    s.rate_bps = c->rate_bps;
    s.queue_bytes = c->queue_bytes;
    s.duration_ns = c->duration_ns;
    s.cut = true;
    s.auto_rate = auto_rate;
    for (; changes && s.changes_n < NC_STRINGS_MAX && c->changes[s.changes_n].at_ns; s.changes_n++)
        s.changes[s.changes_n] = c->changes[s.changes_n];
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = c->rtt_ns,
                              .limit_bps = auto_rate ? c->rate_bps * 3 / 2 : c->rate_bps * 9 / 10,
                              .recovery = LFT_SELECTIVE,
                              .seed = 11};
    sim_run(&trial, &r);
    CHECK(r.intact);
    return r;
}

static void check(const struct change_case *c, double least)
{
    double with = result(c, true, true).goodput_bps, without = result(c, false, true).goodput_bps;
    printf("%.1f Mbit/s, without a change %.1f\n", with / 1e6, without / 1e6);
    CHECK(with >= least * without);
}

/* It takes eight round trips to find that a lower rate does not help. During these the rate falls to a third. */
static void a_longer_path_keeps_its_rate(void)
{
    check(&(struct change_case){100000000, 500000, 40 * MS, 20 * S, {{5 * S, 60 * MS}}}, 0.95);
    check(&(struct change_case){100000000, 500000, 40 * MS, 20 * S, {{5 * S, 50 * MS}}}, 0.95);
    check(&(struct change_case){400000000, 4000000, 100 * MS, 20 * S, {{5 * S, 160 * MS}}}, 0.9);
    check(&(struct change_case){20000000, 200000, 20 * MS, 20 * S, {{5 * S, 200 * MS}}}, 0.8);
}

static void a_shorter_path_keeps_its_rate(void)
{
    check(&(struct change_case){100000000, 500000, 60 * MS, 20 * S, {{5 * S, 40 * MS}}}, 0.95);
    check(&(struct change_case){100000000, 500000, 200 * MS, 20 * S, {{5 * S, 40 * MS}}}, 0.95);
}

static void many_changes_keep_its_rate(void)
{
    const struct change_case steps = {100000000,
                                      500000,
                                      40 * MS,
                                      30 * S,
                                      {{5 * S, 60 * MS},
                                       {8 * S, 40 * MS},
                                       {11 * S, 70 * MS},
                                       {14 * S, 50 * MS},
                                       {17 * S, 65 * MS},
                                       {20 * S, 40 * MS},
                                       {23 * S, 60 * MS}}};
    check(&steps, 0.85);
    const struct change_case stairs = {100000000,
                                       500000,
                                       40 * MS,
                                       30 * S,
                                       {{5 * S, 50 * MS},
                                        {8 * S, 60 * MS},
                                        {11 * S, 70 * MS},
                                        {14 * S, 80 * MS},
                                        {17 * S, 90 * MS},
                                        {20 * S, 100 * MS}}};
    check(&stairs, 0.85);
}

/* The round trip changes by 5 ms every 100 ms for 1.6 s, so that no eight successive round trips are alike. */
static void a_path_that_grows_steadily_does_not_end_the_transfer(void)
{
    struct change_case slope = {100000000, 500000, 40 * MS, 40 * S, {{0}}};
    for (size_t i = 0; i < NC_STRINGS_MAX; i++)
        slope.changes[i] = (struct sim_change){5 * S + i * 100 * MS, (42 + 5 * i) * MS};
    check(&slope, 0.6);
}

/* With a fixed rate the queueing delay is a figure that is shown; the minimum delay behind it expires all the same. */
static void a_longer_path_is_no_queue_at_a_fixed_rate(void)
{
    const struct change_case longer = {20000000, 200000, 40 * MS, 30 * S, {{2 * S, 100 * MS}}};
    CHECK(result(&longer, true, false).state.queue_delay_ns < 5 * MS);
}

int main(void)
{
    RUN(a_longer_path_keeps_its_rate);
    RUN(a_shorter_path_keeps_its_rate);
    RUN(many_changes_keep_its_rate);
    RUN(a_longer_path_is_no_queue_at_a_fixed_rate);
    RUN(a_path_that_grows_steadily_does_not_end_the_transfer);
    return 0;
}
