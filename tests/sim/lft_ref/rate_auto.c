/* The rate that a gateway finds by itself, at a bottleneck that it has alone or shares. The bottleneck is a fluid: in
 * steps of a millisecond everybody's octets enter a queue, what does not fit is lost in proportion, and the queue is
 * served at the line's rate. Bounds are the requirements on the gateway: 0.95 of the line alone, Jain's index 0.9 next
 * to one flow of another control. */
#include "rate_auto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "nc_clock.h"

#define MBIT 1e6
enum { STEPS = 60000, TUNNELS = 3, FRAME = 1500 };

enum other { NOBODY, CUBIC, BBR, CONSTANT };

/* A tunnel: its control, and of each step the octets sent and arrived so far and the one-way delay. */
struct tunnel {
    struct lft_rate_auto rate;
    struct {
        double sent, arrived, lost, delay_ms;
    } step[STEPS];
    int reported;
    double base_ms, before_ms, turn_ms; /* the minimum delay since turn_ms, and in the 10 s before */
    bool train;
    double sum_sent, sum_arrived;
};

/* Another flow: a window that CUBIC moves, or a rate that BBR does. */
struct rival {
    enum other kind;
    double rate_bps, window, top, since_s, hold_ms; /* hold_ms: no second reduction within a round trip */
    double bandwidths[16], best_bps, round_ms, got, sum_arrived;
    int rounds;
};

struct world {
    double line_bps, buffer, one_way_ms, usual_loss, policer_bps, limit_bps;
    double queue; /* octets */
    int now, tunnels_n;
    bool outage, little;
    struct tunnel *tunnels[TUNNELS];
    struct rival rival;
};

static void start(struct world *world, double line_mbit, double rtt_ms, double queue_bdp, enum other kind)
{
    *world = (struct world){.line_bps = line_mbit * MBIT, .one_way_ms = rtt_ms / 2, .tunnels_n = 1};
    world->buffer = fmax(queue_bdp * world->line_bps * rtt_ms / 8e3, 8.0 * FRAME);
    world->rival = (struct rival){.kind = kind, .window = 10.0 * FRAME, .top = 1e9, .best_bps = MBIT};
    for (int i = 0; i < TUNNELS; i++) {
        world->tunnels[i] = calloc(1, sizeof *world->tunnels[i]);
        CHECK(world->tunnels[i]);
        world->tunnels[i]->base_ms = world->tunnels[i]->before_ms = 1e9;
        lft_rate_auto_init(&world->tunnels[i]->rate, 0, 0);
    }
}

static void end(struct world *world)
{
    for (int i = 0; i < TUNNELS; i++)
        free(world->tunnels[i]);
}

static double rtt_ms(const struct world *world)
{
    return 2 * world->one_way_ms + world->queue * 8e3 / world->line_bps;
}

static double rival_octets(struct world *world)
{
    struct rival *r = &world->rival;
    static const double gain[8] = {1.25, 0.75, 1, 1, 1, 1, 1, 1};
    if (r->kind == CONSTANT)
        return r->rate_bps / 8e3;
    if (r->kind == CUBIC)
        return r->window / rtt_ms(world);
    if (r->kind == BBR) {
        double most = 2 * r->best_bps * 2 * world->one_way_ms / 8e3 + 4 * FRAME; /* two BDP in flight */
        return fmin(r->best_bps * gain[r->rounds % 8] / 8e3, most / rtt_ms(world));
    }
    return 0;
}

static void rival_learns(struct world *world, double arrived, double lost)
{
    struct rival *r = &world->rival;
    double rtt = rtt_ms(world);
    r->sum_arrived += arrived;
    r->got += arrived;
    r->hold_ms -= 1;
    r->since_s += 1e-3;
    if (r->kind == CUBIC && lost > 0 && r->hold_ms <= 0) {
        r->top = r->window;
        r->window = fmax(0.7 * r->window, 2 * FRAME);
        r->since_s = 0;
        r->hold_ms = rtt;
    } else if (r->kind == CUBIC && r->top >= 1e9)
        r->window *= 1 + 1 / rtt; /* slow start */
    else if (r->kind == CUBIC) {
        double k = cbrt(0.3 * r->top / FRAME / 0.4);
        double cubic = r->top + 0.4 * pow(r->since_s - k, 3) * FRAME;
        r->window = fmax(fmax(r->window, cubic), 0.7 * r->top + 0.53 * FRAME * r->since_s * 1e3 / rtt);
    }
    if (r->kind == BBR && (r->round_ms += 1) >= rtt) {
        r->bandwidths[r->rounds++ % 10] = r->got * 8e3 / r->round_ms;
        r->best_bps = MBIT / 4;
        for (int i = 0; i < 10; i++)
            r->best_bps = fmax(r->best_bps, r->bandwidths[i]);
        if (r->rounds < 12)
            r->best_bps *= 2; /* its start */
        r->got = r->round_ms = 0;
    }
}

