/* A direction whose impairments apply only to some packets, in virtual time. These packets are hit with the requested
 * share. The others meet only delay, rate and queue. */
#include <math.h>

#include "check.h"
#include "nc_clock.h"
#include "packets.h"
#include "random.h"
#include "rig.h"
#include "seeded.h"

enum { PARTS = 10, SEGMENTS = 4000 };

/* TCP packets that left: with payload (of any size) and without. */
struct left {
    uint64_t data, acks, last_ns;
};

static void see(const struct rig_frame *frame, uint64_t time_ns, void *context)
{
    struct left *left = context;
    left->data += (frame->payload_len + RIG_MSS - 1) / RIG_MSS;
    left->acks += frame->payload_len == 0;
    left->last_ns = time_ns;
}

/* Super-packets of 10 segments, each followed by an ACK. One such pair is sent per millisecond. */
static struct left pass(struct direction *d)
{
    struct left left = {0};
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        rig_take(d, i * PARTS * RIG_MSS, PARTS * RIG_MSS, i * NC_NS_PER_MS);
        rig_take(d, (i + 1) * PARTS * RIG_MSS, 0, i * NC_NS_PER_MS);
    }
    rig_drain(d, see, &left);
    CHECK_EQ(d->pool.held_bytes, 0);
    return left;
}

static struct direction *make(struct params params, uint64_t seed)
{
    struct direction *d = rig_make(params, 50000);
    for (unsigned stage = 0; stage < RANDOM_STAGES; stage++)
        d->keys[stage] = random_key(seed, 0, stage);
    return d;
}

/* Within five standard deviations of the binomial distribution: a seed in two million is outside. */
static void binomial(const char *what, uint64_t got, double n, double share)
{
    double bound = 5 * sqrt(n * share * (1 - share));
    if (fabs((double)got - n * share) <= bound)
        return;
    fprintf(stderr, "%s: %llu of %.0f, want %.0f ± %.0f\n", what, (unsigned long long)got, n, n * share, bound);
    exit(1);
}

static void loss_of_data_takes_a_tenth_of_the_data_and_no_ack(void)
{
    struct seeded seeded = seeded_start();
    const double data = SEGMENTS * PARTS;
    struct direction *d = make((struct params){.only = "data", .loss = "10%"}, seeded_next(&seeded));
    struct left left = pass(d);
    CHECK_EQ(left.acks, SEGMENTS);
    CHECK_EQ(left.data + d->stats.drops[FATE_LOSS], SEGMENTS * PARTS);
    CHECK_EQ(d->loss.count.packets, SEGMENTS * PARTS);
    CHECK_EQ(d->loss.count.lost, d->stats.drops[FATE_LOSS]);
    binomial("lost data packets", d->stats.drops[FATE_LOSS], data, 0.1);
    rig_drop(d);

    d = make((struct params){.only = "ack-only", .loss_after = "10%"}, seeded_next(&seeded));
    left = pass(d);
    CHECK_EQ(left.data, SEGMENTS * PARTS);
    binomial("lost ACKs", SEGMENTS - left.acks, SEGMENTS, 0.1);
    rig_drop(d);
}

static void bursts_take_their_share_of_the_packets_chosen(void)
{
    struct seeded seeded = seeded_start();
    struct direction *d = make((struct params){.only = "ack-only", .loss = "gilbert:10%,3"}, seeded_next(&seeded));
    struct left left = pass(d);
    CHECK_EQ(left.data, SEGMENTS * PARTS);
    /* an ACK every 11 packets: neighbours correlate by 0.63^11, which widens the interval by 0.6 % */
    binomial("ACKs lost in bursts", SEGMENTS - left.acks, SEGMENTS, 0.1);
    rig_drop(d);
}

static void each_model_of_harm_concerns_the_packets_chosen_alone(void)
{
    const uint64_t data = SEGMENTS * PARTS, acks = SEGMENTS;
    const struct params harms[] = {
        {.only = "data", .duplicate_ppb = NC_RATIO_ONE},
        {.only = "ack-only", .duplicate_ppb = NC_RATIO_ONE},
        {.only = "data", .corrupt_ppb = NC_RATIO_ONE},
        {.only = "data", .forge_ppb = NC_RATIO_ONE},
        {.only = "ack-only", .reorder_ppb = NC_RATIO_ONE, .reorder_by_ns = 10000},
    };
    const uint64_t hits[][4] = {{data}, {acks}, {0, data}, {0, 0, data}, {0, 0, 0, acks}};
    for (size_t i = 0; i < sizeof harms / sizeof harms[0]; i++) {
        struct direction *d = make(harms[i], i);
        struct left left = pass(d);
        CHECK_EQ(d->stats.duplicated, hits[i][0]);
        CHECK_EQ(d->stats.corrupted, hits[i][1]);
        CHECK_EQ(d->stats.forged, hits[i][2]);
        CHECK_EQ(d->stats.reordered, hits[i][3]);
        CHECK_EQ(left.data, i == 0 ? 2 * data : data);
        CHECK_EQ(left.acks, i == 1 ? 2 * acks : acks);
        rig_drop(d);
    }
}

/* The shortest and the longest delay of packets with payload, and of packets without. */
struct delays {
    uint64_t data_least, data_most, acks_least, acks_most;
};

static void see_delay(const struct rig_frame *frame, uint64_t time_ns, void *context)
{
    struct delays *delays = context;
    uint64_t delay_ns = time_ns % (100 * NC_NS_PER_MS); /* packets come at multiples of this */
    uint64_t *least = frame->payload_len ? &delays->data_least : &delays->acks_least;
    uint64_t *most = frame->payload_len ? &delays->data_most : &delays->acks_most;
    *least = delay_ns < *least ? delay_ns : *least;
    *most = delay_ns > *most ? delay_ns : *most;
}

