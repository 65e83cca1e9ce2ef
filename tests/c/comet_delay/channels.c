/* Several channels at the bottleneck, in virtual time: each is a separate bottleneck, and together they output packets
 * in order of time. */
#include "channels.h"

#include <stdlib.h>

#include "check.h"
#include "nc_clock.h"
#include "random.h"

static struct models models_of(const struct params *params)
{
    struct models models = {.rate = {.kind = RATE_CONSTANT, .rate_bps = params->rate_bps}};
    struct nc_error error;
    CHECK_EQ(aqm_parse(*params->aqm ? params->aqm : "none", &models.aqm, &error), 0);
    return models;
}

static enum fate offer(struct channels *c, const struct params *params, const struct wire_packet *packet)
{
    struct models models = models_of(params);
    return channels_offer(c, params, &models, packet);
}

static struct wire_packet packet(uint64_t number, uint64_t flow, uint64_t time_ns, uint32_t bytes)
{
    return (struct wire_packet){.number = number, .flow = flow, .time_ns = time_ns, .l2_bytes = bytes};
}

static void take(struct channels *c, const struct params *params, uint64_t number, uint64_t flow, uint32_t bytes)
{
    struct wire_packet p = packet(number, flow, 0, bytes);
    CHECK_EQ(offer(c, params, &p), FATE_PASS);
}

/* The next packet must leave at this time, and not a nanosecond earlier. */
static void leaves(struct channels *c, const struct params *params, uint64_t number, uint64_t time_ns)
{
    struct wire_packet p;
    enum fate fate;
    struct models models = models_of(params);
    CHECK(!channels_next(c, params, &models, time_ns - 1, &p, &fate));
    CHECK_EQ(channels_turn_ns(c), time_ns);
    CHECK(channels_next(c, params, &models, time_ns, &p, &fate));
    CHECK_EQ(fate, FATE_PASS);
    CHECK_EQ(p.number, number);
    CHECK_EQ(p.time_ns, time_ns);
}

static void packets_in_turn_use_all_lines_at_once(void)
{
    struct params params = {.rate_bps = 8000000, .channels = 3, .balance = BALANCE_PACKET}; /* 1 µs a byte */
    struct channels c;
    channels_init(&c, 1);
    for (uint64_t i = 0; i < 6; i++)
        take(&c, &params, i, 0, 1000);
    CHECK_EQ(channels_occupancy(&c, 0), 6000);
    CHECK_EQ(c.peak_bytes, 6000);
    for (uint64_t i = 0; i < 6; i++)
        leaves(&c, &params, i, (1 + i / 3) * NC_NS_PER_MS);
    CHECK_EQ(channels_turn_ns(&c), UINT64_MAX);
    CHECK_EQ(channels_occupancy(&c, 2 * NC_NS_PER_MS), 0);
    CHECK_EQ(channels_sent(&c).bytes, 6000);
    CHECK_EQ(channels_sent(&c).busy_ns, 6 * NC_NS_PER_MS);
    channels_free(&c);
}

static void a_packet_in_an_empty_channel_overtakes(void)
{
    struct params params = {.rate_bps = 8000000, .channels = 2, .balance = BALANCE_PACKET};
    struct channels c;
    channels_init(&c, 1);
    take(&c, &params, 0, 0, 3000);
    take(&c, &params, 1, 0, 1000);
    leaves(&c, &params, 1, NC_NS_PER_MS);
    leaves(&c, &params, 0, 3 * NC_NS_PER_MS);
    channels_free(&c);
}

static void a_flow_has_one_channel_and_its_queue(void)
{
    struct params params = {.rate_bps = 8000000, .channels = 3, .balance = BALANCE_FLOW, .queue_bytes = 2000};
    struct channels c;
    channels_init(&c, 1);
    take(&c, &params, 0, 5, 1000);
    take(&c, &params, 1, 5, 1000);
    struct wire_packet third = packet(2, 5, 0, 1000);
    CHECK_EQ(offer(&c, &params, &third), FATE_QUEUE);
    take(&c, &params, 3, 4, 500); /* the neighbour's channel is free */
    leaves(&c, &params, 3, 500000);
    leaves(&c, &params, 0, NC_NS_PER_MS);
    leaves(&c, &params, 1, 2 * NC_NS_PER_MS);
    channels_free(&c);
}