/* The report that has come by now: about the newest step whose octets have arrived and whose report is back. */
static void report(struct world *world, struct tunnel *t)
{
    int m = t->reported;
    while (m < world->now && m + t->step[m].delay_ms + world->one_way_ms <= world->now)
        m++;
    if (m == t->reported)
        return;
    t->reported = m--;
    if (m && t->step[m].arrived <= t->step[m - 1].arrived)
        return; /* all of it was lost */
    if (world->now > t->turn_ms + 10000 && !lft_rate_auto_shares(&t->rate)) {
        t->before_ms = t->base_ms;
        t->base_ms = 1e9;
        t->turn_ms = world->now;
    }
    t->base_ms = fmin(t->base_ms, t->step[m].delay_ms);
    double least_ms = fmin(t->base_ms, t->before_ms);
    double round_ms = t->step[m].delay_ms + world->one_way_ms;
    struct lft_rate_round round = {.now_ns = (uint64_t)world->now * NC_NS_PER_MS,
                                   .srtt_ns = (uint64_t)(round_ms * NC_NS_PER_MS),
                                   .queue_ns = (uint64_t)((t->step[m].delay_ms - least_ms) * NC_NS_PER_MS),
                                   .sent_ns = (uint64_t)(m + 1) * NC_NS_PER_MS,
                                   .sent_bytes = (uint64_t)t->step[m].sent,
                                   .arrival_us = (uint32_t)((m + 1 + t->step[m].delay_ms) * 1000),
                                   .arrived_bytes = (uint64_t)t->step[m].arrived,
                                   .resolved = (uint64_t)(t->step[m].sent / FRAME),
                                   .lost = (uint64_t)(t->step[m].lost / FRAME)};
    if (t->train) {
        double bytes = FRAME * lft_rate_auto_train_frames(&t->rate, FRAME);
        double pause = lft_rate_auto_full(&t->rate);
        double drained = pause * (world->line_bps / 8e3 - rival_octets(world)) * bytes * 8e3 / (double)t->rate.rate_bps;
        double room = fmin(bytes, world->buffer - fmax(0, world->queue - drained));
        double in_bps = world->limit_bps > 0 ? world->limit_bps : 1e12, all_bps = in_bps + rival_octets(world) * 8e3;
        double out_bps = all_bps > world->line_bps ? world->line_bps * in_bps / all_bps : in_bps;
        struct lft_train_result result = {.sent_bytes = (uint64_t)bytes,
                                          .arrived_bytes = (uint64_t)room,
                                          .us = (uint32_t)(room * 8e6 / out_bps),
                                          .sent_ns = (uint64_t)(bytes * 8e9 / in_bps)};
        if (room > bytes / 2)
            lft_rate_auto_train(&t->rate, &result);
        t->train = false;
    }
    lft_rate_auto_report(&t->rate, &round);
    if (t->rate.base_rise_ns)
        t->base_ms = t->before_ms = least_ms + (double)t->rate.base_rise_ns / NC_NS_PER_MS;
    if (!world->little && lft_rate_auto_train_due(&t->rate))
        t->train = true;
}

static void step(struct world *world, bool count)
{
    double in[TUNNELS + 1], all = 0, capacity = world->line_bps / 8e3;
    for (int i = 0; i < world->tunnels_n; i++)
        all += in[i] = world->little ? 100 : (double)world->tunnels[i]->rate.rate_bps / 8e3;
    all += in[TUNNELS] = rival_octets(world);
    double pass = world->policer_bps ? fmin(1, world->policer_bps / 8e3 / all) : 1;
    double fits = fmin(all * pass, world->buffer - world->queue + capacity), share = all > 0 ? fits / all : 1;
    world->queue = fmax(0, world->queue + fits - capacity);
    double left = 1 - world->usual_loss, delay_ms = world->one_way_ms + world->queue / capacity;
    for (int i = 0; i < world->tunnels_n; i++) {
        struct tunnel *t = world->tunnels[i];
        double arrived = world->outage ? 0 : in[i] * share * left;
        int before = world->now ? world->now - 1 : 0;
        t->step[world->now] = t->step[before];
        t->step[world->now].sent += in[i];
        t->step[world->now].arrived += arrived;
        t->step[world->now].lost += in[i] - arrived;
        t->step[world->now].delay_ms = delay_ms;
        t->sum_sent += count ? in[i] : 0;
        t->sum_arrived += count ? arrived : 0;
    }
    if (!count)
        world->rival.sum_arrived = 0;
    rival_learns(world, in[TUNNELS] * share, in[TUNNELS] * (1 - share));
    world->now++;
    for (int i = 0; i < world->tunnels_n; i++)
        report(world, world->tunnels[i]);
}

