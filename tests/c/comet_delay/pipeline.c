/* The stages of a direction, tested by their effect on packets that pass the whole pipeline, in virtual time. */
#include "pipeline.h"

#include <math.h>

#include "check.h"
#include "direction_stats.h"
#include "nc_clock.h"
#include "packets.h"
#include "random.h"
#include "ready.h"
#include "rig.h"

static void duplicates_arrive_twice(void)
{
    struct direction_stats s;
    struct rig_seen seen = rig_through((struct params){.duplicate_ppb = NC_RATIO_ONE / 50}, &s);
    CHECK_EQ(seen.packets, 20000 + s.duplicated);
    rig_near(s.duplicated, 20000, 0.02);
    CHECK_EQ(seen.damaged, 0);
}

static void corruption_is_one_bit_that_the_checksum_sees(void)
{
    struct direction_stats s;
    struct rig_seen seen = rig_through((struct params){.corrupt_ppb = NC_RATIO_ONE / 50}, &s);
    CHECK_EQ(seen.packets, 20000);
    rig_near(s.corrupted, 20000, 0.02);
    CHECK_EQ(seen.damaged, s.corrupted);
    CHECK_EQ(seen.checksum_wrong, s.corrupted);
}

static void forgery_is_one_bit_that_the_checksum_does_not_see(void)
{
    struct direction_stats s;
    struct rig_seen seen = rig_through((struct params){.forge_ppb = NC_RATIO_ONE / 50}, &s);
    rig_near(s.forged, 20000, 0.02);
    CHECK_EQ(seen.damaged, s.forged);
    CHECK_EQ(seen.checksum_wrong, 0);
}

static void reordered_packets_are_overtaken(void)
{
    struct direction_stats s;
    struct rig_seen seen =
        rig_through((struct params){.reorder_ppb = NC_RATIO_ONE / 100, .reorder_by_ns = 10000000}, &s);
    CHECK_EQ(seen.packets, 20000);
    rig_near(s.reordered, 20000, 0.01);
    CHECK(seen.backwards > s.reordered * 9 / 10 && seen.backwards <= s.reordered);
}

static void loss_can_be_behind_the_bottleneck(void)
{
    struct direction_stats s;
    rig_through((struct params){.rate_bps = 1000000000, .loss_after = "2%"}, &s);
    rig_near(s.drops[FATE_LOSS], 20000, 0.02);
}

static void head_drop_lets_the_newest_through(void)
{
    struct params params = {.rate_bps = 10000000, .queue_packets = 5, .queue_drop = QUEUE_DROP_HEAD};
    struct direction *d = rig_make(params, 50000);
    struct rig_seen seen = {0};
    rig_take(d, 0, 20 * RIG_MSS, 0);
    rig_drain(d, rig_see, &seen);
    CHECK_EQ(d->stats.drops[FATE_QUEUE], 15);
    CHECK_EQ(seen.packets, 5);
    CHECK_EQ(seen.last_seq, 19 * RIG_MSS);
    CHECK_EQ(d->pool.held_bytes, 0);
    rig_drop(d);
}

static void listed_packets_are_lost_and_no_others(void)
{
    struct direction_stats s;
    struct rig_seen seen = rig_through((struct params){.loss = "packets:5,10-12,19999"}, &s);
    CHECK_EQ(s.drops[FATE_LOSS], 5);
    CHECK_EQ(seen.packets, 19995);
}

/* The record shows when the path was down. `show` counts packets that an outage lost as `loss`. */
static void what_an_outage_takes_is_told_from_other_losses(void)
{
    static const char *const outages[] = {"time:0s-1s", "100%"};
    for (size_t i = 0; i < 2; i++) {
        struct params before = {.rate_bps = 1000000000}, behind = before;
        snprintf(before.loss, sizeof before.loss, "%s", outages[i]);
        snprintf(behind.loss_after, sizeof behind.loss_after, "%s", outages[i]);
        struct direction *d[] = {rig_make(before, 50000), rig_make(behind, 50000)};
        for (int where = 0; where < 2; where++) {
            rig_take(d[where], 0, 10 * RIG_MSS, 0);
            rig_drain(d[where], NULL, NULL);
            CHECK_EQ(d[where]->stats.drops[FATE_OUTAGE], 10);
            CHECK_EQ(d[where]->stats.drops[FATE_LOSS], 0);
            struct direction_view view;
            direction_view(d[where], NC_NS_PER_S, &view);
            json_t *shown = direction_stats_json(&view, NULL, 0);
            CHECK_EQ(json_integer_value(json_object_get(json_object_get(shown, "drops"), "loss")), 10);
            json_decref(shown);
            rig_drop(d[where]);
        }
    }
}

