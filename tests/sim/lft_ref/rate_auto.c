/* A gateway that finds its rate by itself, round by round: it doubles, yields to queue and loss, and goes on
 * carefully. */
#include "rate_auto.h"

#include "check.h"
#include "nc_clock.h"

#define MBIT 1000000
enum { RTT_MS = 40, FRAME = 1500 };

struct world {
    struct lft_rate_auto rate;
    struct lft_rate_round round;
};

static void start(struct world *world, uint64_t most_bps)
{
    *world = (struct world){.round = {.srtt_ns = RTT_MS * NC_NS_PER_MS}};
    lft_rate_auto_init(&world->rate, most_bps, 0);
}

/* One round trip in which `arrived_bps` came through behind a queue of `queue_ms`, and a share was lost. Returns the
 * next rate. */
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

/* Below what came through, or the queue would stay. */
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
    CHECK_EQ(next(&world, after, 6, 0), after); /* of the 7.5 ms that it allows */
}

static void a_source_that_has_little_does_not_raise_it(void)
{
    struct world world;
    start(&world, 1000 * MBIT);
    uint64_t before = world.rate.rate_bps;
    world.round.limited_by_source = true;
    CHECK_EQ(next(&world, MBIT, 0, 0), before);
}

int main(void)
{
    RUN(it_doubles_until_something_is_in_the_way);
    RUN(a_long_queue_makes_it_yield);
    RUN(unusual_loss_makes_it_yield_and_usual_loss_does_not);
    RUN(after_the_first_time_it_grows_carefully_and_only_with_a_short_queue);
    RUN(a_source_that_has_little_does_not_raise_it);
    return 0;
}
