/* A third gateway with the same key comes and goes. The pair must work while the third gateway is there. If that
 * gateway has taken over the peer, the pair must work again after it has gone, within the time that FORMAT.md states.
 * No end may be "up" while nothing arrives. */
#include "link.h"

#include "world.h"

enum { NEAR, FAR, STRANGER };
#define DEAD_NS NC_NS_PER_S
/* FORMAT.md, "Another gateway with the same key". */
#define RETRY_NS (2 * NC_NS_PER_S)

static const struct lft_handshake_counters *counted(const struct world *world, int i)
{
    return lft_link_handshake_counters(world->link[i]);
}

/* How long the pair may take after the stranger was killed, or has closed its association. */
static uint64_t within_ns(const struct world *world, bool in_order)
{
    return (in_order ? 0 : DEAD_NS) + RETRY_NS + 5 * 2 * world->delay_ns;
}

static struct world *pair_apart(uint64_t delay_ns)
{
    struct world *world = world_create();
    world->delay_ns = delay_ns;
    world_run(world, NC_NS_PER_S);
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    return world;
}

static struct world *pair_up(void)
{
    return pair_apart(10 * NC_NS_PER_MS);
}

static void leave(struct world *world, int i)
{
    lft_link_destroy(world->link[i]);
    world->link[i] = NULL;
}

static bool lose_near(struct world *world, const struct seen *seen)
{
    (void)world;
    return seen->from == NEAR + 1 || seen->to == NEAR + 1;
}

/* The near gateway's path is cut until the stranger has the tunnel. */
static struct world *taken(void)
{
    struct world *world = pair_up();
    world_start(world, STRANGER, NULL);
    world->observer = lose_near;
    world_run(world, within_ns(world, false));
    CHECK(world_up(world, STRANGER, FAR) && world_carries(world, STRANGER, FAR, NC_NS_PER_S));
    world->observer = NULL;
    world_run(world, 5 * NC_NS_PER_S);
    return world;
}

static void the_pair_works_on_beside_a_stranger(void)
{
    struct world *world = pair_up();
    world_start(world, STRANGER, NULL);
    for (int i = 0; i < 12; i++) {
        world_run(world, 300 * NC_NS_PER_MS);
        CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, 100 * NC_NS_PER_MS));
        CHECK(!lft_link_ready(world->link[STRANGER]));
    }
    leave(world, STRANGER);
    world_run(world, 10 * NC_NS_PER_S);
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(lft_link_counters(world->link[i])->associations, 1);
        CHECK_EQ(lft_link_counters(world->link[i])->outages, 0);
    }
    world_free(world);
}

/* The far gateway reports the stranger and its address. The stranger reports why it does not come up. Both reports end
 * when the stranger has gone. */
static void each_end_says_that_there_is_another(void)
{
    struct world *world = pair_up();
    struct lft_address address;
    for (int i = 0; i < 2; i++)
        CHECK_EQ(lft_link_contention(world->link[i], world->now_ns, &address), LFT_LINK_ALONE);
    world_start(world, STRANGER, NULL);
    world_run(world, 4 * NC_NS_PER_S);
    CHECK_EQ(lft_link_contention(world->link[FAR], world->now_ns, &address), LFT_LINK_RIVAL);
    CHECK(address.n == 1 && address.at[0] == STRANGER + 1);
    CHECK(counted(world, FAR)->rivals > 0);
    CHECK_EQ(lft_link_contention(world->link[STRANGER], world->now_ns, &address), LFT_LINK_OCCUPIED);
    CHECK(address.n == 1 && address.at[0] == FAR + 1);
    CHECK(counted(world, STRANGER)->occupied > 0);
    CHECK_EQ(lft_link_contention(world->link[NEAR], world->now_ns, &address), LFT_LINK_ALONE);
    leave(world, STRANGER);
    world_run(world, 11 * NC_NS_PER_S);
    CHECK_EQ(lft_link_contention(world->link[FAR], world->now_ns, &address), LFT_LINK_ALONE);
    world_free(world);
}

