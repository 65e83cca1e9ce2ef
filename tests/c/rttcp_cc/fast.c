/* lfp_fast on a fluid link in virtual time: it must keep alpha packets in the queue, whatever the link. */
#include "world.h"

#include "lfp_fast.h"

/* A single flow on a link: RTT = max(base, w / rate). Returns the window after `rounds` round trips. */
static u32 run(const struct lfp_fast_params *p, double rate, u32 base_us, u32 cwnd, u32 ssthresh, int rounds,
               double *queued)
{
    struct lfp_fast s;
    struct lfp_window w = {.cwnd = cwnd, .ssthresh = ssthresh, .now_us = 1};
    lfp_fast_start(&s);
    lfp_fast_rtt(&s, base_us);
    for (int i = 0; i < rounds; i++) {
        u32 rtt_us = (u32)fmax(base_us, w.cwnd / rate * 1e6), sent = w.cwnd;
        for (u32 ack = 0; ack < sent; ack++) {
            w.now_us += rtt_us / sent + (ack < rtt_us % sent);
            lfp_fast_rtt(&s, rtt_us);
            lfp_fast_acked(&s, p, &w, 1);
        }
    }
    *queued = w.cwnd - rate * base_us / 1e6;
    return w.cwnd;
}

static void in_equilibrium_alpha_packets_are_queued(void)
{
    for (u32 alpha = 20; alpha <= 200; alpha *= 10)
        for (double rate = 2000; rate <= 50000; rate *= 5) {
            struct lfp_fast_params p = {.alpha = alpha << 16, .gamma = LFP_Q16(0.5), .keep = LFP_Q16(0.5)};
            double queued;
            run(&p, rate, 50000, 100, 100, 600, &queued); /* gamma alpha per round trip, up to 2,500 */
            CHECK_NEAR(queued, alpha, 0.05);
            run(&p, rate, 50000, 100, 1u << 30, 600, &queued); /* the window comes from above, and from slow start */
            CHECK_NEAR(queued, alpha, 0.05);
        }
}

static void slow_start_ends_when_alpha_packets_are_queued(void)
{
    struct lfp_fast_params p = {LFP_FAST_PARAMS(LFP_PARAM_DEFAULT)};
    double queued;
    run(&p, 10000, 50000, 10, 1u << 30, 12, &queued); /* 500 in flight and 200 queued; with doubling it would be
                                                       * 40,960 */
    CHECK(queued < 1000);
}

static void one_update_is_the_equation(void)
{
    struct lfp_fast s = {.base_us = 100000};
    struct lfp_fast_params p = {.alpha = 200 << 16, .gamma = LFP_Q16(0.25)};
    CHECK_NEAR(lfp_fast_next_q16(&s, &p, 1000ull << 16, 125000) / 65536.0, 0.75 * 1000 + 0.25 * (0.8 * 1000 + 200),
               1e-4);
    CHECK_NEAR(lfp_fast_next_q16(&s, &p, 10ull << 16, 100000) / 65536.0, 20, 1e-4); /* never more than twice */
}

int main(void)
{
    RUN(in_equilibrium_alpha_packets_are_queued);
    RUN(slow_start_ends_when_alpha_packets_are_queued);
    RUN(one_update_is_the_equation);
    return 0;
}
