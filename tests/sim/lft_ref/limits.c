/* The limit on what the gateway sends, counted in octets over seconds: bounds that short windows do not test. */
#include "check.h"
#include "nc_clock.h"
#include "sim.h"

static struct sim_settings defaults(void)
{
    struct nc_error error;
    char name[] = "lft-sim", *argv[] = {name, NULL};
    struct sim_settings settings;
    CHECK_EQ(sim_settings_parse(&settings, 1, argv, &error), 0);
    return settings;
}

static uint64_t sent_bytes(const struct sim_result *result)
{
    uint64_t bytes = 0;
    for (int class = 0; class < LFT_CLASSES; class++)
        bytes += result->sender.tx_wire_bytes[class];
    return bytes;
}

/* A line much faster than the limit, and more data than either carries. All four classes together must stay below limit
 * × time, and nearly reach it. */
static void the_limit_holds_in_the_long_run(void)
{
    const struct {
        uint64_t limit_bps, loss_ppb;
        bool redundancy;
    } cases[] = {{5000000, 0, false}, {50000000, 10000000, false}, {200000000, 0, false}, {50000000, 50000000, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sim_settings s = defaults();
        struct sim_result r;
        s.rate_bps = 1000000000;
        s.duration_ns = 10 * NC_NS_PER_S;
        s.cut = true;
        s.redundancy = cases[i].redundancy;
        struct sim_trial trial = {.settings = &s,
                                  .rtt_ns = 20 * NC_NS_PER_MS,
                                  .loss_ppb = cases[i].loss_ppb,
                                  .limit_bps = cases[i].limit_bps,
                                  .recovery = LFT_SELECTIVE,
                                  .seed = 17 + i};
        sim_run(&trial, &r);
        double seconds = (double)s.duration_ns / 1e9, allowed = (double)cases[i].limit_bps / 8 * seconds;
        double sent = (double)sent_bytes(&r), bursts = 32 * (double)s.mtu;
        if (sent > allowed + bursts || sent < 0.98 * allowed)
            fprintf(stderr, "limit %.0f Mbit/s: %.6f of it\n", (double)cases[i].limit_bps / 1e6, sent / allowed);
        CHECK(sent <= allowed + bursts);
        CHECK(sent >= 0.98 * allowed);
        CHECK(r.intact);
    }
}

int main(void)
{
    RUN(the_limit_holds_in_the_long_run);
    return 0;
}
