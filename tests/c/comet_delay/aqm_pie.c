/* PIE against the formulas of RFC 8033, calculated by hand, and against its purpose: the delay must reach the
 * target. */
#include <math.h>

#include "aqm_line.h"
#include "check.h"
#include "nc_clock.h"
#include "nc_quantity.h"
#include "random.h"

enum { BYTES = 1500, DEEP = 100000 };
#define MS NC_NS_PER_MS

static const struct aqm_params presets = {
    .algorithm = AQM_PIE,
    .pie = {.target_ns = 15 * MS,
            .update_ns = 15 * MS,
            .alpha_per_1e9_s = NC_RATIO_ONE / 8,
            .beta_per_1e9_s = NC_RATIO_ONE / 4 * 5,
            .burst_ns = 150 * MS,
            .ecn_threshold_ppb = NC_RATIO_ONE / 10},
};

/* A fresh state, then one packet that leaves after `sojourn_ns`. */
static struct aqm started(uint64_t sojourn_ns, double probability)
{
    struct aqm aqm = {0};
    aqm_dequeue(&aqm, &presets, 0, sojourn_ns, DEEP, BYTES, false, 1, 0);
    aqm.pie.probability = probability;
    return aqm;
}

static enum aqm_verdict arrive(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t number,
                               bool ect)
{
    return aqm_enqueue(aqm, params, now_ns, DEEP, BYTES, ect, 1, number);
}

static bool near(double got, double want)
{
    return fabs(got - want) <= 1e-12 + 1e-12 * fabs(want);
}

/* Delay 30 ms, target 15 ms, previous delay 0: alpha 0.015 + beta 0.030 = 0.039375, and 0.001875 when it stays at 30
 * ms. */
