/* An engine while its tunnel is down. With each kind of recovery, a time-out may retransmit one frame; the rest waits
 * until the tunnel is up again. */
#include <string.h>

#include "check.h"
#include "engine.h"
#include "nc_clock.h"

enum { FRAMES = 1000, PAYLOAD = 1000 };

static size_t fill(void *user, uint8_t *at, size_t room, uint64_t now_ns)
{
    unsigned *left = user;
    (void)room, (void)now_ns;
    if (!*left)
        return 0;
    --*left;
    memset(at, 1, PAYLOAD);
    return PAYLOAD;
}

static bool waiting(void *user)
{
    return *(unsigned *)user > 0;
}

static void deliver(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns)
{
    (void)user, (void)buffer, (void)payload, (void)length, (void)now_ns;
}

/* Polls for this long, as a loop would. Returns the number of retransmitted frames. */
static uint64_t repeated(struct lft_engine *engine, uint64_t *now_ns, uint64_t ns)
{
    uint64_t before = lft_engine_counters(engine)->tx_frames[LFT_CLASS_RETRANSMISSION], polls = 0;
    struct lft_frame frame;
    for (uint64_t end_ns = *now_ns + ns; *now_ns < end_ns; polls++) {
        while (lft_engine_poll(engine, *now_ns, &frame)) {
        }
        uint64_t next_ns = lft_engine_next_ns(engine, *now_ns);
        *now_ns = next_ns < *now_ns + NC_NS_PER_MS ? *now_ns + NC_NS_PER_MS : next_ns;
    }
    CHECK(polls < ns / NC_NS_PER_MS / 4); /* it sleeps meanwhile */
    return lft_engine_counters(engine)->tx_frames[LFT_CLASS_RETRANSMISSION] - before;
}

static void one_frame_a_time_out(void)
{
    for (int recovery = 0; recovery < LFT_RECOVERIES; recovery++) {
        unsigned left = FRAMES;
        uint64_t now_ns = 1;
        const struct lft_source source = {.fill = fill, .waiting = waiting, .deliver = deliver, .user = &left};
        const struct lft_engine_config config = {.recovery = (enum lft_recovery)recovery,
                                                 .payload_max = 1438,
                                                 .outer_bytes = 28,
                                                 .padding_block = 4,
                                                 .window_frames = 1 << 12,
                                                 .tx_memory_bytes = 8 << 20,
                                                 .rx_memory_bytes = 8 << 20,
                                                 .initial_rtt_ns = 100 * NC_NS_PER_MS};
        struct lft_engine *engine = lft_engine_create(&config, &source, 0);
        struct lft_frame frame;
        while (lft_engine_poll(engine, now_ns, &frame)) {
        }
        CHECK_EQ(left, 0);
        lft_engine_set_running(engine, false);
        uint64_t timeouts = lft_engine_counters(engine)->timeouts, again = repeated(engine, &now_ns, 20 * NC_NS_PER_S);
        timeouts = lft_engine_counters(engine)->timeouts - timeouts;
        if (again < 10 || again > timeouts)
            fprintf(stderr, "%s: %llu frames sent again in %llu time-outs\n", lft_recovery_names[recovery],
                    (unsigned long long)again, (unsigned long long)timeouts);
        CHECK(again >= 10 && again <= timeouts);
        lft_engine_destroy(engine);
    }
}

int main(void)
{
    RUN(one_frame_a_time_out);
    return 0;
}
