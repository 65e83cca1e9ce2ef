/* A whole direction in virtual time: super-packets in, wire packets in the model, runs out. */
#include "achieved.h"
#include "direction.h"

#include <math.h>

#include "check.h"
#include "nc_clock.h"
#include "packets.h"
#include "random.h"
#include "ready.h"

enum { MSS = 1448, HEADERS = 54 };

static struct direction *make(struct params params, uint64_t granularity_ns)
{
    struct direction *d = malloc(sizeof *d);
    CHECK(d);
    direction_ready(d, params, granularity_ns);
    return d;
}

static void drop(struct direction *d)
{
    direction_free(d);
    free(d);
}

static void take(struct direction *d, uint32_t seq, uint32_t payload, uint64_t now_ns)
{
    struct stored *packet = direction_reserve(d);
    CHECK(packet != NULL);
    direction_take(d, packet, make_tcp4(packet->data, seq, payload, MSS), now_ns);
}

/* What the far host would get: the run's frame in one piece. */
struct frame {
    uint8_t bytes[70000];
    uint32_t payload_len; /* TCP's */
};

static const struct frame *flat(const struct nc_run *run)
{
    static struct frame frame;
    uint32_t head = run->head_len - NC_VNET_LEN;
    memcpy(frame.bytes, run->head + NC_VNET_LEN, head);
    memcpy(frame.bytes + head, run->payload, run->payload_len);
    frame.payload_len = head + run->payload_len - HEADERS;
    return &frame;
}

static uint32_t seq_of(const struct frame *frame)
{
    const uint8_t *tcp = frame->bytes + 34;
    return (uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7];
}

static void a_super_packet_without_a_model_leaves_whole(void)
{
    struct direction *d = make((struct params){.delay_ns = 1000000}, 50000);
    struct nc_run run;
    take(d, 1000, 10 * MSS, 5);
    CHECK_EQ(direction_next_ns(d), 1000005);
    CHECK(direction_due(d, 1000004, &run) == NULL);
    CHECK(direction_due(d, 1000005, &run) != NULL);
    CHECK_EQ(flat(&run)->payload_len, 10 * MSS);
    direction_sent(d, 1000025, true);
    CHECK_EQ(d->stats.in_packets, 10);
    CHECK_EQ(d->stats.out_packets, 10);
    CHECK_EQ(d->stats.out_bytes, 10 * (MSS + HEADERS));
    CHECK_EQ(d->stats.in_bytes, d->stats.out_bytes);
    CHECK_EQ(d->stats.lateness.max, 20);
    CHECK_EQ(d->store.held_bytes, 0);
    CHECK_EQ(direction_next_ns(d) == UINT64_MAX, 1);
    drop(d);
}

static void at_a_low_rate_every_wire_packet_leaves_at_its_own_time(void)
{
    struct direction *d = make((struct params){.rate_bps = 10000000}, 50000);
    struct nc_run run;
    take(d, 0, 5 * MSS, 0);
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t want_ns = (uint64_t)(i + 1) * (MSS + HEADERS) * 8 * 100;
        CHECK_EQ(direction_next_ns(d), want_ns);
        CHECK(direction_due(d, want_ns, &run) != NULL);
        const struct frame *frame = flat(&run);
        CHECK_EQ(seq_of(frame), i * MSS);
        CHECK_EQ(frame->payload_len, MSS);
        CHECK_EQ(frame->bytes[HEADERS], (uint8_t)(i * MSS));
        direction_sent(d, want_ns, true);
    }
    drop(d);
}

static void granularity_bounds_how_early_and_late_a_part_leaves(void)
{
    /* 10 Gbit/s: 1.2 µs a packet; with 5 µs granularity five intervals fit in a run */
    struct direction *d = make((struct params){.rate_bps = UINT64_C(10000000000)}, 5000);
    struct nc_run run;
    take(d, 0, 40 * MSS, 0);
    uint64_t previous_ns = 0;
    uint32_t parts = 0;
    for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
        CHECK(due->time_ns - previous_ns <= 5000 + 1202 + 1);
        previous_ns = due->time_ns;
        parts += due->parts;
        direction_sent(d, due->time_ns, true);
    }
    CHECK_EQ(parts, 40);
    CHECK_EQ(previous_ns, UINT64_C(40) * (MSS + HEADERS) * 8 / 10);
    drop(d);
}

