/* A host fails right after its last octet. The other end must read every octet and then learn of the failure, whatever
 * is lost or overtaken on the way. */
#include "check.h"
#include "nc_clock.h"
#include "sim.h"

static struct sim_settings settings_for(uint64_t streams, uint64_t bytes, uint64_t jitter_ns)
{
    struct nc_error error;
    char name[] = "lft-sim", *argv[] = {name, NULL};
    struct sim_settings settings;
    CHECK_EQ(sim_settings_parse(&settings, 1, argv, &error), 0);
    settings.fail = true;
    settings.ack_loss_too = true;
    settings.streams = streams;
    settings.bytes = streams * bytes;
    settings.jitter_ns = jitter_ns;
    settings.memory_bytes = 1 << 20; /* small, so that most octets of 200 KB wait for credit when their host fails */
    return settings;
}

static void all_arrive(uint64_t streams, uint64_t bytes, uint64_t loss_ppb, uint64_t jitter_ns)
{
    struct sim_settings s = settings_for(streams, bytes, jitter_ns);
    for (int recovery = 0; recovery < LFT_RECOVERIES; recovery++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            struct sim_result r;
            struct sim_trial trial = {.settings = &s,
                                      .rtt_ns = 20 * NC_NS_PER_MS,
                                      .loss_ppb = loss_ppb,
                                      .limit_bps = s.rate_bps,
                                      .recovery = (enum lft_recovery)recovery,
                                      .seed = seed};
            sim_run(&trial, &r);
            if (!r.complete || !r.intact)
                fprintf(stderr, "%s, %llu octets, loss %.0f %%, jitter %llu ms, seed %llu: %llu octets of %llu\n",
                        lft_recovery_names[recovery], (unsigned long long)bytes, (double)loss_ppb / 1e7,
                        (unsigned long long)(jitter_ns / NC_NS_PER_MS), (unsigned long long)seed,
                        (unsigned long long)r.delivered_bytes, (unsigned long long)s.bytes);
            CHECK(r.complete && r.intact);
            CHECK_EQ(r.delivered_bytes, s.bytes);
        }
}

static void of_100_octets(void)
{
    all_arrive(100, 100, 0, 0);
    all_arrive(100, 100, NC_RATIO_ONE / 20, 10 * NC_NS_PER_MS);
    all_arrive(100, 100, NC_RATIO_ONE / 4, 10 * NC_NS_PER_MS);
}

static void of_200_KB(void)
{
    all_arrive(20, 200 << 10, 0, 0);
    all_arrive(20, 200 << 10, NC_RATIO_ONE / 20, 10 * NC_NS_PER_MS);
}

int main(void)
{
    RUN(of_100_octets);
    RUN(of_200_KB);
    return 0;
}