static void the_first_retransmission_is_lost(void)
{
    struct direction *d = rig_make((struct params){.loss = "retransmission:1"}, 50000);
    struct rig_seen seen = {0};
    rig_take(d, 0, 10 * RIG_MSS, 0);         /* new */
    rig_take(d, 3 * RIG_MSS, RIG_MSS, 1000); /* sends the fourth segment twice more */
    rig_take(d, 3 * RIG_MSS, RIG_MSS, 2000);
    rig_drain(d, rig_see, &seen);
    CHECK_EQ(d->stats.drops[FATE_LOSS], 1);
    CHECK_EQ(seen.packets, 11);
    rig_drop(d);
}

static void retransmissions_are_told_apart_behind_the_bottleneck_too(void)
{
    struct direction *d = rig_make((struct params){.rate_bps = 1000000000, .loss_after = "retransmission:1"}, 50000);
    struct rig_seen seen = {0};
    rig_take(d, 0, 10 * RIG_MSS, 0);
    rig_take(d, 3 * RIG_MSS, RIG_MSS, 1000);
    rig_take(d, 3 * RIG_MSS, RIG_MSS, 2000);
    rig_drain(d, rig_see, &seen);
    CHECK_EQ(d->loss_after.count.lost, 1);
    CHECK_EQ(d->loss_after.count.packets, 12);
    CHECK_EQ(seen.packets, 11);
    rig_drop(d);
}

static void a_pacer_spaces_packets_and_its_buffer_is_bounded(void)
{
    struct params params = {.pace_packets = 1000, .pace_buffer_bytes = 5 * (RIG_MSS + RIG_HEADERS)};
    struct direction *d = rig_make(params, 50000);
    struct nc_run run;
    rig_take(d, 0, 10 * RIG_MSS, 0);
    for (uint64_t i = 0; i < 6; i++) { /* the first does not wait */
        CHECK_EQ(direction_next_ns(d), i * NC_NS_PER_MS);
        CHECK(direction_due(d, i * NC_NS_PER_MS, &run) != NULL);
        direction_sent(d, i * NC_NS_PER_MS, true);
    }
    CHECK_EQ(d->stats.drops[FATE_PACE], 4);
    rig_drop(d);
}

static void a_drain_takes_packets_one_by_one_and_drops_what_its_buffer_cannot_hold(void)
{
    const uint64_t bytes = RIG_MSS + RIG_HEADERS;
    struct direction *d = rig_make(
        (struct params){.drain_rate_bps = bytes * 8 * 1000, .drain_buffer_bytes = 4 * bytes, .framing = FRAMING_L2}, 0);
    struct nc_run run;
    rig_take(d, 0, 10 * RIG_MSS, 0);
    for (uint64_t i = 1; i <= 4; i++) {
        CHECK_EQ(direction_next_ns(d), i * NC_NS_PER_MS);
        CHECK(direction_due(d, i * NC_NS_PER_MS, &run) != NULL);
        direction_sent(d, i * NC_NS_PER_MS, true);
    }
    CHECK_EQ(direction_next_ns(d), UINT64_MAX);
    CHECK_EQ(d->stats.drops[FATE_DRAIN], 6);
    rig_drop(d);
}

static void packets_in_turn_leave_by_several_channels(void)
{
    const uint64_t bits = (RIG_MSS + RIG_HEADERS) * 8;
    struct direction *d =
        rig_make((struct params){.rate_bps = bits * 1000, .channels = 3, .balance = BALANCE_PACKET}, 0);
    struct nc_run run;
    rig_take(d, 0, 7 * RIG_MSS, 0);
    for (uint32_t i = 1; i <= 3;
         i++) { /* each packet takes a millisecond on its line; packets that leave together are one run */
        CHECK_EQ(direction_next_ns(d), i * NC_NS_PER_MS);
        const struct due *due = direction_due(d, i * NC_NS_PER_MS, &run);
        CHECK(due && due->first == 3 * (i - 1) && due->parts == (i < 3 ? 3 : 1));
        direction_sent(d, i * NC_NS_PER_MS, true);
    }
    CHECK_EQ(direction_next_ns(d), UINT64_MAX);
    rig_drop(d);
}