static void expect_the_pair_back(struct world *world, uint64_t within)
{
    world_run(world, within);
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    CHECK(world_carries(world, FAR, NEAR, NC_NS_PER_S));
}

/* The stranger has the tunnel: the near gateway is not up and reports why. When the stranger was killed, or has closed
 * its association, the pair is up again in time. */
static void a_stranger_that_had_the_tunnel_leaves_it(void)
{
    for (int in_order = 0; in_order < 2; in_order++) {
        struct world *world = taken();
        struct lft_address address;
        CHECK(!lft_link_ready(world->link[NEAR]));
        CHECK_EQ(lft_link_contention(world->link[NEAR], world->now_ns, &address), LFT_LINK_OCCUPIED);
        CHECK_EQ(lft_link_contention(world->link[FAR], world->now_ns, &address), LFT_LINK_RIVAL);
        CHECK_EQ(address.at[0], NEAR + 1);
        if (in_order) {
            lft_link_close(world->link[STRANGER]);
            world_run(world, 5 * NC_NS_PER_MS);
        }
        leave(world, STRANGER);
        expect_the_pair_back(world, within_ns(world, in_order));
        world_free(world);
    }
}

/* The same, in steps of 17 ms relative to both ends' retries, on a short path and on a long one. */
static void it_may_leave_at_any_time(void)
{
    for (unsigned turn = 0; turn < 250; turn++) {
        uint64_t at_ms = 17 * (turn / 2);
        struct world *world = pair_apart(turn % 2 ? 150 * NC_NS_PER_MS : 10 * NC_NS_PER_MS);
        world_start(world, STRANGER, NULL);
        world->observer = lose_near;
        world_run(world, DEAD_NS + at_ms * NC_NS_PER_MS);
        world->observer = NULL;
        leave(world, STRANGER);
        expect_the_pair_back(world, within_ns(world, false));
        world_free(world);
    }
}

/* Another gateway takes over the address of either end for some seconds, while the gateway of that address is
 * stopped. */
static void another_at_the_same_address(void)
{
    for (int who = 0; who < 2; who++)
        for (unsigned seconds = 2; seconds < 9; seconds += 3) {
            struct world *world = pair_up();
            struct lft_link *own = world->link[who];
            world->link[who] = NULL;
            world_start(world, who, NULL);
            world_run(world, seconds * NC_NS_PER_S);
            CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
            leave(world, who);
            world->link[who] = own;
            expect_the_pair_back(world, within_ns(world, false));
            world_free(world);
        }
}

/* A peer that has restarted must be accepted: at its own address at once, at another address as soon as its old
 * association is silent. */
static void a_restarted_peer_is_no_stranger(void)
{
    struct world *world = pair_up();
    world_start(world, NEAR, NULL);
    world_run(world, 4 * world->delay_ns + 50 * NC_NS_PER_MS);
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    CHECK_EQ(counted(world, FAR)->rivals, 0);
    leave(world, NEAR);
    world_start(world, STRANGER, NULL);
    world_run(world, within_ns(world, false));
    CHECK(world_up(world, STRANGER, FAR) && world_carries(world, STRANGER, FAR, NC_NS_PER_S));
    world_free(world);
}

/* --- somebody without the key has recorded the stranger's messages --- */

static struct {
    size_t n;
    struct seen at[256];
} kept;

static bool keep(struct world *world, const struct seen *seen)
{
    (void)world;
    if (seen->from == STRANGER + 1 && world_type(seen->at, seen->n) == INIT_TYPE && kept.n < 256)
        kept.at[kept.n++] = *seen;
    return false;
}

/* While the peer is alive, none of these messages may create keys, delay new keys, or cause a report of another
 * address. */
