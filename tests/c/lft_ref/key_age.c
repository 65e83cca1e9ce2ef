/* How old keys may become, and when an end accepts a new address of its peer. */
#include "link.h"
#include "world.h"

static bool lose_handshakes(struct world *world, const struct seen *seen)
{
    (void)world;
    return world_type(seen->at, seen->n) != 0;
}

/* Frames pass but handshakes do not. After rekey + 60 s no frame is sent or accepted under the old keys. When
 * handshakes pass again, the association and its streams continue. */
static void overdue_keys_are_rejected(void)
{
    struct world *world = world_create();
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = world_config(i);
        config.rekey_ns = 10 * NC_NS_PER_S;
        config.outage_max_ns = 3600 * NC_NS_PER_S;
        world_start(world, i, &config);
    }
    world_run(world, NC_NS_PER_S);
    world->observer = lose_handshakes;
    world_run(world, 68 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1));
    world_run(world, 3 * NC_NS_PER_S);
    CHECK(!world_up(world, 0, 1));
    for (int i = 0; i < 2; i++)
        CHECK_EQ(lft_link_counters(world->link[i])->keys_rejected, 1);
    uint64_t frames = lft_engine_counters(lft_link_engine(world->link[1]))->rx_frames;
    world_run(world, 10 * NC_NS_PER_S);
    CHECK_EQ(lft_engine_counters(lft_link_engine(world->link[1]))->rx_frames, frames);
    world->observer = NULL;
    world_run(world, 5 * NC_NS_PER_S);
    CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
    CHECK_EQ(lft_link_counters(world->link[1])->associations, 1);
    world_free(world);
}

/* Keys age while the machine is suspended, although its clock stands still. After rekey + 60 s no frame is sent under
 * the old keys; before that, new keys are made. The association continues. */
static void keys_age_while_the_machine_is_suspended(void)
{
    for (int late = 0; late < 2; late++) {
        struct world *world = world_create();
        for (int i = 0; i < 2; i++) {
            struct lft_link_config config = world_config(i);
            config.rekey_ns = 3600 * NC_NS_PER_S;
            world_start(world, i, &config);
        }
        world_run(world, 10 * NC_NS_PER_S);
        world->observer = lose_handshakes;
        lft_link_suspended(world->link[0], (3600 + (late ? 60 : 0)) * NC_NS_PER_S);
        world_run(world, 500 * NC_NS_PER_MS);
        CHECK_EQ(lft_link_counters(world->link[0])->keys_rejected, late);
        world->observer = NULL;
        world_run(world, 5 * NC_NS_PER_S);
        CHECK_EQ(lft_link_counters(world->link[0])->rekeys, 1);
        CHECK_EQ(lft_link_counters(world->link[0])->associations, 1);
        CHECK(world_up(world, 0, 1) && world_carries(world, 0, 1, NC_NS_PER_S));
        world_free(world);
    }
}

/* The end that wants new keys sooner decides. */
static void the_shorter_interval_counts(void)
{
    struct world *world = world_create();
    struct lft_link_config config = world_config(1);
    config.rekey_ns = 2 * NC_NS_PER_S;
    world_start(world, 1, &config);
    world_run(world, 11 * NC_NS_PER_S);
    CHECK(lft_link_counters(world->link[0])->rekeys >= 4);
    CHECK_EQ(lft_link_counters(world->link[0])->rekeys, lft_link_counters(world->link[1])->rekeys);
    world_free(world);
}

/* The initiator's frames begin to come from another address: the responder follows the newest frame. */
static void a_peer_that_moves_is_followed(void)
{
    struct world *world = world_create();
    world_run(world, NC_NS_PER_S);
    struct lft_link *moved = world->link[0];
    world->link[0] = NULL;
    world->link[2] = moved;
    world_run(world, 3 * NC_NS_PER_S);
    CHECK_EQ(lft_link_peer(world->link[1]).at[0], 3);
    CHECK_EQ(lft_link_counters(world->link[1])->peer_moves, 1);
    CHECK(world_up(world, 2, 1) && world_carries(world, 2, 1, NC_NS_PER_S));
    world_free(world);
}

int main(void)
{
    RUN(overdue_keys_are_rejected);
    RUN(keys_age_while_the_machine_is_suspended);
    RUN(the_shorter_interval_counts);
    RUN(a_peer_that_moves_is_followed);
    return 0;
}