static void lost_parts_are_cut_out_and_the_rest_arrives_intact(void)
{
    struct direction *d = make((struct params){.loss = "20%"}, 50000);
    struct nc_run run;
    uint64_t received = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t seq = i * 30 * MSS;
        take(d, seq, 30 * MSS, i);
        while (direction_due(d, UINT64_MAX, &run)) {
            const struct frame *frame = flat(&run);
            uint32_t at = seq_of(frame);
            CHECK_EQ((at - seq) % MSS, 0);
            for (uint32_t b = 0; b < frame->payload_len; b++)
                CHECK_EQ(frame->bytes[HEADERS + b], (uint8_t)(at + b));
            received += frame->payload_len / MSS;
            direction_sent(d, i, true);
        }
    }
    CHECK_EQ(received + d->stats.drops[FATE_LOSS], 30000);
    CHECK(fabs((double)d->stats.drops[FATE_LOSS] - 6000) < 3.89 * sqrt(30000 * 0.2 * 0.8));
    CHECK_EQ(d->store.held_bytes, 0);
    drop(d);
}

/* The same packets, grouped differently into super-packets, lose the same wire packets. */
static void fate_does_not_depend_on_batching(void)
{
    enum { PACKETS = 6000 };
    static uint8_t lost[2][PACKETS];
    for (int way = 0; way < 2; way++) {
        struct direction *d = make((struct params){.loss = "5%"}, 50000);
        struct nc_run run;
        memset(lost[way], 1, PACKETS);
        for (uint32_t at = 0, i = 0; at < PACKETS; i++) {
            uint32_t n = way == 0 ? 1 : 1 + (uint32_t)(random_u64(3, i) % 40);
            if (n > PACKETS - at)
                n = PACKETS - at;
            take(d, at * MSS, n * MSS, i);
            at += n;
            for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
                memset(lost[way] + seq_of(flat(&run)) / MSS, 0, due->parts);
                direction_sent(d, i, true);
            }
        }
        drop(d);
    }
    CHECK(memcmp(lost[0], lost[1], PACKETS) == 0);
}

static void a_tail_drop_burst_is_counted_by_cause(void)
{
    /* lfp-1995: 45 Mbit/s and 110 KB of queue; a 64 KB super-packet twice over does not fit */
    struct direction *d = make((struct params){.rate_bps = 45000000, .queue_bytes = 110 * 1024}, 50000);
    take(d, 0, 44 * MSS, 0);
    take(d, 44 * MSS, 44 * MSS, 0);
    uint64_t fit = 110 * 1024 / (MSS + HEADERS);
    CHECK_EQ(d->stats.drops[FATE_QUEUE], 88 - fit);
    CHECK(d->bottleneck.peak_bytes <= 110 * 1024);
    drop(d);
}

/* Everything that leaves, part by part, handed to `see`. */
static void drain(struct direction *d, void (*see)(const struct frame *, uint64_t time_ns, void *), void *context)
{
    struct nc_run run;
    for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
        see(flat(&run), due->time_ns, context);
        direction_sent(d, due->time_ns, true);
    }
}

struct seen {
    uint64_t packets, damaged, checksum_wrong, backwards;
    uint32_t last_seq;
};

/* Whether the TCP checksum, complete or still to be filled in, fits the packet. */
static bool checksum_fits(const struct frame *frame)
{
    uint32_t tcp_len = frame->payload_len + 20;
    uint8_t pseudo[12];
    memcpy(pseudo, frame->bytes + 26, 8);
    pseudo[8] = 0, pseudo[9] = 6, pseudo[10] = (uint8_t)(tcp_len >> 8), pseudo[11] = (uint8_t)tcp_len;
    return nc_csum_fold(nc_csum_add(nc_csum_add(0, pseudo, 12), frame->bytes + 34, tcp_len)) == 0;
}

static void see(const struct frame *frame, uint64_t time_ns, void *context)
{
    struct seen *seen = context;
    uint32_t seq = seq_of(frame), wrong = 0;
    (void)time_ns;
    for (uint32_t b = 0; b < frame->payload_len; b++)
        wrong += (uint32_t)__builtin_popcount(frame->bytes[HEADERS + b] ^ (uint8_t)(seq + b));
    CHECK(wrong <= 1);
    seen->packets += frame->payload_len / MSS;
    seen->damaged += wrong;
    seen->checksum_wrong += wrong && !checksum_fits(frame);
    seen->backwards += seq < seen->last_seq;
    seen->last_seq = seq;
}

static void near(uint64_t got, double n, double share)
{
    CHECK(fabs((double)got - n * share) < 3.89 * sqrt(n * share * (1 - share)));
}

