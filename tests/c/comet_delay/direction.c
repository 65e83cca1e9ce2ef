/* A whole direction in virtual time: super-packets go in, the models act on wire packets, and runs come out. */
#include "direction.h"

#include <math.h>

#include "check.h"
#include "direction_stats.h"
#include "packets.h"
#include "random.h"
#include "rig.h"

static void a_super_packet_without_a_model_leaves_whole(void)
{
    struct direction *d = rig_make((struct params){.delay_ns = 1000000}, 50000);
    struct nc_run run;
    rig_take(d, 1000, 10 * RIG_MSS, 5);
    CHECK_EQ(direction_next_ns(d), 1000005);
    CHECK(direction_due(d, 1000004, &run) == NULL);
    CHECK(direction_due(d, 1000005, &run) != NULL);
    CHECK_EQ(rig_flat(&run)->payload_len, 10 * RIG_MSS);
    direction_sent(d, 1000025, true);
    CHECK_EQ(d->stats.in_packets, 10);
    CHECK_EQ(d->stats.out_packets, 10);
    CHECK_EQ(d->stats.out_bytes, 10 * (RIG_MSS + RIG_HEADERS));
    CHECK_EQ(d->stats.in_bytes, d->stats.out_bytes);
    CHECK_EQ(d->stats.lateness.max, 20);
    CHECK_EQ(d->pool.held_bytes, 0);
    CHECK_EQ(direction_next_ns(d) == UINT64_MAX, 1);
    rig_drop(d);
}

static void at_a_low_rate_every_wire_packet_leaves_at_its_own_time(void)
{
    struct direction *d = rig_make((struct params){.rate_bps = 10000000}, 50000);
    struct nc_run run;
    rig_take(d, 0, 5 * RIG_MSS, 0);
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t want_ns = (uint64_t)(i + 1) * (RIG_MSS + RIG_HEADERS) * 8 * 100;
        CHECK_EQ(direction_next_ns(d), want_ns);
        CHECK(direction_due(d, want_ns, &run) != NULL);
        const struct rig_frame *frame = rig_flat(&run);
        CHECK_EQ(rig_seq(frame), i * RIG_MSS);
        CHECK_EQ(frame->payload_len, RIG_MSS);
        CHECK_EQ(frame->bytes[RIG_HEADERS], (uint8_t)(i * RIG_MSS));
        direction_sent(d, want_ns, true);
    }
    rig_drop(d);
}

static void granularity_bounds_how_early_and_late_a_part_leaves(void)
{
    /* at 10 Gbit/s a packet takes 1.2 µs, and with a granularity of 5 µs five packets form a run */
    struct direction *d = rig_make((struct params){.rate_bps = UINT64_C(10000000000)}, 5000);
    struct nc_run run;
    rig_take(d, 0, 40 * RIG_MSS, 0);
    uint64_t previous_ns = 0;
    uint32_t parts = 0;
    for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
        CHECK(due->time_ns - previous_ns <= 5000 + 1202 + 1);
        previous_ns = due->time_ns;
        parts += due->parts;
        direction_sent(d, due->time_ns, true);
    }
    CHECK_EQ(parts, 40);
    CHECK_EQ(previous_ns, UINT64_C(40) * (RIG_MSS + RIG_HEADERS) * 8 / 10);
    rig_drop(d);
}

static void lost_parts_are_cut_out_and_the_rest_arrives_intact(void)
{
    struct direction *d = rig_make((struct params){.loss = "20%"}, 50000);
    struct nc_run run;
    uint64_t received = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t seq = i * 30 * RIG_MSS;
        rig_take(d, seq, 30 * RIG_MSS, i);
        while (direction_due(d, UINT64_MAX, &run)) {
            const struct rig_frame *frame = rig_flat(&run);
            uint32_t at = rig_seq(frame);
            CHECK_EQ((at - seq) % RIG_MSS, 0);
            for (uint32_t b = 0; b < frame->payload_len; b++)
                CHECK_EQ(frame->bytes[RIG_HEADERS + b], (uint8_t)(at + b));
            received += frame->payload_len / RIG_MSS;
            direction_sent(d, i, true);
        }
    }
    CHECK_EQ(received + d->stats.drops[FATE_LOSS], 30000);
    CHECK(fabs((double)d->stats.drops[FATE_LOSS] - 6000) < 3.89 * sqrt(30000 * 0.2 * 0.8));
    CHECK_EQ(d->pool.held_bytes, 0);
    rig_drop(d);
}

/* The same packets, grouped into other super-packets, must lose the same wire packets. */
static void fate_does_not_depend_on_batching(void)
{
    enum { PACKETS = 6000 };
    static uint8_t lost[2][PACKETS];
    for (int way = 0; way < 2; way++) {
        struct direction *d = rig_make((struct params){.loss = "5%"}, 50000);
        struct nc_run run;
        memset(lost[way], 1, PACKETS);
        for (uint32_t at = 0, i = 0; at < PACKETS; i++) {
            uint32_t n = way == 0 ? 1 : 1 + (uint32_t)(random_u64(3, i) % 40);
            if (n > PACKETS - at)
                n = PACKETS - at;
            rig_take(d, at * RIG_MSS, n * RIG_MSS, i);
            at += n;
            for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
                memset(lost[way] + rig_seq(rig_flat(&run)) / RIG_MSS, 0, due->parts);
                direction_sent(d, i, true);
            }
        }
        rig_drop(d);
    }
    CHECK(memcmp(lost[0], lost[1], PACKETS) == 0);
}