static void one_update_by_hand(void)
{
    const struct {
        double probability, divisor;
    } cases[] = {{0, 2048}, {0.000005, 512}, {0.00005, 128}, {0.0005, 32}, {0.005, 8}, {0.05, 2}, {0.1, 1}, {0.5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct aqm aqm = started(30 * MS, cases[i].probability);
        arrive(&aqm, &presets, 15 * MS - 1, 0, false);
        CHECK(near(aqm.pie.probability, cases[i].probability)); /* not before its time */
        arrive(&aqm, &presets, 15 * MS, 0, false);
        CHECK(near(aqm.pie.probability, cases[i].probability + 0.039375 / cases[i].divisor));
    }
    struct aqm aqm = started(30 * MS, 0.5);
    arrive(&aqm, &presets, 30 * MS, 0, false); /* two at once */
    CHECK(near(aqm.pie.probability, 0.5 + 0.039375 + 0.001875));
}

static void probability_keeps_within_bounds_and_decays(void)
{
    struct aqm aqm = started(3600 * NC_NS_PER_S, 0.9);
    arrive(&aqm, &presets, 15 * MS, 0, false);
    CHECK(aqm.pie.probability == 1);
    aqm = started(0, 0.5);
    arrive(&aqm, &presets, 15 * MS, 0, false); /* (0.5 - alpha 0.015) * 0.98 */
    CHECK(near(aqm.pie.probability, (0.5 - 0.001875) * 0.98));
    arrive(&aqm, &presets, 3600 * NC_NS_PER_S, 0, false); /* a silence of an hour */
    CHECK(aqm.pie.probability == 0);
    CHECK_EQ(aqm.pie.burst_ns, 150 * MS);
    CHECK_EQ(aqm.pie.next_update_ns, 3600 * NC_NS_PER_S + 15 * MS);
}

/* However rarely it is called, its state must be the one that a timer would have produced. */
static void catching_up_is_a_timer(void)
{
    struct aqm often = started(40 * MS, 0.02), seldom = often;
    for (uint64_t t = MS; t <= 990 * MS; t += MS)
        arrive(&often, &presets, t, 0, false);
    arrive(&seldom, &presets, 990 * MS, 0, false);
    CHECK(often.pie.probability == seldom.pie.probability);
    CHECK_EQ(often.pie.next_update_ns, seldom.pie.next_update_ns);
    CHECK_EQ(often.pie.burst_ns, seldom.pie.burst_ns);
}

static void nothing_is_dropped_within_the_burst_allowance(void)
{
    struct aqm aqm = started(500 * MS, 1);
    uint64_t number = 0;
    for (uint64_t t = 0; t < 150 * MS; t += 100000)
        CHECK_EQ(arrive(&aqm, &presets, t, number++, false), AQM_PASS);
    CHECK_EQ(arrive(&aqm, &presets, 150 * MS, number, false), AQM_DROP);
}

static void almost_empty_queues_are_left_alone(void)
{
    struct aqm aqm = started(500 * MS, 1);
    aqm.pie.burst_ns = 0;
    arrive(&aqm, &presets, 15 * MS, 0, false);
    CHECK_EQ(aqm_enqueue(&aqm, &presets, 16 * MS, 2 * BYTES, BYTES, false, 1, 0), AQM_PASS);
    CHECK_EQ(aqm_enqueue(&aqm, &presets, 16 * MS, 2 * BYTES + 1, BYTES, false, 1, 0), AQM_DROP);
    aqm.pie.delay_old_ns = 7 * MS; /* below half the target, probability below 0.2 */
    aqm.pie.probability = 0.19;
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_EQ(arrive(&aqm, &presets, 16 * MS, i, false), AQM_PASS);
}

static void ecn_marks_below_its_threshold(void)
{
    struct aqm_params params = presets;
    params.ecn = true;
    const struct {
        double probability;
        enum aqm_verdict hit;
    } cases[] = {{0.0999, AQM_MARK}, {0.1, AQM_DROP}, {0.5, AQM_DROP}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct aqm aqm = started(20 * MS, cases[c].probability);
        aqm.pie.burst_ns = 0;
        aqm.pie.delay_old_ns = 20 * MS;
        uint64_t n = 100000, hits = 0, plain = 0;
        for (uint64_t i = 0; i < n; i++) {
            enum aqm_verdict verdict = arrive(&aqm, &params, MS, i, true);
            CHECK(verdict == AQM_PASS || verdict == cases[c].hit);
            hits += verdict != AQM_PASS;
            plain += arrive(&aqm, &params, MS, i, false) == AQM_DROP; /* same draw, not ECN-capable */
        }
        double p = cases[c].probability, sigma = sqrt((double)n * p * (1 - p));
        CHECK(fabs((double)hits - (double)n * p) < 3.89 * sigma);
        CHECK_EQ(hits, plain);
    }
}

/* RFC 8033, 5.4: never before the probabilities add up to 0.85, always at 8.5. */
static void derandomizing_bounds_the_gaps(void)
{
    struct aqm_params params = presets;
    params.pie.derandomize = true;
    struct aqm aqm = started(20 * MS, 0.05);
    aqm.pie.burst_ns = 0;
    aqm.pie.delay_old_ns = 20 * MS;
    uint64_t gap = 0, drops = 0, shortest = UINT64_MAX, longest = 0;
    for (uint64_t i = 0; drops < 20000; i++) {
        gap++;
        if (arrive(&aqm, &params, MS, i, false) != AQM_DROP)
            continue;
        if (drops++ && gap < shortest)
            shortest = gap;
        if (gap > longest)
            longest = gap;
        gap = 0;
    }
    CHECK(shortest >= 17 && shortest <= 18); /* 0.85 / 0.05, give or take the sum's last bit */
    CHECK(longest <= 171);
}

struct sojourns {
    uint64_t from_ns, n, over_twice;
    double sum_ns;
};

static void measure(void *context, const struct aqm_line_packet *packet, uint64_t now_ns, enum aqm_verdict verdict)
{
    struct sojourns *s = context;
    if (verdict == AQM_DROP || now_ns < s->from_ns)
        return;
    s->n++;
    s->sum_ns += (double)(now_ns - packet->arrival_ns);
    s->over_twice += now_ns - packet->arrival_ns > 30 * MS;
}

/* The share of packets that wait for twice the target because of the control loop's own noise. In one update interval
 * T, n = load rate T packets come, and chance drops about sqrt(n p (1 - p)) more or less of them. PIE's beta corrects
 * load T beta of the error each time (alpha is small compared with it). So the delay is autoregressive: its deviation
 * is the noise's deviation over sqrt(1 - (1 - load T beta)²). */
static double late_share(double rate_bps, double load)
{
    double t = 0.015, beta = 1.25, p = 1 - 1 / load, packet_s = BYTES * 8 / rate_bps, keep = 1 - load * t * beta;
    double noise_s = packet_s * sqrt(load * t / packet_s * p * (1 - p));
    return erfc(0.015 / (noise_s / sqrt(1 - keep * keep)) / sqrt(2)) / 2;
}

/* A constant overload that does not respond to drops. An integrating controller has no steady error, so the mean delay
 * must be the target. The line stays busy, so the share dropped is 1 - 1 / load. */
static void converges_to_its_target(void)
{
    const uint64_t rates_bps[] = {10000000, 100000000};
    const double loads[] = {1.1, 1.5, 2, 3};
    for (size_t r = 0; r < 2; r++)
        for (size_t l = 0; l < 4; l++)
            for (int derandomize = 0; derandomize < 2; derandomize++) {
                struct aqm_line line;
                struct sojourns sojourns = {.from_ns = 30 * NC_NS_PER_S};
                aqm_line_init(&line, derandomize ? "pie:derandomize=on" : "pie", rates_bps[r], random_key(l + 1, 0, 9));
                line.fate = measure;
                line.context = &sojourns;
                double gap_ns = BYTES * 8 * 1e9 / (double)rates_bps[r] / loads[l];
                uint64_t arrived = 0, dropped = 0, i = 0;
                for (uint64_t t = 0; t < 90 * NC_NS_PER_S; t = (uint64_t)((double)++i * gap_ns)) {
                    uint64_t was = line.dropped_in;
                    aqm_line_arrive(&line, t, BYTES, false);
                    arrived += t >= sojourns.from_ns;
                    dropped += t >= sojourns.from_ns && line.dropped_in != was;
                }
                double mean_ms = sojourns.sum_ns / (double)sojourns.n / 1e6, share = (double)dropped / (double)arrived;
                double late = (double)sojourns.over_twice / (double)sojourns.n;
                if (fabs(mean_ms - 15) > 0.75 || fabs(share - (1 - 1 / loads[l])) > 0.002 ||
                    (!derandomize && late > late_share((double)rates_bps[r], loads[l]) + 0.005)) {
                    fprintf(stderr, "rate %llu, load %g, derandomize %d: mean delay %g ms, dropped %g, over 30 ms %g\n",
                            (unsigned long long)rates_bps[r], loads[l], derandomize, mean_ms, share, late);
                    exit(1);
                }
                aqm_line_free(&line);
            }
}

static void low_load_passes(void)
{
    aqm_line_passes_low_load("pie");
}

int main(void)
{
    RUN(one_update_by_hand);
    RUN(probability_keeps_within_bounds_and_decays);
    RUN(catching_up_is_a_timer);
    RUN(nothing_is_dropped_within_the_burst_allowance);
    RUN(almost_empty_queues_are_left_alone);
    RUN(ecn_marks_below_its_threshold);
    RUN(derandomizing_bounds_the_gaps);
    RUN(converges_to_its_target);
    RUN(low_load_passes);
    return 0;
}