static void a_flow_gets_the_rate_of_one_channel(void)
{
    struct direction *d = rig_make((struct params){.rate_bps = 100000000, .channels = 3}, 0);
    struct rig_seen seen = {0};
    rig_take(d, 0, 40 * RIG_MSS, 0);
    rig_drain(d, rig_see, &seen);
    CHECK_EQ(seen.packets, 40);
    CHECK_EQ(seen.backwards, 0);
    CHECK_EQ(d->stats.last_out_ns, UINT64_C(40) * (RIG_MSS + RIG_HEADERS) * 8 * 10);
    rig_drop(d);
}

static void packets_are_let_go_in_bunches(void)
{
    struct direction *d =
        rig_make((struct params){.delay_ns = 300000, .bunch_ns = NC_NS_PER_MS, .bunch_packets = 4}, 0);
    struct nc_run run;
    for (uint32_t i = 0; i < 6; i++) /* one packet per 100 us; they reach the buncher from 300 us on, after the delay */
        rig_take(d, i * RIG_MSS, RIG_MSS, i * UINT64_C(100000));
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t opening_ns = (i < 4 ? 1 : 2) * NC_NS_PER_MS;
        CHECK_EQ(direction_next_ns(d), opening_ns);
        CHECK(direction_due(d, opening_ns, &run) != NULL);
        direction_sent(d, opening_ns, true);
    }
    rig_drop(d);
}

/* A queue grows, because packets come 20 % faster than the line sends them. Returns the number of packets that left
 * with a mark. */
static uint64_t marked_by(struct direction *d)
{
    uint64_t marked = 0;
    for (uint32_t i = 0; i < 200; i++) {
        struct packet_buffer *packet = direction_reserve(d);
        uint32_t len = make_tcp4(packet->data, i * 10 * RIG_MSS, 10 * RIG_MSS, RIG_MSS);
        packet->data[NC_VNET_LEN + 15] = 0x02; /* ECT(0) */
        direction_take(d, packet, len, (uint64_t)i * 10000000);
        struct nc_run run;
        while (direction_due(d, (uint64_t)i * 10000000, &run)) {
            const struct rig_frame *frame = rig_flat(&run);
            if ((frame->bytes[15] & 3) == 3) {
                CHECK_EQ(nc_csum_fold(nc_csum_add(0, frame->bytes + 14, 20)), 0);
                CHECK_EQ(frame->payload_len, RIG_MSS);
                marked++;
            }
            direction_sent(d, (uint64_t)i * 10000000, true);
        }
    }
    return marked;
}

/* ECN-capable packets are marked in the packet itself: by CoDel when they leave the queue, by RED when they enter
 * it. */
static void ecn_marks_are_written_into_the_header(void)
{
    static const char *const algorithms[] = {"codel:ecn=on", "red:min=1KB,max=4MB,p=50%,ecn=on"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        struct params params = {.rate_bps = 10000000};
        snprintf(params.aqm, sizeof params.aqm, "%s", algorithms[i]);
        struct direction *d = rig_make(params, 50000);
        uint64_t marked = marked_by(d);
        CHECK(marked > 3 && d->stats.marked >= marked);
        CHECK_EQ(d->stats.drops[FATE_AQM], 0);
        rig_drop(d);
    }
}

/* Half of all packets are hit at each stage of either direction. If stages draw independently, two of them agree on
 * half of the packets. */
