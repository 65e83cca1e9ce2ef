/* The table of lfp_hstcp, compared with the response function of RFC 3649, section 5. */
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
    struct lfp_hstcp_params p = {0};
    for (u32 window = 4; window < 83000; window = window * 5 / 4) {
        struct lfp_hstcp s = {0};
        lfp_hstcp_acked(&s, &p, &(struct lfp_window){.cwnd = window, .ssthresh = window}, 1);
        u32 kept = lfp_hstcp_lost(&s, &p, &(struct lfp_window){.cwnd = window});
        double want = window * (1 - fmin(0.5, b(window)));
        CHECK(fabs(kept - want) <= 1 + 0.06 * window); /* between the first rows of the table, b falls by 0.06 */
    }
}

/* A model of the kernel's tcp_highspeed.c: it counts whole segments, keeps the table row of the last growth, and has b
 * in units of 1/256. */
struct kernels {
    u32 cwnd, ssthresh, count, row;
};

static void kernels_acked(struct kernels *k, u32 acked)
{
    if (k->cwnd < k->ssthresh) {
        k->cwnd += lfp_min(acked, k->ssthresh - k->cwnd);
        return;
    }
    k->row = lfp_hstcp_row(k->cwnd);
    k->count += k->row + 1;
    if (k->count >= k->cwnd) {
        k->count -= k->cwnd;
        k->cwnd++;
    }
}

static void kernels_lost(struct kernels *k)
{
    u32 md = (u32)round(lfp_hstcp_table[k->row].b_percent * 2.56);
    k->cwnd = k->ssthresh = lfp_max(k->cwnd - (k->cwnd * md >> 8), 2);
    k->count = 0;
}

static void it_goes_with_the_kernels_module_through_slow_start_and_losses(void)
{
    const u32 losses[] = {3000, 30000, 90000, 91000, 300000}; /* in ACKs of two segments; the first ACK ends slow
                                                               * start */
    struct lfp_hstcp s = {0};
    struct lfp_hstcp_params p = {0};
    struct lfp_window w = {.cwnd = 10, .ssthresh = UINT32_MAX};
    struct kernels k = {.cwnd = 10, .ssthresh = UINT32_MAX};
    for (u32 ack = 0, next = 0; ack < 400000; ack++) {
        lfp_hstcp_acked(&s, &p, &w, 2);
        kernels_acked(&k, 2);
        if (next < 5 && ack == losses[next]) {
            next++;
            w.cwnd = w.ssthresh = lfp_hstcp_lost(&s, &p, &w);
            kernels_lost(&k);
            if (next == 1)
                CHECK_EQ(w.cwnd, 3006);
        }
        CHECK_NEAR(w.cwnd, k.cwnd, 0.02);
    }
}

int main(void)
{
    RUN(it_goes_with_the_kernels_module_through_slow_start_and_losses);
    RUN(rows_are_where_the_response_function_passes_whole_numbers);
    RUN(every_window_has_the_row_that_bounds_it);
    RUN(growth_a_round_trip_is_a_and_by_acks_half_of_it);
    RUN(a_loss_gives_up_b);
    return 0;
}
