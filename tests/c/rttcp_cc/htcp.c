/* lfp_htcp: alpha as a function of the time since the loss, beta from the round-trip times and the rate. */
#include "world.h"

#include "lfp_htcp.h"

static const struct lfp_htcp_params defaults = {LFP_HTCP_PARAMS(LFP_PARAM_DEFAULT)};

static double alpha(double since_s, double beta)
{
    double over = since_s > 1 ? since_s - 1 : 0;
    return fmax(2 * (1 - beta) * (1 + 10 * over + over * over / 4), 1);
}

static void alpha_follows_the_time_since_the_loss(void)
{
    for (u32 beta_percent = 50; beta_percent <= 80; beta_percent += 10) {
        struct lfp_htcp s = {.beta_q16 = LFP_Q16(beta_percent / 100.0)};
        for (u64 since_us = 0; since_us < 60000000; since_us += 33333)
            CHECK_NEAR(lfp_htcp_alpha_q16(&s, &defaults, since_us) / 65536.0,
                       alpha(since_us / 1e6, beta_percent / 100.0), 5e-3);
    }
}

/* The beta after one loss, on a path with the given round-trip times and rate, in virtual time. */
static double beta_after(double rate_before, u32 min_rtt_us, u32 max_rtt_us)
{
    struct lfp_htcp s;
    struct lfp_window w = {.cwnd = 1000, .ssthresh = 500, .now_us = 1000000};
    lfp_htcp_start(&s, &defaults, &w);
    s.old_rate = (u32)rate_before;
    for (u32 rtt_us = min_rtt_us; rtt_us <= max_rtt_us; rtt_us += (max_rtt_us - min_rtt_us) / 10) {
        w.now_us += rtt_us;
        lfp_htcp_rtt(&s, &w, rtt_us, rtt_us / 100); /* 10,000 segments a second */
    }
    CHECK_NEAR(s.rate, 10000, 0.01);
    double kept = lfp_htcp_lost(&s, &defaults, &w);
    CHECK_EQ(s.loss_us, w.now_us);
    return kept / 1000;
}

static void beta_is_the_ratio_of_round_trip_times_while_the_rate_is_steady(void)
{
    CHECK_NEAR(beta_after(10000, 60000, 100000), 0.6, 0.01);
    CHECK_NEAR(beta_after(10000, 95000, 100000), 0.8, 0.01); /* not above 0.8 */
    CHECK_NEAR(beta_after(10000, 20000, 100000), 0.5, 0.01); /* not below 0.5 */
    CHECK_NEAR(beta_after(5000, 60000, 100000), 0.5, 0.01);  /* twice the rate of the previous time */
}

static void the_window_is_the_integral_of_alpha(void)
{
    struct lfp_htcp s;
    struct lfp_window w = {.cwnd = 500, .ssthresh = 500};
    double model = 500;
    lfp_htcp_start(&s, &defaults, &w);
    for (int round = 0; round < 100; round++) { /* 10 s at RTT 100 ms */
        for (u32 left = w.cwnd; left; left--)
            lfp_htcp_acked(&s, &defaults, &w, 1);
        model += alpha(round * 0.1, 0.5);
        w.now_us += 100000;
        CHECK_NEAR(EXACT(w, s), model, 0.05); /* a window that grows during its round trip gives up a part of alpha */
    }
}

int main(void)
{
    RUN(alpha_follows_the_time_since_the_loss);
    RUN(beta_is_the_ratio_of_round_trip_times_while_the_rate_is_steady);
    RUN(the_window_is_the_integral_of_alpha);
    return 0;
}