static struct seen through(struct params params, struct direction_stats *stats)
{
    enum { PACKETS = 20000, TOGETHER = 10 };
    struct direction *d = make(params, 50000);
    struct seen seen = {0};
    for (uint32_t i = 0; i < PACKETS / TOGETHER; i++) {
        take(d, i * TOGETHER * MSS, TOGETHER * MSS, (uint64_t)i * 1000000);
        if (params.reorder_ppb == 0)
            drain(d, see, &seen);
    }
    drain(d, see, &seen);
    CHECK_EQ(d->store.held_bytes, 0);
    *stats = d->stats;
    drop(d);
    return seen;
}

static void duplicates_arrive_twice(void)
{
    struct direction_stats s;
    struct seen seen = through((struct params){.duplicate_ppb = NC_RATIO_ONE / 50}, &s);
    CHECK_EQ(seen.packets, 20000 + s.duplicated);
    near(s.duplicated, 20000, 0.02);
    CHECK_EQ(seen.damaged, 0);
}

static void corruption_is_one_bit_that_the_checksum_sees(void)
{
    struct direction_stats s;
    struct seen seen = through((struct params){.corrupt_ppb = NC_RATIO_ONE / 50}, &s);
    CHECK_EQ(seen.packets, 20000);
    near(s.corrupted, 20000, 0.02);
    CHECK_EQ(seen.damaged, s.corrupted);
    CHECK_EQ(seen.checksum_wrong, s.corrupted);
}

static void forgery_is_one_bit_that_the_checksum_does_not_see(void)
{
    struct direction_stats s;
    struct seen seen = through((struct params){.forge_ppb = NC_RATIO_ONE / 50}, &s);
    near(s.forged, 20000, 0.02);
    CHECK_EQ(seen.damaged, s.forged);
    CHECK_EQ(seen.checksum_wrong, 0);
}

static void reordered_packets_are_overtaken(void)
{
    struct direction_stats s;
    struct seen seen = through((struct params){.reorder_ppb = NC_RATIO_ONE / 100, .reorder_by_ns = 10000000}, &s);
    CHECK_EQ(seen.packets, 20000);
    near(s.reordered, 20000, 0.01);
    CHECK(seen.backwards > s.reordered * 9 / 10 && seen.backwards <= s.reordered);
}

static void loss_can_be_behind_the_bottleneck(void)
{
    struct direction_stats s;
    through((struct params){.rate_bps = 1000000000, .loss_after = "2%"}, &s);
    near(s.drops[FATE_LOSS], 20000, 0.02);
}

static void head_drop_lets_the_newest_through(void)
{
    struct params params = {.rate_bps = 10000000, .queue_packets = 5, .queue_drop = QUEUE_DROP_HEAD};
    struct direction *d = make(params, 50000);
    struct seen seen = {0};
    take(d, 0, 20 * MSS, 0);
    drain(d, see, &seen);
    CHECK_EQ(d->stats.drops[FATE_QUEUE], 15);
    CHECK_EQ(seen.packets, 5);
    CHECK_EQ(seen.last_seq, 19 * MSS);
    CHECK_EQ(d->store.held_bytes, 0);
    drop(d);
}

static void listed_packets_are_lost_and_no_others(void)
{
    struct direction_stats s;
    struct seen seen = through((struct params){.loss = "packets:5,10-12,19999"}, &s);
    CHECK_EQ(s.drops[FATE_LOSS], 5);
    CHECK_EQ(seen.packets, 19995);
}

static void the_first_retransmission_is_lost(void)
{
    struct direction *d = make((struct params){.loss = "retransmission:1"}, 50000);
    struct seen seen = {0};
    take(d, 0, 10 * MSS, 0); /* new */
    take(d, 3 * MSS, MSS, 1000); /* the fourth segment again, and again */
    take(d, 3 * MSS, MSS, 2000);
    drain(d, see, &seen);
    CHECK_EQ(d->stats.drops[FATE_LOSS], 1);
    CHECK_EQ(seen.packets, 11);
    drop(d);
}

static void retransmissions_are_told_apart_behind_the_bottleneck_too(void)
{
    struct direction *d = make((struct params){.rate_bps = 1000000000, .loss_after = "retransmission:1"}, 50000);
    struct seen seen = {0};
    take(d, 0, 10 * MSS, 0);
    take(d, 3 * MSS, MSS, 1000);
    take(d, 3 * MSS, MSS, 2000);
    drain(d, see, &seen);
    CHECK_EQ(d->loss_after.count.lost, 1);
    CHECK_EQ(d->loss_after.count.packets, 12);
    CHECK_EQ(seen.packets, 11);
    drop(d);
}

