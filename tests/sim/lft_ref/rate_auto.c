/* A gateway that finds its rate by itself, round by round. It doubles the rate, yields to queues and losses, and then
 * continues carefully. */
#include "rate_auto.h"

#include <math.h>

#include "check.h"
#include "nc_clock.h"

#define MBIT 1000000
enum { RTT_MS = 40, FRAME = 1500 };

struct world {
    struct lft_rate_auto rate;
    struct lft_rate_round round;
    uint64_t base_us; /* base of the one-way delay, as the rate control has raised it */
};

static void start(struct world *world, uint64_t most_bps)
{
    *world = (struct world){.round = {.srtt_ns = RTT_MS * NC_NS_PER_MS}};
    lft_rate_auto_init(&world->rate, most_bps, 0);
}

/* One round trip: `arrived_bps` arrived, after a queue of `queue_ms`, and a share was lost. Returns the next rate. */
static uint64_t next(struct world *world, uint64_t arrived_bps, uint64_t queue_ms, double lost)
{
    uint64_t bytes = arrived_bps / 8 * RTT_MS / 1000, frames = bytes / FRAME;
    world->round.now_ns += RTT_MS * NC_NS_PER_MS;
    world->round.arrived_bytes += bytes;
    world->round.queue_ns = queue_ms * NC_NS_PER_MS;
    world->round.sent += frames;
    world->round.lost += (uint64_t)((double)frames * lost);
    lft_rate_auto_report(&world->rate, &world->round);
    return world->rate.rate_bps;
}

static void it_doubles_until_something_is_in_the_way(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    uint64_t first = world.rate.rate_bps;
    CHECK_EQ(next(&world, first, 0, 0), 2 * first);
    CHECK_EQ(next(&world, 2 * first, 0, 0), 4 * first);
    for (int i = 0; i < 20; i++)
        next(&world, world.rate.rate_bps, 0, 0);
    CHECK_EQ(world.rate.rate_bps, 1000 * MBIT); /* and not beyond the limit */
}

/* The new rate must be below the rate that arrived; otherwise the queue would stay. */
static void a_long_queue_makes_it_yield(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    while (world.rate.rate_bps < 80 * MBIT)
        next(&world, world.rate.rate_bps, 0, 0);
    CHECK(next(&world, 50 * MBIT, 30, 0) <= 45 * MBIT);
    CHECK(world.rate.rate_bps >= 40 * MBIT);
}

static void unusual_loss_makes_it_yield_and_usual_loss_does_not(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    while (world.rate.rate_bps < 80 * MBIT)
        next(&world, world.rate.rate_bps, 0, 0.01);
    uint64_t before = world.rate.rate_bps;
    CHECK(next(&world, before, 0, 0.01) > before);
    before = world.rate.rate_bps;
    CHECK(next(&world, before, 0, 0.2) <= before * 9 / 10);
}

static void after_the_first_time_it_grows_carefully_and_only_with_a_short_queue(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    next(&world, 40 * MBIT, 30, 0);
    uint64_t before = world.rate.rate_bps, after = next(&world, before, 0, 0);
    CHECK(after > before && after <= before * 11 / 10);
    CHECK_EQ(next(&world, after, 6, 0), after); /* a queue of 6 ms; the rate control allows 7.5 ms */
}

static void a_source_that_has_little_does_not_raise_it(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    uint64_t before = world.rate.rate_bps;
    world.round.limited_by_source = true;
    CHECK_EQ(next(&world, MBIT, 0, 0), before);
}

/* One round trip over a path whose one-way delay is now `delay_us` longer than at the start. */
static uint64_t next_delay(struct world *world, uint64_t arrived_bps, uint64_t delay_us)
{
    uint64_t bytes = arrived_bps / 8 * RTT_MS / 1000;
    world->round.now_ns += RTT_MS * NC_NS_PER_MS;
    world->round.arrived_bytes += bytes;
    world->base_us = delay_us < world->base_us ? delay_us : world->base_us;
    world->round.queue_ns = (delay_us - world->base_us) * NC_NS_PER_US;
    world->round.sent += bytes / FRAME;
    lft_rate_auto_report(&world->rate, &world->round);
    world->base_us += world->rate.base_rise_ns / NC_NS_PER_US;
    return world->rate.rate_bps;
}

