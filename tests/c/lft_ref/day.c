/* A day of virtual time with new keys every two minutes, at 10 % loss: every octet of a slow stream arrives, in order,
 * in one association. */
#include "link.h"

#include "world.h"

#define DAY (24 * 3600 * NC_NS_PER_S)
#define PERIOD (2 * NC_NS_PER_S)

struct stream_check {
    uint64_t wrote, read;
};

static uint8_t octet_at(uint64_t offset)
{
    return (uint8_t)(offset * 2654435761u >> 11);
}

static void write_some(struct lft_stream *stream, struct stream_check *check, size_t n)
{
    uint8_t octets[64];
    for (size_t i = 0; i < n; i++)
        octets[i] = octet_at(check->wrote + i);
    CHECK_EQ(lft_stream_write(stream, octets, n), n);
    check->wrote += n;
}

static void read_some(struct world *world, struct lft_stream *stream, struct stream_check *check)
{
    struct iovec piece;
    while (lft_stream_read_view(stream, &piece, 1)) {
        for (size_t i = 0; i < piece.iov_len; i++, check->read++)
            CHECK_EQ(((const uint8_t *)piece.iov_base)[i], octet_at(check->read));
        lft_stream_consumed(stream, piece.iov_len, world->now_ns);
    }
}

static struct world *start(struct lft_stream *stream[2])
{
    static const struct lft_open where = {.family = LFT_FAMILY_IPV4, .destination = {10, 0, 0, 1}};
    struct world *world = world_create();
    unsigned events;
    world->seeded = seeded_start();
    world->delay_ns = 100 * NC_NS_PER_MS;
    for (int i = 0; i < 2; i++) {
        struct lft_link_config config = world_config(i);
        config.rekey_ns = 120 * NC_NS_PER_S;
        config.dead_ns = 20 * NC_NS_PER_S;
        config.engine.keepalive_ns = 2 * NC_NS_PER_S;
        world_start(world, i, &config);
    }
    world->lost_of_1000 = 100;
    world_run(world, 10 * NC_NS_PER_S);
    stream[0] = lft_stream_open(lft_link_session(world->link[0]), &where, NULL);
    CHECK(stream[0]);
    world_run(world, 10 * NC_NS_PER_S);
    stream[1] = lft_session_event(lft_link_session(world->link[1]), &events);
    CHECK(stream[1] && events & LFT_EVENT_OPENED);
    lft_stream_accept(stream[1]);
    return world;
}

int main(void)
{
    struct lft_stream *stream[2];
    struct stream_check check = {0};
    struct world *world = start(stream);
    uint64_t end_ns = world->now_ns + DAY;
    while (world->now_ns < end_ns) {
        write_some(stream[0], &check, 1 + seeded_below(&world->seeded, 64));
        world_run(world, PERIOD);
        read_some(world, stream[1], &check);
    }
    world_run(world, 20 * NC_NS_PER_S);
    read_some(world, stream[1], &check);
    CHECK_EQ(check.read, check.wrote);
    const struct lft_link_counters *near = lft_link_counters(world->link[0]), *far = lft_link_counters(world->link[1]);
    printf("%llu octets, %llu and %llu rekeys\n", (unsigned long long)check.wrote, (unsigned long long)near->rekeys,
           (unsigned long long)far->rekeys);
    CHECK(far->rekeys >= 24 * 30 - 40); /* a lost message delays a rekey by seconds */
    CHECK(near->associations == 1 && far->associations == 1 && near->outages + far->outages == 0);
    CHECK_EQ(near->keys_rejected + far->keys_rejected, 0);
    world_free(world);
    return 0;
}