static double number_at(const json_t *object, const char *a, const char *b, const char *c)
{
    const json_t *at = json_object_get(json_object_get(object, a), b);
    return json_number_value(c ? json_object_get(at, c) : at);
}

/* Bounds are 3.89 standard errors; a lost burst is geometric, so its mean has sd sqrt(b (b - 1) / bursts). */
static void what_was_achieved_is_what_was_asked_for(void)
{
    enum { N = 20000 };
    const double near_rate = 3.89;
    struct direction *d = make((struct params){.delay_ns = 20000000, .rate_bps = 100000000, .loss = "gilbert:5%,4",
                                               .jitter = "normal:2ms,50%", .jitter_order = JITTER_REORDERS}, 50000);
    struct seen seen = {0};
    for (uint32_t i = 0; i < N / 10; i++)
        take(d, i * 10 * MSS, 10 * MSS, (uint64_t)i * 1000000);
    drain(d, see, &seen);
    json_t *achieved = achieved_json(d);
    CHECK(fabs(number_at(achieved, "rate", "bps", NULL) / 1e8 - 1) < 1e-5);
    double lost = number_at(achieved, "loss", "lost", NULL), bursts = number_at(achieved, "loss", "bursts", NULL);
    CHECK_EQ((uint64_t)lost, d->stats.drops[FATE_LOSS]);
    CHECK_EQ((uint64_t)number_at(achieved, "loss", "packets", NULL), N);
    CHECK(fabs(number_at(achieved, "loss", "mean_burst", NULL) - 4) < near_rate * sqrt(4 * 3 / bursts));
    CHECK(fabs(lost / N - 0.05) < near_rate * sqrt(0.05 * 0.95 / N * 7)); /* (1 + r) / (1 - r), r = 3/4 less a little */
    double sd = number_at(achieved, "jitter", "drawn", "sd_ns"), r = number_at(achieved, "jitter", "drawn", "autocorrelation");
    CHECK(fabs(sd / 2e6 - 1) < near_rate * sqrt(0.5 / N * 5 / 3.0)); /* squares have autocorrelation r^2 */
    CHECK(fabs(r - 0.5) < near_rate * sqrt((1 - 0.25) / N) * 1.1);
    CHECK(fabs(number_at(achieved, "jitter", "drawn", "mean_ns")) < near_rate * 2e6 * sqrt(3.0 / N));
    CHECK(fabs(number_at(achieved, "jitter", "added", "sd_ns") / sd - 1) < 1e-9); /* they may overtake: added as drawn */
    json_decref(achieved);
    drop(d);
}

static void a_pacer_spaces_packets_and_its_buffer_is_bounded(void)
{
    struct params params = {.pace_packets = 1000, .pace_buffer_bytes = 5 * (MSS + HEADERS)};
    struct direction *d = make(params, 50000);
    struct nc_run run;
    take(d, 0, 10 * MSS, 0);
    for (uint64_t i = 0; i < 6; i++) { /* the first does not wait */
        CHECK_EQ(direction_next_ns(d), i * NC_NS_PER_MS);
        CHECK(direction_due(d, i * NC_NS_PER_MS, &run) != NULL);
        direction_sent(d, i * NC_NS_PER_MS, true);
    }
    CHECK_EQ(d->stats.drops[FATE_PACE], 4);
    drop(d);
}

/* CoDel over a standing queue: ECN-capable packets are marked on the wire, none is dropped. */
static void ecn_marks_are_written_into_the_header(void)
{
    struct direction *d = make((struct params){.rate_bps = 10000000, .aqm = "codel:ecn=on"}, 50000);
    uint64_t marked = 0;
    for (uint32_t i = 0; i < 200; i++) { /* 20 % more than the line takes */
        struct stored *packet = direction_reserve(d);
        uint32_t len = make_tcp4(packet->data, i * 10 * MSS, 10 * MSS, MSS);
        packet->data[NC_VNET_LEN + 15] = 0x02; /* ECT(0) */
        direction_take(d, packet, len, (uint64_t)i * 10000000);
        struct nc_run run;
        while (direction_due(d, (uint64_t)i * 10000000, &run)) {
            const struct frame *frame = flat(&run);
            if ((frame->bytes[15] & 3) == 3) {
                CHECK_EQ(nc_csum_fold(nc_csum_add(0, frame->bytes + 14, 20)), 0);
                CHECK_EQ(frame->payload_len, MSS);
                marked++;
            }
            direction_sent(d, (uint64_t)i * 10000000, true);
        }
    }
    CHECK(marked > 3 && d->stats.marked >= marked);
    CHECK_EQ(d->stats.drops[FATE_AQM], 0);
    drop(d);
}