/* If the queue were the gateway's own, it would shrink with the rate. */
static void a_delay_that_no_lower_rate_shortens_is_the_paths(void)
{
    for (uint64_t rise_us = 4000; rise_us <= 400000; rise_us = rise_us * 3 / 2) {
        struct world world;
        start(&world, 100 * MBIT);
        while (world.rate.rate_bps < 80 * MBIT)
            next_delay(&world, world.rate.rate_bps, 0);
        uint64_t before = world.rate.rate_bps;
        for (int i = 0; i < 7; i++)
            next_delay(&world, world.rate.rate_bps, rise_us);
        CHECK_EQ(world.base_us, 0); /* not at once */
        for (int i = 0; i < 12; i++)
            next_delay(&world, world.rate.rate_bps, rise_us);
        CHECK_EQ(world.base_us, rise_us);
        CHECK(world.rate.rate_bps >= before);
    }
}

/* The queue of a line of `line_bps` that only this gateway fills. It shrinks by the difference between the line's rate
 * and the gateway's. */
static void its_own_queue_is_never_the_paths(void)
{
    for (uint64_t line_bps = 5 * MBIT; line_bps <= 500 * MBIT; line_bps *= 3) {
        struct world world;
        start(&world, 1000 * MBIT);
        double queue_us = 0;
        for (int i = 0; i < 3000; i++) {
            uint64_t rate = world.rate.rate_bps;
            queue_us += ((double)rate / (double)line_bps - 1) * RTT_MS * 1000;
            queue_us = queue_us < 0 ? 0 : queue_us > 500000 ? 500000 : queue_us;
            next_delay(&world, queue_us > 0 ? line_bps : rate, (uint64_t)queue_us);
            CHECK_EQ(world.base_us, 0);
        }
    }
}

/* Next to a flow with a window, such as CUBIC, in a drop-tail queue. The line is full, and the other flow takes the
 * part of the rate that LFT leaves. Returns the other flow's share of the line over two minutes. */
static double share_of_a_competitor(double line_bps, double buffer_s, double *base_most_us)
{
    struct world world;
    double base_s = RTT_MS / 1e3, window = line_bps * base_s, top = window, since_s = 0, share = 0;
    const int rounds = 3000;
    start(&world, (uint64_t)line_bps);
    *base_most_us = 0;
    for (int i = 0; i < rounds; i++) {
        double own = (double)world.rate.rate_bps < 0.98 * line_bps ? (double)world.rate.rate_bps : 0.98 * line_bps;
        double queue_s = window / (line_bps - own) - base_s, k = cbrt(0.3 * top / (8 * FRAME) / 0.4);
        queue_s = queue_s < 0 ? 0 : queue_s > buffer_s ? buffer_s : queue_s;
        next_delay(&world, (uint64_t)own, (uint64_t)(queue_s * 1e6));
        *base_most_us = (double)world.base_us > *base_most_us ? (double)world.base_us : *base_most_us;
        share += fmin(window / (base_s + queue_s), line_bps - own) / line_bps / rounds;
        since_s += base_s;
        if (queue_s >= buffer_s) {
            top = window;
            window *= 0.7;
            since_s = 0;
        } else {
            window = top + 0.4 * pow(since_s - k, 3) * 8 * FRAME;
        }
    }
    return share;
}

static void it_goes_on_yielding_to_a_flow_that_keeps_a_queue(void)
{
    const struct {
        double line_bps, buffer_s;
    } cases[] = {{20e6, 0.04}, {100e6, 0.04}, {100e6, 0.1}, {400e6, 0.04}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double base_us, share = share_of_a_competitor(cases[i].line_bps, cases[i].buffer_s, &base_us);
        printf("line %.0f Mbit/s, buffer %.0f ms: the other has %.2f of it, base up to %.1f ms\n",
               cases[i].line_bps / 1e6, cases[i].buffer_s * 1e3, share, base_us / 1e3);
        CHECK(share > 0.75);
    }
}

int main(void)
{
    RUN(it_doubles_until_something_is_in_the_way);
    RUN(a_long_queue_makes_it_yield);
    RUN(unusual_loss_makes_it_yield_and_usual_loss_does_not);
    RUN(after_the_first_time_it_grows_carefully_and_only_with_a_short_queue);
    RUN(a_source_that_has_little_does_not_raise_it);
    RUN(its_own_queue_is_never_the_paths);
    RUN(a_delay_that_no_lower_rate_shortens_is_the_paths);
    RUN(it_goes_on_yielding_to_a_flow_that_keeps_a_queue);
    return 0;
}
