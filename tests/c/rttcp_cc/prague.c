/* lfp_prague: the equations of draft-briscoe-iccrg-prague-congestion-control, round trip by round trip. */
#include "world.h"

#include "lfp_prague.h"

static const struct lfp_prague_params defaults = {LFP_PRAGUE_PARAMS(LFP_PARAM_DEFAULT)};

/* A connection with its own clock and the kernel's counts. */
struct sender {
    struct lfp_prague s;
    struct lfp_prague_params p;
    struct lfp_window w;
    u32 delivered, marked;
};

static struct sender sender_of(u32 cwnd, u32 ssthresh, u32 rtt_us)
{
    struct sender it = {.p = defaults,
                        .w = {.cwnd = cwnd, .ssthresh = ssthresh, .rtt_us = rtt_us, .mss_bytes = 1000, .now_us = 1000}};
    lfp_prague_start(&it.s, &it.w, 0, 0);
    return it;
}

/* A round trip of one ACK a segment, of which the first `marks` report a mark. */
static void round_trip(struct sender *it, u32 marks)
{
    u32 segments = it->w.cwnd;
    u64 begin_us = it->w.now_us;
    for (u32 i = 0; i < segments; i++) {
        it->w.now_us = begin_us + (u64)it->w.rtt_us * (i + 1) / segments;
        it->marked += i < marks;
        lfp_prague_ack(&it->s, &it->p, &it->w, ++it->delivered, it->marked, 1, 1);
    }
}

static double alpha(const struct sender *it)
{
    return (double)it->s.alpha_q24 / LFP_ALPHA_ONE;
}

static void without_marks_a_round_trip_adds_a_segment(void)
{
    struct sender it = sender_of(100, 50, 50000);
    for (int i = 0; i < 40; i++)
        round_trip(&it, 0);
    CHECK_NEAR(EXACT(it.w, it.s), 140, 3e-3);
}

static void the_first_mark_ends_slow_start_with_half_of_the_window(void)
{
    struct sender it = sender_of(10, 0x7fffffff, 50000);
    round_trip(&it, 0);
    CHECK_EQ(it.w.cwnd, 20);
    it.w.now_us += 10;
    lfp_prague_ack(&it.s, &it.p, &it.w, ++it.delivered, ++it.marked, 1, 1);
    CHECK_EQ(it.w.cwnd, 10);
    CHECK_EQ(it.w.ssthresh, 10);
}

static void alpha_follows_the_share_of_marks_with_a_sixteenth(void)
{
    struct sender it = sender_of(1000, 500, 50000);
    it.s.reduced_us = 1;
    it.s.alpha_q24 = 0;
    double model = 0;
    for (int i = 0; i < 20; i++) {
        lfp_prague_ack(&it.s, &it.p, &it.w, it.delivered += 1000, it.marked += 100, 0, 0);
        it.w.now_us += 50000;
        lfp_prague_ack(&it.s, &it.p, &it.w, it.delivered, it.marked, 0, 0);
        model += (0.1 - model) / 16;
        CHECK_NEAR(alpha(&it), model, 1e-4);
    }
    for (int i = 0; i < 300; i++) {
        it.w.now_us += 50000;
        lfp_prague_ack(&it.s, &it.p, &it.w, it.delivered += 1000, it.marked, 0, 0);
    }
    CHECK(alpha(&it) < 1e-6); /* it does not get stuck at a rounding limit */
}

static void marks_reduce_once_in_a_round_trip_by_half_of_alpha(void)
{
    struct sender it = sender_of(1000, 500, 50000);
    it.s.reduced_us = 1;
    it.s.alpha_q24 = LFP_ALPHA_ONE / 10;
    it.w.now_us = 10000000;
    it.s.period_us = it.w.now_us;
    for (int i = 0; i < 10; i++) {
        it.w.now_us += 1000;
        lfp_prague_ack(&it.s, &it.p, &it.w, ++it.delivered, ++it.marked, 0, 1);
    }
    CHECK_NEAR(EXACT(it.w, it.s), 950, 1e-4);
    it.w.now_us += 41000;
    lfp_prague_ack(&it.s, &it.p, &it.w, ++it.delivered, ++it.marked, 0, 1);
    CHECK(it.w.cwnd < 950);
}

/* Two marks a round trip are the equilibrium: alpha is 2 / cwnd, and a reduction takes one segment. */
static void two_marks_a_round_trip_hold_the_window(void)
{
    struct sender it = sender_of(200, 100, 50000);
    it.s.reduced_us = 1;
    it.s.alpha_q24 = LFP_ALPHA_ONE / 100;
    for (int i = 0; i < 400; i++)
        round_trip(&it, 2);
    CHECK_NEAR(it.w.cwnd, 200, 0.1);
}

static void a_short_rtt_grows_as_a_flow_of_25_ms_would(void)
{
    struct sender it = sender_of(100, 50, 5000);
    it.p.rounds = 0;
    for (int i = 0; i < 500; i++)
        round_trip(&it, 0);
    CHECK_NEAR(EXACT(it.w, it.s), 100 + 500.0 / 25, 5e-3); /* (5 / 25)^2 a round trip */
    it = sender_of(100, 50, 5000);
    it.p.rounds = LFP_Q16(100);
    for (int i = 0; i < 100; i++)
        round_trip(&it, 0);
    CHECK_NEAR(EXACT(it.w, it.s), 200, 2e-2); /* the first rounds depend on the RTT as Reno does */
}

static void a_loss_halves_and_marks_of_the_same_round_trip_count_towards_it(void)
{
    struct sender it = sender_of(1000, 500, 50000);
    CHECK_EQ(lfp_prague_lost(&it.s, &it.p, &it.w), 500);
    it.w.now_us = 100000;
    lfp_prague_ack(&it.s, &it.p, &it.w, 1, 1, 0, 1); /* alpha is 1: this halves */
    CHECK_EQ(it.w.cwnd, 500);
    CHECK_EQ(lfp_prague_lost(&it.s, &it.p, &it.w), 500);
    it.w.now_us += 50000;
    CHECK_EQ(lfp_prague_lost(&it.s, &it.p, &it.w), 250);
    it.w.cwnd = 2;
    CHECK_EQ(lfp_prague_lost(&it.s, &it.p, &it.w), 2);
}

static void the_pace_is_a_window_a_round_trip(void)
{
    struct lfp_window w = {.cwnd = 100, .ssthresh = 100, .rtt_us = 50000, .mss_bytes = 1000};
    CHECK_EQ(lfp_prague_pace(&w, 0), 2000000);
    CHECK_EQ(lfp_prague_pace(&w, 150), 3000000);
    w.ssthresh = 1000;
    CHECK_EQ(lfp_prague_pace(&w, 0), 4000000);
    w.rtt_us = 0;
    CHECK_EQ(lfp_prague_pace(&w, 0), 0);
}

int main(void)
{
    RUN(without_marks_a_round_trip_adds_a_segment);
    RUN(the_first_mark_ends_slow_start_with_half_of_the_window);
    RUN(alpha_follows_the_share_of_marks_with_a_sixteenth);
    RUN(marks_reduce_once_in_a_round_trip_by_half_of_alpha);
    RUN(two_marks_a_round_trip_hold_the_window);
    RUN(a_short_rtt_grows_as_a_flow_of_25_ms_would);
    RUN(a_loss_halves_and_marks_of_the_same_round_trip_count_towards_it);
    RUN(the_pace_is_a_window_a_round_trip);
    return 0;
}
