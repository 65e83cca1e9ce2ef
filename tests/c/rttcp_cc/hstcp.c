/* lfp_hstcp's table against the response function of RFC 3649, section 5. */
#include "world.h"

#include "lfp_hstcp.h"

static double b(double w)
{
    return (0.1 - 0.5) * (log(w) - log(38)) / (log(83000) - log(38)) + 0.5;
}

static double a(double w)
{
    return w * w * 0.078 / pow(w, 1.2) * 2 * b(w) / (2 - b(w));
}

static void rows_are_where_the_response_function_passes_whole_numbers(void)
{
    for (u32 row = 1; row < LFP_HSTCP_ROWS; row++) {
        double window = lfp_hstcp_table[row].window;
        CHECK(fabs(a(window) - (row + 1)) < 0.05); /* the RFC printed its table from rounded constants */
        CHECK(fabs(b(window) * 100 - lfp_hstcp_table[row].b_percent) <= 0.5001);
    }
}

static void every_window_has_the_row_that_bounds_it(void)
{
    for (u32 window = 1; window < 100000; window++) {
        u32 row = lfp_hstcp_row(window);
        CHECK(row < LFP_HSTCP_ROWS);
        CHECK(row == LFP_HSTCP_ROWS - 1 || lfp_hstcp_table[row].window >= window);
        CHECK(row == 0 || lfp_hstcp_table[row - 1].window < window);
    }
}

static void growth_a_round_trip_is_a_and_by_acks_half_of_it(void)
{
    for (u32 window = 20; window < 60000; window = window * 3 / 2) {
        struct lfp_hstcp_params by_ack = {0}, by_segment = {.per_segment = LFP_ONE};
        for (int delayed = 0; delayed < 2; delayed++) {
            struct lfp_hstcp s = {0};
            struct lfp_window w = {.cwnd = window, .ssthresh = window};
            for (u32 acks = window / 2; acks; acks--)
                lfp_hstcp_acked(&s, delayed ? &by_ack : &by_segment, &w, 2);
            double growth = (EXACT(w, s) - window) * (delayed ? 2 : 1);
            CHECK(fabs(growth - fmax(a(window), 1)) <= 1 + 0.05 * growth); /* a row is one segment wide */
        }
    }
}

static void a_loss_gives_up_b(void)
{
    struct lfp_hstcp s = {0};
    struct lfp_hstcp_params p = {0};
    for (u32 window = 4; window < 83000; window = window * 5 / 4) {
        u32 kept = lfp_hstcp_lost(&s, &p, &(struct lfp_window){.cwnd = window});
        double want = window * (1 - fmin(0.5, b(window)));
        CHECK(fabs(kept - want) <= 1 + 0.06 * window); /* between the first rows b falls by 0.06 */
    }
}

int main(void)
{
    RUN(rows_are_where_the_response_function_passes_whole_numbers);
    RUN(every_window_has_the_row_that_bounds_it);
    RUN(growth_a_round_trip_is_a_and_by_acks_half_of_it);
    RUN(a_loss_gives_up_b);
    return 0;
}