static void recordings_of_a_refused_stranger_are_worth_nothing(void)
{
    struct world *world = world_create();
    struct lft_address address;
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = world_config(i);
        config.rekey_ns = 2 * NC_NS_PER_S;
        world_start(world, i, &config);
    }
    struct lft_link_config ahead = world_config(STRANGER); /* so that its INITs are never stale */
    ahead.handshake.clock_ns += 3600 * NC_NS_PER_S;
    kept.n = 0;
    world->observer = keep;
    world_start(world, STRANGER, &ahead);
    world_run(world, 20 * NC_NS_PER_S);
    leave(world, STRANGER);
    world->observer = NULL;
    world_run(world, 11 * NC_NS_PER_S);
    CHECK(kept.n > 5);
    uint64_t rivals = counted(world, FAR)->rivals, rekeys = lft_link_counters(world->link[FAR])->rekeys;
    for (unsigned ms = 0; ms < 10000; ms++) {
        for (unsigned i = 0; i < 20; i++) {
            const struct seen *seen = &kept.at[(ms * 20 + i) % kept.n];
            world_inject(world, FAR, (uint8_t)(100 + i), seen->at, seen->n);
        }
        world_run(world, NC_NS_PER_MS);
    }
    CHECK_EQ(counted(world, FAR)->rivals, rivals);
    CHECK_EQ(lft_link_contention(world->link[FAR], world->now_ns, &address), LFT_LINK_ALONE);
    CHECK(lft_link_counters(world->link[FAR])->rekeys >= rekeys + 4);
    CHECK_EQ(lft_link_counters(world->link[FAR])->associations, 1);
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    world_free(world);
}

/* The messages come while the peer is silent, and create keys that nobody confirms. The peer must be accepted again in
 * time. */
static void recordings_do_not_take_the_tunnel_of_a_silent_peer(void)
{
    struct world *world = pair_up();
    kept.n = 0;
    world->observer = keep;
    world_start(world, STRANGER, NULL);
    world_run(world, 5 * NC_NS_PER_S);
    leave(world, STRANGER);
    world->observer = lose_near;
    world_run(world, 3 * NC_NS_PER_S);
    for (size_t i = 0; i < kept.n; i++)
        world_inject(world, FAR, STRANGER + 1, kept.at[i].at, kept.at[i].n);
    world->observer = NULL;
    world_run(world, within_ns(world, false));
    CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
    CHECK_EQ(lft_link_counters(world->link[FAR])->associations, 1);
    world_free(world);
}

/* The stranger's clock is at the largest timestamp, or just before and after the timestamp that differs by half of the
 * range. */
static void no_timestamp_is_the_last(void)
{
    static const uint64_t last[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 1,
                                    UINT64_C(1800000000) * NC_NS_PER_S + INT64_MAX};
    for (size_t i = 0; i < sizeof last / sizeof last[0]; i++) {
        struct world *world = world_create();
        struct lft_link_config config = world_config(STRANGER);
        leave(world, NEAR);
        config.handshake.clock_ns = last[i] - world->now_ns;
        world_start(world, STRANGER, &config);
        world_run(world, RETRY_NS);
        CHECK(world_up(world, STRANGER, FAR));
        leave(world, STRANGER);
        world_run(world, DEAD_NS);
        world_start(world, NEAR, NULL);
        world_run(world, within_ns(world, false));
        CHECK(world_up(world, NEAR, FAR) && world_carries(world, NEAR, FAR, NC_NS_PER_S));
        world_free(world);
    }
}

int main(void)
{
    RUN(the_pair_works_on_beside_a_stranger);
    RUN(each_end_says_that_there_is_another);
    RUN(a_stranger_that_had_the_tunnel_leaves_it);
    RUN(it_may_leave_at_any_time);
    RUN(another_at_the_same_address);
    RUN(a_restarted_peer_is_no_stranger);
    RUN(recordings_of_a_refused_stranger_are_worth_nothing);
    RUN(recordings_do_not_take_the_tunnel_of_a_silent_peer);
    RUN(no_timestamp_is_the_last);
    return 0;
}