static void channels_that_are_taken_away_send_what_they_hold(void)
{
    struct params params = {.rate_bps = 8000000, .channels = 2, .balance = BALANCE_PACKET};
    struct channels c;
    channels_init(&c, 1);
    for (uint64_t i = 0; i < 4; i++)
        take(&c, &params, i, 0, 1000);
    params.channels = 1;
    take(&c, &params, 4, 0, 1000);
    for (uint64_t i = 0; i < 5; i++)
        leaves(&c, &params, i, (1 + i / 2) * NC_NS_PER_MS);
    CHECK_EQ(channels_exit_ns(&c), 3 * NC_NS_PER_MS);
    channels_free(&c);
}

enum { PACKETS = 3000, CHANNELS = 5 };

struct outcome {
    uint64_t time_ns;
    enum fate fate;
};

static void take_out(struct channels *c, const struct params *params, uint64_t until_ns, struct outcome *outcomes,
                     uint64_t *last_ns)
{
    struct models models = models_of(params);
    struct wire_packet p;
    enum fate fate;
    while (channels_next(c, params, &models, until_ns, &p, &fate)) {
        outcomes[p.number] = (struct outcome){p.time_ns, fate};
        if (fate == FATE_PASS) {
            CHECK(p.time_ns >= *last_ns);
            *last_ns = p.time_ns;
        }
    }
}

/* Bursts of packets of flows 0 to 4: of all five flows, or of a single flow. */
static void run(const struct params *params, uint64_t seed, int only, struct outcome *outcomes)
{
    struct channels *c = malloc(sizeof *c);
    CHECK(c);
    channels_init(c, 1);
    uint64_t now_ns = 0, last_ns = 0;
    for (uint64_t i = 0; i < PACKETS; i++) {
        uint64_t draw = random_u64(random_key(seed, 0, 0), i);
        now_ns += draw % 4 ? 0 : draw % 1200000;
        struct wire_packet p = packet(i, (draw >> 32) % CHANNELS, now_ns, 100 + (uint32_t)(draw >> 40) % 1400);
        if (only >= 0 && p.flow != (uint64_t)only)
            continue;
        take_out(c, params, now_ns, outcomes, &last_ns);
        enum fate fate = offer(c, params, &p);
        if (fate != FATE_PASS)
            outcomes[i] = (struct outcome){now_ns, fate};
        take_out(c, params, now_ns, outcomes, &last_ns);
    }
    take_out(c, params, UINT64_MAX, outcomes, &last_ns);
    CHECK_EQ(channels_occupancy(c, UINT64_MAX), 0);
    channels_free(c);
    free(c);
}

/* Every packet must have the same fate, and leave at the same time, as if its flow had a bottleneck to itself. */
static void each_channel_is_a_bottleneck_of_its_own(void)
{
    static const struct params each[] = {
        {.rate_bps = 8000000, .queue_bytes = 20000},
        {.rate_bps = 8000000, .queue_packets = 20, .queue_drop = QUEUE_DROP_HEAD},
        {.rate_bps = 8000000, .queue_bytes = 90000, .aqm = "codel:target=5ms,interval=50ms"},
    };
    static struct outcome together[PACKETS], alone[PACKETS];
    for (size_t k = 0; k < sizeof each / sizeof each[0]; k++) {
        struct params params = each[k];
        for (int flow = 0; flow < CHANNELS; flow++)
            run(&params, k, flow, alone);
        params.channels = CHANNELS;
        run(&params, k, -1, together);
        uint64_t dropped = 0;
        for (uint64_t i = 0; i < PACKETS; i++) {
            CHECK_EQ(together[i].fate, alone[i].fate);
            if (alone[i].fate == FATE_PASS)
                CHECK_EQ(together[i].time_ns, alone[i].time_ns);
            dropped += alone[i].fate != FATE_PASS;
        }
        CHECK(dropped > PACKETS / 100 && dropped < PACKETS / 2);
    }
}

int main(void)
{
    RUN(packets_in_turn_use_all_lines_at_once);
    RUN(a_packet_in_an_empty_channel_overtakes);
    RUN(a_flow_has_one_channel_and_its_queue);
    RUN(channels_that_are_taken_away_send_what_they_hold);
    RUN(each_channel_is_a_bottleneck_of_its_own);
    return 0;
}