static void run(struct world *world, int ms, bool count)
{
    for (int i = 0; i < ms; i++)
        step(world, count);
}

/* Of what was counted in `ms`: the share of the line. */
static double share_of_line(const struct world *world, double octets, int ms)
{
    return octets * 8e3 / ms / world->line_bps;
}

static double jain(double a, double b)
{
    return (a + b) * (a + b) / (2 * (a * a + b * b));
}

static const double rtts_ms[] = {10, 20, 50, 100, 200}, queues_bdp[] = {0.5, 1, 2};

static void alone_it_takes_the_line_and_keeps_the_queue_short(void)
{
    for (int i = 0; i < 15; i++) {
        struct world world;
        start(&world, 50, rtts_ms[i / 3], queues_bdp[i % 3], NOBODY);
        run(&world, 5000, false);
        double queue_ms = 0;
        for (int ms = 0; ms < 15000; ms++) {
            step(&world, true);
            queue_ms += world.queue * 8e3 / world.line_bps / 15000;
        }
        double share = share_of_line(&world, world.tunnels[0]->sum_arrived, 15000);
        printf("rtt %3.0f ms, queue %.1f BDP: %.3f of the line, mean queue %.1f ms\n", rtts_ms[i / 3],
               queues_bdp[i % 3], share, queue_ms);
        CHECK(share >= 0.95);
        CHECK(queue_ms <= 5 + rtts_ms[i / 3] / 16);
        end(&world);
    }
}

static void next_to_one_flow_both_get_about_half(enum other kind, const char *name)
{
    for (int i = 0; i < 15; i++) {
        struct world world;
        start(&world, 50, rtts_ms[i / 3], queues_bdp[i % 3], kind);
        run(&world, 10000, false);
        run(&world, 40000, true);
        double own = share_of_line(&world, world.tunnels[0]->sum_arrived, 40000);
        double other = share_of_line(&world, world.rival.sum_arrived, 40000);
        printf("%s, rtt %3.0f ms, queue %.1f BDP: %.2f and %.2f, Jain %.3f\n", name, rtts_ms[i / 3], queues_bdp[i % 3],
               own, other, jain(own, other));
        CHECK(jain(own, other) >= 0.9);
        CHECK(own + other >= 0.85);
        end(&world);
    }
}

static void next_to_cubic_both_get_about_half(void)
{
    next_to_one_flow_both_get_about_half(CUBIC, "CUBIC");
}

static void next_to_bbr_both_get_about_half(void)
{
    next_to_one_flow_both_get_about_half(BBR, "BBR");
}

/* Where the limit is the line's rate, a train is mixed with the other flow's packets. */
static void a_limit_of_the_lines_rate_leaves_half_as_well(void)
{
    const enum other kinds[] = {CUBIC, BBR};
    for (int i = 0; i < 2; i++) {
        struct world world;
        start(&world, 50, 20, 1, kinds[i]);
        world.limit_bps = world.line_bps;
        lft_rate_auto_init(&world.tunnels[0]->rate, (uint64_t)world.limit_bps, 0);
        run(&world, 10000, false);
        run(&world, 20000, true);
        double own = world.tunnels[0]->sum_arrived, other = world.rival.sum_arrived;
        printf("limit: Jain %.3f\n", jain(own, other));
        CHECK(jain(own, other) >= 0.9);
        end(&world);
    }
}

