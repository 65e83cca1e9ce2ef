/* lfp_cpeak against the equation of cpeak-1998, round trip by round trip. */
#include "world.h"

#include "lfp_cpeak.h"

static const struct lfp_cpeak_params defaults = {LFP_CPEAK_PARAMS(LFP_PARAM_DEFAULT)};

static double equation(double w, double peak)
{
    return fabs(w - peak / 2) / w * fabs(peak - w) / w * peak / 2 + 1;
}

static void before_the_first_loss_it_is_standard(void)
{
    struct lfp_cpeak s;
    struct lfp_window w = {.cwnd = 100, .ssthresh = 100};
    lfp_cpeak_start(&s);
    for (int ack = 0; ack < 100; ack++)
        lfp_cpeak_acked(&s, &defaults, &w, 1);
    CHECK_NEAR(EXACT(w, s), 101, 1e-3);
}

static void growth_is_the_equation_at_every_window(void)
{
    struct lfp_cpeak s = {.peak = 1000};
    for (u32 cwnd = 500; cwnd < 5000; cwnd += 7)
        CHECK_NEAR(lfp_cpeak_growth_q16(&s, &defaults, cwnd << 8) / 65536.0, equation(cwnd, 1000), 2e-3);
    for (u32 cwnd = 1; cwnd < 500; cwnd += 7) /* an idle window: it stays bounded, although the equation would grow
                                               * without bound */
        CHECK(lfp_cpeak_growth_q16(&s, &defaults, cwnd << 8) <= 501 * LFP_ONE);
}

static void a_loss_halves_and_the_curve_is_slow_fast_slow_fast(void)
{
    struct lfp_cpeak s;
    struct lfp_window w = {.cwnd = 400, .ssthresh = 400};
    lfp_cpeak_start(&s);
    w.cwnd = w.ssthresh = lfp_cpeak_lost(&s, &defaults, &w);
    CHECK_EQ(w.cwnd, 200);
    CHECK_EQ(s.peak, 400);

    double model = 200, growth[400];
    int rounds = 0, at_peak = 0;
    for (; model < 650; rounds++) {
        double before = EXACT(w, s);
        for (u32 left = w.cwnd; left; left -= lfp_min(left, 2)) { /* ACKs for two segments */
            lfp_cpeak_acked(&s, &defaults, &w, lfp_min(left, 2));
            model += lfp_min(left, 2) * equation(model, 400) / model;
        }
        growth[rounds] = EXACT(w, s) - before;
        CHECK_NEAR(EXACT(w, s), model, 0.01);
        at_peak = model < 400 ? rounds : at_peak;
    }
    double fastest = 0;
    for (int i = 0; i < at_peak; i++)
        fastest = fmax(fastest, growth[i]);
    CHECK(growth[0] < 0.25 * fastest);
    CHECK(growth[at_peak] < 0.25 * fastest);
    CHECK(growth[rounds - 1] > fastest);
}

static void parameters_change_gain_floor_and_decrease(void)
{
    struct lfp_cpeak_params p = {.gain = LFP_Q16(1), .floor = LFP_Q16(2), .keep = LFP_Q16(0.8)};
    struct lfp_cpeak s = {.peak = 1000};
    CHECK_NEAR(lfp_cpeak_growth_q16(&s, &p, 750 << 8) / 65536.0, 2 * (equation(750, 1000) - 1) + 2, 2e-3);
    CHECK_EQ(lfp_cpeak_lost(&s, &p, &(struct lfp_window){.cwnd = 500}), 400);
    CHECK_EQ(lfp_cpeak_lost(&s, &p, &(struct lfp_window){.cwnd = 1}), 2);
}

int main(void)
{
    RUN(before_the_first_loss_it_is_standard);
    RUN(growth_is_the_equation_at_every_window);
    RUN(a_loss_halves_and_the_curve_is_slow_fast_slow_fast);
    RUN(parameters_change_gain_floor_and_decrease);
    return 0;
}