static void a_tail_drop_burst_is_counted_by_cause(void)
{
    /* lfp-1995 has 45 Mbit/s and a queue of 110 KB: two super-packets of 64 KB do not fit */
    struct direction *d = rig_make((struct params){.rate_bps = 45000000, .queue_bytes = 110 * 1024}, 50000);
    rig_take(d, 0, 44 * RIG_MSS, 0);
    rig_take(d, 44 * RIG_MSS, 44 * RIG_MSS, 0);
    uint64_t fit = 110 * 1024 / (RIG_MSS + RIG_HEADERS);
    CHECK_EQ(d->stats.drops[FATE_QUEUE], 88 - fit);
    CHECK(d->channels.peak_bytes <= 110 * 1024);
    rig_drop(d);
}

static double number_at(const json_t *object, const char *a, const char *b, const char *c)
{
    const json_t *at = json_object_get(json_object_get(object, a), b);
    return json_number_value(c ? json_object_get(at, c) : at);
}

/* Bounds are 3.89 standard errors. The length of a loss burst is geometric, so its mean has a standard deviation of
 * sqrt(b (b - 1) / bursts). */
static void what_was_achieved_is_what_was_asked_for(void)
{
    enum { N = 20000 };
    const double near_rate = 3.89;
    struct direction *d = rig_make((struct params){.delay_ns = 20000000,
                                                   .rate_bps = 100000000,
                                                   .loss = "gilbert:5%,4",
                                                   .jitter = "normal:2ms,50%",
                                                   .jitter_order = JITTER_REORDERS},
                                   50000);
    struct rig_seen seen = {0};
    for (uint32_t i = 0; i < N / 10; i++)
        rig_take(d, i * 10 * RIG_MSS, 10 * RIG_MSS, (uint64_t)i * 1000000);
    rig_drain(d, rig_see, &seen);
    struct direction_view view;
    direction_view(d, 0, &view);
    json_t *stats = direction_stats_json(&view, NULL, 0), *achieved = json_object_get(stats, "achieved");
    CHECK(fabs(number_at(achieved, "rate", "bps", NULL) / 1e8 - 1) < 1e-5);
    double lost = number_at(achieved, "loss", "lost", NULL), bursts = number_at(achieved, "loss", "bursts", NULL);
    CHECK_EQ((uint64_t)lost, d->stats.drops[FATE_LOSS]);
    CHECK_EQ((uint64_t)number_at(achieved, "loss", "packets", NULL), N);
    CHECK(fabs(number_at(achieved, "loss", "mean_burst", NULL) - 4) < near_rate * sqrt(4 * 3 / bursts));
    CHECK(fabs(lost / N - 0.05) < near_rate * sqrt(0.05 * 0.95 / N * 7)); /* (1 + r) / (1 - r), r = 3/4 less a little */
    double sd = number_at(achieved, "jitter", "drawn", "sd_ns"),
           r = number_at(achieved, "jitter", "drawn", "autocorrelation");
    CHECK(fabs(sd / 2e6 - 1) < near_rate * sqrt(0.5 / N * 5 / 3.0)); /* squares have autocorrelation r^2 */
    CHECK(fabs(r - 0.5) < near_rate * sqrt((1 - 0.25) / N) * 1.1);
    CHECK(fabs(number_at(achieved, "jitter", "drawn", "mean_ns")) < near_rate * 2e6 * sqrt(3.0 / N));
    /* packets may overtake each other, so the delay is added as drawn */
    CHECK(fabs(number_at(achieved, "jitter", "added", "sd_ns") / sd - 1) < 1e-9);
    json_decref(stats);
    rig_drop(d);
}

static void malformed_and_refused_packets_are_counted(void)
{
    static uint8_t buf[70000];
    struct direction *d = rig_make((struct params){0}, 50000);
    struct packet_buffer *packet = direction_reserve(d);
    direction_take(d, packet, 5, 1);
    CHECK_EQ(d->stats.drops_malformed, 1);
    uint32_t len = make_tcp4(buf, 0, 3 * RIG_MSS, RIG_MSS);
    direction_refuse(d, buf, len, 1);
    CHECK_EQ(d->stats.drops[FATE_MEMORY], 3);
    CHECK_EQ(direction_next_ns(d) == UINT64_MAX, 1);
    rig_drop(d);
}

int main(void)
{
    RUN(a_super_packet_without_a_model_leaves_whole);
    RUN(at_a_low_rate_every_wire_packet_leaves_at_its_own_time);
    RUN(granularity_bounds_how_early_and_late_a_part_leaves);
    RUN(lost_parts_are_cut_out_and_the_rest_arrives_intact);
    RUN(fate_does_not_depend_on_batching);
    RUN(a_tail_drop_burst_is_counted_by_cause);
    RUN(what_was_achieved_is_what_was_asked_for);
    RUN(malformed_and_refused_packets_are_counted);
    return 0;
}