/* A flow that was there first has filled the queue, so the tunnel never sees the empty path. */
static void whoever_comes_second_gets_its_half(void)
{
    struct world world;
    start(&world, 50, 40, 1, CUBIC);
    world.tunnels_n = 0;
    run(&world, 5000, false);
    world.tunnels_n = 1;
    world.tunnels[0]->reported = world.now;
    run(&world, 10000, false);
    run(&world, 20000, true);
    CHECK(jain(world.tunnels[0]->sum_arrived, world.rival.sum_arrived) >= 0.9);
    end(&world);
}

static void of_a_line_that_is_taken_in_part_it_takes_the_rest(void)
{
    struct world world;
    start(&world, 50, 40, 1, CONSTANT);
    run(&world, 5000, false);
    world.rival.rate_bps = 20 * MBIT;
    run(&world, 2000, false);
    run(&world, 10000, true);
    double own = share_of_line(&world, world.tunnels[0]->sum_arrived, 10000);
    double other = share_of_line(&world, world.rival.sum_arrived, 10000);
    printf("free: 0.6 of the line, taken by the tunnel %.3f; the other wanted 0.4 and got %.3f\n", own, other);
    CHECK(own >= 0.9 * 0.6);
    CHECK(other >= 0.97 * 0.4);
    world.rival.rate_bps = 0; /* gone */
    run(&world, 2000, false);
    world.tunnels[0]->sum_arrived = 0;
    run(&world, 3000, true);
    CHECK(share_of_line(&world, world.tunnels[0]->sum_arrived, 3000) >= 0.95);
    end(&world);
}

static void three_tunnels_share_without_much_loss(void)
{
    struct world world;
    start(&world, 60, 40, 1, NOBODY);
    world.tunnels_n = 3;
    run(&world, 10000, false);
    run(&world, 20000, true);
    double sent = 0, squares = 0, sum = 0;
    for (int i = 0; i < 3; i++) {
        double arrived = world.tunnels[i]->sum_arrived;
        sent += world.tunnels[i]->sum_sent;
        sum += arrived;
        squares += arrived * arrived;
    }
    printf("three tunnels: %.2f of the line sent, %.2f arrived, Jain %.3f\n", share_of_line(&world, sent, 20000),
           share_of_line(&world, sum, 20000), sum * sum / (3 * squares));
    CHECK(sum * sum / (3 * squares) >= 0.9);
    CHECK(sent <= 1.2 * sum);
    end(&world);
}

static void it_follows_the_rate_of_the_line(void)
{
    struct world world;
    start(&world, 50, 40, 1, NOBODY);
    run(&world, 5000, false);
    for (int i = 0; i < 2; i++) {
        world.line_bps = i ? 80 * MBIT : 20 * MBIT;
        run(&world, 3000, false);
        world.tunnels[0]->sum_arrived = 0;
        run(&world, 4000, true);
        CHECK(share_of_line(&world, world.tunnels[0]->sum_arrived, 4000) >= 0.95);
        CHECK(world.queue * 8e3 / world.line_bps <= 15);
        end(&world);
        start(&world, 20, 40, 1, NOBODY);
        run(&world, 5000, false);
    }
    end(&world);
}

/* No queue shows a policer; what it drops does. */
static void a_policer_sets_the_rate(void)
{
    struct world world;
    start(&world, 100, 40, 1, NOBODY);
    world.policer_bps = 20 * MBIT;
    run(&world, 5000, false);
    run(&world, 10000, true);
    double arrived = world.tunnels[0]->sum_arrived, sent = world.tunnels[0]->sum_sent;
    printf("policer: %.2f of its rate arrived, %.2f of what was sent\n", arrived * 8e3 / 10000 / world.policer_bps,
           arrived / sent);
    CHECK(arrived * 8e3 / 10000 >= 0.85 * world.policer_bps);
    CHECK(arrived >= 0.85 * sent);
    end(&world);
}

static void usual_loss_does_not_lower_the_rate(void)
{
    const double losses[] = {0.001, 0.01, 0.1};
    for (int i = 0; i < 3; i++) {
        struct world world;
        start(&world, 50, 100, 1, NOBODY);
        world.usual_loss = losses[i];
        run(&world, 5000, false);
        run(&world, 10000, true);
        CHECK(share_of_line(&world, world.tunnels[0]->sum_arrived, 10000) >= 0.95 * (1 - losses[i]));
        end(&world);
    }
}