static void jitter_is_that_of_the_packets_chosen(void)
{
    struct direction *d = make(
        (struct params){
            .only = "ack-only", .delay_ns = 20 * NC_NS_PER_MS, .jitter = "5ms", .jitter_order = JITTER_REORDERS},
        3);
    struct delays delays = {UINT64_MAX, 0, UINT64_MAX, 0};
    for (uint32_t i = 0; i < 1000; i++) {
        rig_take(d, i, RIG_MSS, i * 100 * NC_NS_PER_MS);
        rig_take(d, i, 0, i * 100 * NC_NS_PER_MS);
    }
    rig_drain(d, see_delay, &delays);
    CHECK_EQ(delays.data_least, 20 * NC_NS_PER_MS);
    CHECK_EQ(delays.data_most, 20 * NC_NS_PER_MS);
    CHECK(delays.acks_least >= 15 * NC_NS_PER_MS && delays.acks_least < 16 * NC_NS_PER_MS);
    CHECK(delays.acks_most <= 25 * NC_NS_PER_MS && delays.acks_most > 24 * NC_NS_PER_MS);
    CHECK_EQ(d->jitter.drawn.n, 1000);
    CHECK_EQ(d->jitter.added.n, 1000);
    rig_drop(d);
}

/* A super-packet of three and a half segments, with FIN. */
static void take_with_fin(struct direction *d)
{
    struct packet_buffer *packet = direction_reserve(d);
    CHECK(packet);
    uint32_t len = make_tcp4(packet->data, 0, 3 * RIG_MSS + 700, RIG_MSS);
    packet->data[NC_VNET_LEN + 14 + 20 + 13] |= NC_TCP_FIN;
    direction_take(d, packet, len, 0);
}

static void the_parts_of_a_super_packet_are_told_apart(void)
{
    const struct {
        const char *only;
        uint64_t lost;
    } rows[] = {{"fin", 1},           {"!fin", 3},          {"max-size=754", 1}, {"max-size=753", 0},
                {"min-size=1502", 3}, {"min-size=1503", 0}, {"data", 4},         {"ack-only", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct params params = {.loss = "100%"};
        snprintf(params.only, sizeof params.only, "%s", rows[i].only);
        struct direction *d = make(params, 1);
        struct left left = {0};
        take_with_fin(d);
        rig_drain(d, see, &left);
        CHECK_EQ(d->stats.drops[FATE_LOSS], rows[i].lost);
        CHECK_EQ(left.data, 4 - rows[i].lost);
        rig_drop(d);
    }
}

/* The bytes of the flow are counted from its first packet on, although the model does not apply to that packet. */
static void models_of_tcp_know_the_packets_that_they_do_not_concern(void)
{
    struct direction *d = make((struct params){.only = "max-size=754", .loss = "seq:4345"}, 1);
    take_with_fin(d);
    struct left left = {0};
    rig_drain(d, see, &left);
    CHECK_EQ(d->stats.drops[FATE_LOSS], 1);
    CHECK_EQ(d->loss.count.packets, 1);
    rig_drop(d);
}

static void rate_and_queue_concern_all(void)
{
    struct params params = {.rate_bps = 12000000, .queue_packets = 5, .only = "udp", .loss = "100%", .jitter = "1ms"};
    struct direction *d = make(params, 1);
    struct left left = {0};
    rig_take(d, 0, PARTS * RIG_MSS, 0);
    rig_drain(d, see, &left);
    CHECK_EQ(d->stats.drops[FATE_LOSS], 0);
    CHECK_EQ(d->stats.drops[FATE_QUEUE], 5);
    CHECK_EQ(left.data, 5);
    uint64_t bits = 5 * (RIG_MSS + RIG_HEADERS) * 8;
    CHECK_EQ(left.last_ns, bits * NC_NS_PER_S / params.rate_bps);
    rig_drop(d);
}

static void another_filter_counts_anew_and_holds_from_the_next_packet_on(void)
{
    struct direction *d = make((struct params){.only = "data", .loss = "time:0s-1s"}, 1);
    struct params params = d->params;
    struct models models;
    struct nc_error error;
    rig_take(d, 0, PARTS * RIG_MSS, 1000);
    CHECK_EQ(d->loss.count.lost, PARTS);
    snprintf(params.only, sizeof params.only, "ack-only");
    CHECK_EQ(models_rebuild(&params, &d->params, &d->models, &models, &error), 0);
    direction_set(d, &params, &models, NC_NS_PER_MS);
    CHECK_EQ(d->loss.count.packets, 0);
    rig_take(d, 0, PARTS * RIG_MSS, 2 * NC_NS_PER_MS);
    rig_take(d, 0, 0, 3 * NC_NS_PER_MS);
    rig_take(d, 0, 0, NC_NS_PER_S); /* the outage ends as scheduled: a second after its own beginning */
    CHECK_EQ(d->loss.count.packets, 2);
    CHECK_EQ(d->loss.count.lost, 1);
    rig_drop(d);
}

int main(void)
{
    RUN(loss_of_data_takes_a_tenth_of_the_data_and_no_ack);
    RUN(bursts_take_their_share_of_the_packets_chosen);
    RUN(each_model_of_harm_concerns_the_packets_chosen_alone);
    RUN(jitter_is_that_of_the_packets_chosen);
    RUN(the_parts_of_a_super_packet_are_told_apart);
    RUN(models_of_tcp_know_the_packets_that_they_do_not_concern);
    RUN(rate_and_queue_concern_all);
    RUN(another_filter_counts_anew_and_holds_from_the_next_packet_on);
    return 0;
}
