/* lfp_xys: the equations of lfp-1995, and the adaptive rule epoch by epoch in virtual time. */
#include "world.h"

#include "lfp_xys.h"

static const struct lfp_xys_params defaults = {LFP_XYS_PARAMS(LFP_PARAM_DEFAULT)};

static void loss_keeps_a_share_of_x_within_the_window(void)
{
    struct lfp_xys s = {.x_q16 = LFP_Q16(4), .y_q16 = LFP_Q16(8)};
    struct lfp_window w = {.cwnd = 200, .mss_bytes = 4000, .peer_bytes = 800000};
    CHECK_EQ(lfp_xys_lost(&s, &defaults, &w), 50);
    w.peer_bytes = 120000;
    CHECK_EQ(lfp_xys_lost(&s, &defaults, &w), 30);
    w.cwnd = 3;
    CHECK_EQ(lfp_xys_lost(&s, &defaults, &w), 2);
}

static void an_ack_adds_a_window_share_and_an_yth(void)
{
    for (double y = 8; y <= 4096; y *= 4) {
        struct lfp_xys s = {.x_q16 = LFP_ONE, .y_q16 = LFP_Q16(y)};
        struct lfp_window w = {.cwnd = 100, .ssthresh = 50};
        double model = 100;
        for (int ack = 0; ack < 400; ack++) {
            lfp_xys_acked(&s, &defaults, &w, 1);
            model += 1 / model + 1 / y;
        }
        CHECK_NEAR(EXACT(w, s), model, 2e-3);
    }
}

static void below_ssthresh_an_ack_adds_a_segment(void)
{
    struct lfp_xys s = {.x_q16 = LFP_ONE, .y_q16 = LFP_Q16(8)};
    struct lfp_window w = {.cwnd = 1, .ssthresh = 50};
    for (int ack = 0; ack < 49; ack++)
        lfp_xys_acked(&s, &defaults, &w, 1);
    CHECK_EQ(w.cwnd, 50);
}

/* One epoch of 2 s: ACKs every 5 ms and one stop of stopped_s (RTT 10 ms). */
static void epoch(struct lfp_xys *s, const struct lfp_xys_params *p, struct lfp_window *w, double stopped_s)
{
    u64 end = w->now_us + 2000000;
    w->now_us += (u64)(stopped_s * 1e6) + 10000;
    u32 ended = lfp_xys_ack(s, p, w);
    while (!ended && w->now_us < end + 10000) {
        w->now_us += 5000;
        ended = lfp_xys_ack(s, p, w);
    }
    CHECK(ended);
}

static void the_adaptive_rule_raises_y_first_then_x_and_goes_back(void)
{
    struct lfp_xys_params p = defaults;
    struct lfp_window w = {.rtt_us = 10000, .peer_bytes = 500000, .now_us = 1000};
    struct lfp_xys s;
    p.adaptive = LFP_ONE;
    lfp_xys_start(&s, &p, &w);
    epoch(&s, &p, &w, 1.4);
    CHECK_NEAR(s.s_q16 / 65536.0, 0.7, 0.01);
    CHECK_EQ(s.y_q16, LFP_Q16(32));
    CHECK_EQ(s.x_q16, LFP_Q16(2));
    for (int i = 0; i < 4; i++)
        epoch(&s, &p, &w, 1.4);
    CHECK_EQ(s.y_q16, p.y_max);
    CHECK_EQ(s.x_q16, LFP_Q16(2));
    epoch(&s, &p, &w, 1.4);
    CHECK_EQ(s.x_q16, LFP_Q16(4));
    epoch(&s, &p, &w, 0.6); /* between the two thresholds */
    CHECK_EQ(s.x_q16, LFP_Q16(4));
    epoch(&s, &p, &w, 0);
    CHECK_EQ(s.x_q16, LFP_Q16(3));
    CHECK_EQ(s.y_q16, LFP_Q16(2052));
    for (int i = 0; i < 10; i++)
        epoch(&s, &p, &w, 1.8);
    CHECK_EQ(s.x_q16, p.x_max);
    for (int i = 0; i < 40; i++)
        epoch(&s, &p, &w, 0);
    CHECK(s.x_q16 <= p.x + 1 && s.y_q16 <= p.y + 1);
}

static void the_first_rule_doubles_y_once_and_then_raises_x_by_one(void)
{
    struct lfp_xys_params p = defaults;
    struct lfp_window w = {.rtt_us = 10000, .peer_bytes = 500000, .now_us = 1000};
    struct lfp_xys s;
    p.adaptive = 2 * LFP_ONE;
    lfp_xys_start(&s, &p, &w);
    for (u32 i = 0; i < 4; i++) {
        epoch(&s, &p, &w, 1.4);
        CHECK_EQ(s.y_q16, LFP_Q16(16));
        CHECK_EQ(s.x_q16, LFP_Q16(2) + i * LFP_ONE);
    }
    epoch(&s, &p, &w, 0.6);
    epoch(&s, &p, &w, 1.4);
    CHECK_EQ(s.y_q16, LFP_Q16(32));
    CHECK_EQ(s.x_q16, LFP_Q16(5));
}

static void a_small_window_and_an_idle_sender_change_nothing(void)
{
    struct lfp_xys_params p = defaults;
    struct lfp_window w = {.rtt_us = 10000, .peer_bytes = 65536, .now_us = 1000};
    struct lfp_xys s;
    p.adaptive = LFP_ONE;
    lfp_xys_start(&s, &p, &w);
    epoch(&s, &p, &w, 1.6);
    CHECK_EQ(s.y_q16, p.y);
    w.peer_bytes = 500000;
    w.now_us += 5000000; /* nothing to send */
    lfp_xys_restarted(&s, &w);
    CHECK(lfp_xys_ack(&s, &p, &w));
    CHECK_EQ(s.s_q16, 0);
}

int main(void)
{
    RUN(loss_keeps_a_share_of_x_within_the_window);
    RUN(an_ack_adds_a_window_share_and_an_yth);
    RUN(below_ssthresh_an_ack_adds_a_segment);
    RUN(the_adaptive_rule_raises_y_first_then_x_and_goes_back);
    RUN(the_first_rule_doubles_y_once_and_then_raises_x_by_one);
    RUN(a_small_window_and_an_idle_sender_change_nothing);
    return 0;
}
