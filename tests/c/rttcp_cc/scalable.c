/* lfp_scalable: one segment for a hundred acknowledged, and 7/8 of the window after a loss. */
#include "world.h"

#include "lfp_scalable.h"

static const struct lfp_scalable_params defaults = {LFP_SCALABLE_PARAMS(LFP_PARAM_DEFAULT)};

static void a_hundred_acknowledged_segments_are_one_more(void)
{
    struct lfp_scalable s = {0};
    struct lfp_window w = {.cwnd = 1000, .ssthresh = 1000};
    for (int i = 0; i < 5000; i++)
        lfp_scalable_acked(&s, &defaults, &w, 10);
    CHECK_NEAR(EXACT(w, s), 1500, 1e-3);
}

static void below_a_hundred_it_is_standard(void)
{
    struct lfp_scalable s = {0};
    struct lfp_window w = {.cwnd = 50, .ssthresh = 50};
    for (int i = 0; i < 50; i++)
        lfp_scalable_acked(&s, &defaults, &w, 1);
    CHECK_NEAR(EXACT(w, s), 51, 1e-3);
}

static void a_loss_keeps_seven_eighths(void)
{
    struct lfp_scalable s = {0};
    CHECK_EQ(lfp_scalable_lost(&s, &defaults, &(struct lfp_window){.cwnd = 800}), 700);
    CHECK_EQ(lfp_scalable_lost(&s, &defaults, &(struct lfp_window){.cwnd = 2}), 2);
}

static void recovery_takes_the_same_number_of_round_trips_at_any_window(void)
{
    for (u32 window = 1000; window <= 100000; window *= 10) {
        struct lfp_scalable s = {0};
        struct lfp_window w = {.cwnd = window};
        w.cwnd = w.ssthresh = lfp_scalable_lost(&s, &defaults, &w);
        int rounds = 0;
        for (; w.cwnd < window; rounds++)
            for (u32 left = w.cwnd; left; left -= lfp_min(left, 16))
                lfp_scalable_acked(&s, &defaults, &w, lfp_min(left, 16));
        CHECK(abs(rounds - (int)ceil(log(8.0 / 7) / log(1.01))) <= 1); /* log 8/7 / log 1.01 = 13.4 */
    }
}

int main(void)
{
    RUN(a_hundred_acknowledged_segments_are_one_more);
    RUN(below_a_hundred_it_is_standard);
    RUN(a_loss_keeps_seven_eighths);
    RUN(recovery_takes_the_same_number_of_round_trips_at_any_window);
    return 0;
}