static void after_an_outage_the_rate_is_back_at_once(void)
{
    const int lengths_ms[] = {50, 500, 5000};
    for (int i = 0; i < 3; i++) {
        struct world world;
        start(&world, 50, 100, 1, NOBODY);
        run(&world, 8000, false);
        world.outage = true;
        run(&world, lengths_ms[i], false);
        world.outage = false;
        run(&world, 300, false); /* three round trips */
        run(&world, 1000, true);
        CHECK(share_of_line(&world, world.tunnels[0]->sum_arrived, 1000) >= 0.9);
        end(&world);
    }
}

/* A longer path looks like a queue that nothing empties. */
static void a_longer_path_is_no_queue_for_long(void)
{
    const double longer_ms[] = {10, 60, 300};
    for (int i = 0; i < 3; i++) {
        struct world world;
        start(&world, 50, 40, 2, NOBODY);
        run(&world, 5000, false);
        world.one_way_ms += longer_ms[i] / 2;
        run(&world, 10000, false);
        run(&world, 5000, true);
        CHECK(share_of_line(&world, world.tunnels[0]->sum_arrived, 5000) >= 0.95);
        CHECK(fabs(world.tunnels[0]->base_ms - world.one_way_ms) <= 5);
        end(&world);
    }
}

static void a_full_queue_of_others_is_not_taken_for_a_longer_path(void)
{
    struct world world;
    start(&world, 50, 40, 0.5, CONSTANT);
    run(&world, 5000, false);
    world.rival.rate_bps = 60 * MBIT; /* more than the line, whatever the tunnel does */
    for (int ms = 0; ms < 8000; ms++) {
        step(&world, true);
        CHECK(world.tunnels[0]->base_ms <= world.one_way_ms + 2);
    }
    end(&world);
}

static void a_source_that_has_little_does_not_raise_the_rate(void)
{
    struct world world;
    start(&world, 50, 40, 1, NOBODY);
    world.little = true;
    uint64_t before = world.tunnels[0]->rate.rate_bps;
    run(&world, 2000, false);
    CHECK_EQ(world.tunnels[0]->rate.rate_bps, before);
    end(&world);
}

/* A peer may report anything: the rate stays between its bounds. */
static void false_reports_do_no_harm(void)
{
    struct lft_rate_auto rate;
    lft_rate_auto_init(&rate, (uint64_t)(100 * MBIT), 0);
    uint64_t random = 1;
    for (int i = 0; i < 100000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        struct lft_rate_round round = {.now_ns = (uint64_t)i * NC_NS_PER_MS,
                                       .srtt_ns = random % (10 * NC_NS_PER_S),
                                       .queue_ns = random % (10 * NC_NS_PER_S),
                                       .sent_ns = (uint64_t)i * NC_NS_PER_MS + 1,
                                       .sent_bytes = (uint64_t)i * FRAME,
                                       .arrival_us = (uint32_t)(i * 1000 + (int)(random >> 40) % 3),
                                       .arrived_bytes = random >> (random % 64),
                                       .resolved = (uint64_t)i,
                                       .lost = (uint64_t)i / 2};
        struct lft_train_result train = {
            .sent_bytes = FRAME, .arrived_bytes = random >> (random % 64), .us = 1 + (uint32_t)(random >> 50)};
        lft_rate_auto_report(&rate, &round);
        if (lft_rate_auto_train_due(&rate))
            lft_rate_auto_train(&rate, &train);
        CHECK(rate.rate_bps >= LFT_RATE_AUTO_MIN_BPS && rate.rate_bps <= 100 * MBIT);
        unsigned frames = lft_rate_auto_train_frames(&rate, FRAME);
        CHECK(frames >= 4 && frames <= 128);
    }
}

int main(void)
{
    RUN(alone_it_takes_the_line_and_keeps_the_queue_short);
    RUN(next_to_cubic_both_get_about_half);
    RUN(next_to_bbr_both_get_about_half);
    RUN(a_limit_of_the_lines_rate_leaves_half_as_well);
    RUN(whoever_comes_second_gets_its_half);
    RUN(of_a_line_that_is_taken_in_part_it_takes_the_rest);
    RUN(three_tunnels_share_without_much_loss);
    RUN(it_follows_the_rate_of_the_line);
    RUN(a_policer_sets_the_rate);
    RUN(usual_loss_does_not_lower_the_rate);
    RUN(after_an_outage_the_rate_is_back_at_once);
    RUN(a_longer_path_is_no_queue_for_long);
    RUN(a_full_queue_of_others_is_not_taken_for_a_longer_path);
    RUN(a_source_that_has_little_does_not_raise_the_rate);
    RUN(false_reports_do_no_harm);
    return 0;
}