static void stages_and_directions_draw_for_themselves(void)
{
    enum { N = 20000 };
    struct direction ways[2];
    uint64_t keys[2 * RANDOM_STAGES];
    for (unsigned w = 0; w < 2; w++) {
        CHECK_EQ(direction_init(&ways[w], w, READY_SEED, 0, READY_MEMORY_BYTES, 0), 0);
        memcpy(keys + w * RANDOM_STAGES, ways[w].keys, sizeof ways[w].keys);
        direction_free(&ways[w]);
    }
    for (unsigned a = 0; a < 2 * RANDOM_STAGES; a++)
        for (unsigned b = a + 1; b < 2 * RANDOM_STAGES; b++) {
            uint64_t alike = 0;
            for (uint64_t i = 0; i < N; i++)
                alike += random_hit(keys[a], i, NC_RATIO_ONE / 2) == random_hit(keys[b], i, NC_RATIO_ONE / 2);
            rig_near(alike, N, 0.5);
        }
}

static void a_change_of_one_parameter_leaves_the_draws_of_another(void)
{
    struct direction_stats with, without;
    struct rig_seen a = rig_through((struct params){.loss = "gilbert:2%,5"}, &without);
    struct rig_seen b = rig_through(
        (struct params){.loss = "gilbert:2%,5", .duplicate_ppb = NC_RATIO_ONE / 50, .loss_after = "1%"}, &with);
    CHECK_EQ(a.packets, 20000 - without.drops[FATE_LOSS]);
    CHECK(with.drops[FATE_LOSS] > without.drops[FATE_LOSS] && with.drops[FATE_LOSS] < without.drops[FATE_LOSS] + 300);
    CHECK(b.packets > 0);
}

static void a_rate_over_time_is_followed(void)
{
    struct direction *d = rig_make((struct params){.rate_trace = "rate:0s=12Mbit,10ms=120Mbit"}, 0);
    struct nc_run run;
    uint64_t bits = (RIG_MSS + RIG_HEADERS) * 8, at_ns = 0;
    rig_take(d, 0, 20 * RIG_MSS, 0);
    for (uint64_t sent = bits; direction_due(d, UINT64_MAX, &run); sent += bits) {
        /* 120,000 bits in the first 10 ms, then ten times as fast; the packet on the line continues at the new rate */
        double want_ns = sent <= 120000 ? (double)sent / 12e6 * 1e9 : 10e6 + (double)(sent - 120000) / 120e6 * 1e9;
        at_ns = direction_next_ns(d);
        CHECK(fabs((double)at_ns - want_ns) <= 2);
        direction_sent(d, at_ns, true);
    }
    CHECK_EQ(d->stats.out_packets, 20);
    rig_drop(d);
}

static void jitter_keeps_order_unless_told_otherwise(void)
{
    struct direction_stats s;
    struct params params = {.delay_ns = 20000000, .jitter = "normal:5ms", .reorder_ppb = 1}; /* drained at the end */
    CHECK_EQ(rig_through(params, &s).backwards, 0);
    params.jitter_order = JITTER_REORDERS;
    struct rig_seen seen = rig_through(params, &s);
    CHECK(seen.backwards > 1000);
    CHECK_EQ(seen.packets, 20000);
}

int main(void)
{
    RUN(duplicates_arrive_twice);
    RUN(corruption_is_one_bit_that_the_checksum_sees);
    RUN(forgery_is_one_bit_that_the_checksum_does_not_see);
    RUN(reordered_packets_are_overtaken);
    RUN(loss_can_be_behind_the_bottleneck);
    RUN(head_drop_lets_the_newest_through);
    RUN(listed_packets_are_lost_and_no_others);
    RUN(what_an_outage_takes_is_told_from_other_losses);
    RUN(the_first_retransmission_is_lost);
    RUN(retransmissions_are_told_apart_behind_the_bottleneck_too);
    RUN(a_pacer_spaces_packets_and_its_buffer_is_bounded);
    RUN(a_drain_takes_packets_one_by_one_and_drops_what_its_buffer_cannot_hold);
    RUN(packets_in_turn_leave_by_several_channels);
    RUN(a_flow_gets_the_rate_of_one_channel);
    RUN(packets_are_let_go_in_bunches);
    RUN(ecn_marks_are_written_into_the_header);
    RUN(stages_and_directions_draw_for_themselves);
    RUN(a_change_of_one_parameter_leaves_the_draws_of_another);
    RUN(a_rate_over_time_is_followed);
    RUN(jitter_keeps_order_unless_told_otherwise);
    return 0;
}