static void a_change_of_one_parameter_leaves_the_draws_of_another(void)
{
    struct direction_stats with, without;
    struct seen a = through((struct params){.loss = "gilbert:2%,5"}, &without);
    struct seen b = through((struct params){.loss = "gilbert:2%,5", .duplicate_ppb = NC_RATIO_ONE / 50,
                                            .loss_after = "1%"}, &with);
    CHECK_EQ(a.packets, 20000 - without.drops[FATE_LOSS]);
    CHECK(with.drops[FATE_LOSS] > without.drops[FATE_LOSS] && with.drops[FATE_LOSS] < without.drops[FATE_LOSS] + 300);
    CHECK(b.packets > 0);
}

static void a_rate_over_time_is_followed(void)
{
    struct direction *d = make((struct params){.rate_trace = "rate:0s=12Mbit,10ms=120Mbit"}, 0);
    struct nc_run run;
    uint64_t bits = (MSS + HEADERS) * 8, at_ns = 0;
    take(d, 0, 20 * MSS, 0);
    for (uint64_t sent = bits; direction_due(d, UINT64_MAX, &run); sent += bits) {
        /* 120,000 bits by 10 ms, then ten times as fast; a packet under way goes on at the new rate */
        double want_ns = sent <= 120000 ? (double)sent / 12e6 * 1e9 : 10e6 + (double)(sent - 120000) / 120e6 * 1e9;
        at_ns = direction_next_ns(d);
        CHECK(fabs((double)at_ns - want_ns) <= 2);
        direction_sent(d, at_ns, true);
    }
    CHECK_EQ(d->stats.out_packets, 20);
    drop(d);
}

static void jitter_keeps_order_unless_told_otherwise(void)
{
    struct direction_stats s;
    struct params params = {.delay_ns = 20000000, .jitter = "normal:5ms", .reorder_ppb = 1}; /* drained at the end */
    CHECK_EQ(through(params, &s).backwards, 0);
    params.jitter_order = JITTER_REORDERS;
    struct seen seen = through(params, &s);
    CHECK(seen.backwards > 1000);
    CHECK_EQ(seen.packets, 20000);
}

static void malformed_and_refused_packets_are_counted(void)
{
    static uint8_t buf[70000];
    struct direction *d = make((struct params){0}, 50000);
    struct stored *packet = direction_reserve(d);
    direction_take(d, packet, 5, 1);
    CHECK_EQ(d->stats.drops_malformed, 1);
    uint32_t len = make_tcp4(buf, 0, 3 * MSS, MSS);
    direction_refuse(d, buf, len, 1);
    CHECK_EQ(d->stats.drops_memory, 3);
    CHECK_EQ(direction_next_ns(d) == UINT64_MAX, 1);
    drop(d);
}

int main(void)
{
    RUN(a_super_packet_without_a_model_leaves_whole);
    RUN(at_a_low_rate_every_wire_packet_leaves_at_its_own_time);
    RUN(granularity_bounds_how_early_and_late_a_part_leaves);
    RUN(lost_parts_are_cut_out_and_the_rest_arrives_intact);
    RUN(fate_does_not_depend_on_batching);
    RUN(a_tail_drop_burst_is_counted_by_cause);
    RUN(duplicates_arrive_twice);
    RUN(corruption_is_one_bit_that_the_checksum_sees);
    RUN(forgery_is_one_bit_that_the_checksum_does_not_see);
    RUN(reordered_packets_are_overtaken);
    RUN(loss_can_be_behind_the_bottleneck);
    RUN(head_drop_lets_the_newest_through);
    RUN(listed_packets_are_lost_and_no_others);
    RUN(the_first_retransmission_is_lost);
    RUN(retransmissions_are_told_apart_behind_the_bottleneck_too);
    RUN(what_was_achieved_is_what_was_asked_for);
    RUN(a_pacer_spaces_packets_and_its_buffer_is_bounded);
    RUN(ecn_marks_are_written_into_the_header);
    RUN(a_change_of_one_parameter_leaves_the_draws_of_another);
    RUN(a_rate_over_time_is_followed);
    RUN(jitter_keeps_order_unless_told_otherwise);
    RUN(malformed_and_refused_packets_are_counted);
    return 0;
}
