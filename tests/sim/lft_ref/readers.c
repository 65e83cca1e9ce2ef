/* Streams that nobody reads must leave the memory to streams that are read. One stream next to a thousand of them keeps
 * its rate, even if frames are lost and octets have to wait for the missing ones. */
#include "check.h"
#include "nc_clock.h"
#include "sim.h"

#define MS NC_NS_PER_MS
enum { STILL = 1000 };

static struct sim_settings defaults(void)
{
    struct nc_error error;
    char name[] = "lft-sim", *argv[] = {name, NULL};
    struct sim_settings settings;
    CHECK_EQ(sim_settings_parse(&settings, 1, argv, &error), 0);
    settings.rate_bps = 800000000;
    settings.cut = true;
    settings.still = STILL;
    settings.granularity_ns = 250 * NC_NS_PER_US; /* how long the gateway's loop sleeps on such a path */
    return settings;
}

static void the_one_keeps_its_rate(uint64_t still_after_ns, uint64_t loss_ppb)
{
    struct sim_settings s = defaults();
    struct sim_result r;
    s.still_after_ns = still_after_ns;
    s.duration_ns = still_after_ns + (loss_ppb ? 20 : 10) * NC_NS_PER_S; /* with loss it takes seconds until the rate
                                                                          * has grown */
    struct sim_trial trial = {.settings = &s,
                              .rtt_ns = 200 * MS,
                              .loss_ppb = loss_ppb,
                              .limit_bps = s.rate_bps,
                              .recovery = LFT_SELECTIVE,
                              .seed = 21};
    sim_run(&trial, &r);
    if (r.steady_bps < 0.9 * r.bound_bps || r.receiver.rx_no_memory)
        fprintf(stderr,
                "loss %.1f %%, %d readers stand still after %.1f s: %.1f Mbit/s of %.1f, %llu frames without memory\n",
                (double)loss_ppb / 1e7, STILL, (double)still_after_ns / 1e9, r.steady_bps / 1e6, r.bound_bps / 1e6,
                (unsigned long long)r.receiver.rx_no_memory);
    CHECK(r.intact);
    CHECK(r.steady_bps >= 0.9 * r.bound_bps);
    CHECK_EQ(r.receiver.rx_no_memory, 0);
}

static void beside_readers_that_never_read(void)
{
    the_one_keeps_its_rate(0, 0);
    the_one_keeps_its_rate(0, NC_RATIO_ONE / 100);
}

static void beside_readers_that_have_stopped(void)
{
    the_one_keeps_its_rate(3 * NC_NS_PER_S, 0);
    the_one_keeps_its_rate(3 * NC_NS_PER_S, NC_RATIO_ONE / 100);
}

int main(void)
{
    RUN(beside_readers_that_never_read);
    RUN(beside_readers_that_have_stopped);
    return 0;
}
