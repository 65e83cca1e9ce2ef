/* Two engines with endless data in both directions. The acknowledgements of both directions must still leave in
 * time. */
#include <string.h>

#include "check.h"
#include "engine.h"
#include "nc_clock.h"
#include "pool.h"

enum { PAYLOAD = 1000 };

static size_t fill(void *user, uint8_t *at, size_t room, uint64_t now_ns)
{
    (void)user, (void)room, (void)now_ns;
    memset(at, 1, PAYLOAD);
    return PAYLOAD;
}

static bool waiting(void *user)
{
    (void)user;
    return true;
}

static void deliver(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns)
{
    (void)user, (void)buffer, (void)payload, (void)length, (void)now_ns;
}

static struct lft_engine *engine_with_data(void)
{
    const struct lft_source source = {.fill = fill, .waiting = waiting, .deliver = deliver};
    const struct lft_engine_config config = {.recovery = LFT_SELECTIVE,
                                             .rate_bps = 100000000,
                                             .payload_max = 1438,
                                             .outer_bytes = 28,
                                             .padding_block = 4,
                                             .window_frames = 1 << 12,
                                             .tx_memory_bytes = 8 << 20,
                                             .rx_memory_bytes = 8 << 20,
                                             .initial_rtt_ns = 10 * NC_NS_PER_MS};
    return lft_engine_create(&config, &source, 0);
}

/* Delivers a frame as a network without loss or delay would. */
static void carry(struct lft_engine *to, const struct lft_frame *frame, uint64_t now_ns)
{
    uint8_t opened[2048];
    struct lft_frame arrived = *frame;
    CHECK(lft_engine_fresh(to, frame->counter));
    uint8_t *into = lft_command_carries_data(frame->command) ? lft_engine_rx_buffer(to)->at : opened;
    memcpy(into, frame->payload, frame->length);
    arrived.payload = into;
    lft_engine_receive(to, now_ns, &arrived);
}

static uint64_t acks(const struct lft_engine *engine)
{
    return lft_engine_counters(engine)->tx_frames[LFT_CLASS_ACK];
}

static void acknowledgements_do_not_wait_for_data(void)
{
    struct lft_engine *engine[2] = {engine_with_data(), engine_with_data()};
    uint64_t sent[2] = {0, 0};
    for (uint64_t ms = 1; ms <= 2000; ms++) {
        for (int i = 0; i < 2; i++) {
            struct lft_frame frame;
            while (lft_engine_poll(engine[i], ms * NC_NS_PER_MS, &frame))
                carry(engine[!i], &frame, ms * NC_NS_PER_MS);
        }
        for (int i = 0; ms % 20 == 0 && i < 2; i++) {
            CHECK(acks(engine[i]) > sent[i]);
            sent[i] = acks(engine[i]);
        }
    }
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(lft_engine_counters(engine[i])->timeouts, 0);
        CHECK(lft_engine_counters(engine[i])->tx_frames[LFT_CLASS_DATA] > 10000); /* of 23,000 that the limit allows */
        lft_engine_destroy(engine[i]);
    }
}

int main(void)
{
    RUN(acknowledgements_do_not_wait_for_data);
    return 0;
}
