/* RED against the curve of the paper. */
#include <math.h>

#include "aqm_line.h"
#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { USUAL = 1500 };

static struct aqm_params parsed(const char *text)
{
    struct aqm_params params;
    struct nc_error error;
    CHECK_DONE(aqm_parse(text, &params, &error), text, error);
    return params;
}

/* Number of hits in n arrivals that all find `backlog_bytes`. The weight is 100 %, so the average is the backlog. */
static uint64_t hits(const struct aqm_params *params, uint64_t backlog_bytes, uint64_t n, bool ect,
                     enum aqm_verdict kind, uint64_t seed)
{
    struct aqm aqm = {0};
    uint64_t key = random_key(seed, 0, 9), count = 0;
    for (uint64_t i = 0; i < n; i++)
        count += aqm_enqueue(&aqm, params, i, backlog_bytes, USUAL, ect, key, i) == kind;
    return count;
}

/* The gap between hits is uniform on 1 … K = 1/p_b - 1, with the mean 1 / (2 p_b) and the variance (K² - 1) / 12. So
 * the number of hits is a renewal count, n / mean ± sqrt(n variance / mean³), which varies less than a binomial
 * number. */
static void share_follows_the_curve(void)
{
    struct aqm_params params = parsed("red:min=30000,max=90000,p=10%,weight=100%");
    const struct {
        uint64_t backlog_bytes;
        double p;
    } cases[] = {{36000, 0.01}, {42000, 0.02}, {60000, 0.05}, {90000, 0.1}};
    const uint64_t n = 2000000;
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            double p = cases[c].p, mean = 1 / (2 * p), k = 1 / p - 1, variance = (k * k - 1) / 12;
            double got = (double)hits(&params, cases[c].backlog_bytes, n, false, AQM_DROP, seed),
                   want = (double)n / mean;
            double sigma = sqrt((double)n * variance / (mean * mean * mean));
            if (fabs(got - want) > 3.89 * sigma + 1) {
                fprintf(stderr, "seed %llu, p_b %g: %g drops, want %g +- %g\n", (unsigned long long)seed, p, got, want,
                        sigma);
                exit(1);
            }
        }
}

static void gaps_between_hits_are_uniform(void)
{
    struct aqm_params params = parsed("red:min=30000,max=90000,p=10%,weight=100%");
    enum { P_INVERSE = 20, GAPS = 100000 };
    uint64_t seen[P_INVERSE] = {0}, gap = 0, total = 0, key = random_key(5, 0, 9);
    struct aqm aqm = {0};
    for (uint64_t i = 0, first = 1; total < GAPS; i++) {
        gap++;
        if (aqm_enqueue(&aqm, &params, i, 60000, USUAL, false, key, i) != AQM_DROP)
            continue;
        CHECK(first || (gap >= 1 && gap < P_INVERSE));
        if (!first)
            seen[gap]++, total++;
        first = gap = 0;
    }
    double chi2 = 0, want = (double)GAPS / (P_INVERSE - 1);
    for (int g = 1; g < P_INVERSE; g++)
        chi2 += ((double)seen[g] - want) * ((double)seen[g] - want) / want;
    CHECK(chi2 < 54.1); /* 18 degrees of freedom, 99.999 % */
}

static void ends_of_the_curve(void)
{
    struct aqm_params gentle = parsed("red:min=30000,max=90000,p=10%,weight=100%"), steep = gentle;
    steep.red.gentle = false;
    CHECK_EQ(hits(&gentle, 29999, 10000, false, AQM_PASS, 1), 10000);
    CHECK_EQ(hits(&steep, 90000, 10000, false, AQM_DROP, 1), 10000);
    CHECK_EQ(hits(&gentle, 180000, 10000, false, AQM_DROP, 1), 10000);
    uint64_t before = 0;
    for (uint64_t backlog = 36000; backlog <= 180000; backlog += 12000) { /* rises all the way */
        uint64_t now = hits(&gentle, backlog, 100000, false, AQM_DROP, 1);
        CHECK(now >= before);
        before = now;
    }
}

/* A packet's chance of a hit grows with its size. So with packets of all sizes, the bytes hit are in proportion to
 * bytes squared. */
static void large_packets_are_hit_in_proportion(void)
{
    struct aqm_params params = parsed("red:min=30000,max=90000,p=2%,weight=100%");
    struct aqm aqm = {0};
    const uint64_t n = 2000000;
    uint64_t key = random_key(3, 0, 9), hit[2] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint32_t large = (uint32_t)(random_u64(77, i) & 1);
        hit[large] += aqm_enqueue(&aqm, &params, i, 60000, large ? 1500 : 500, false, key, i) == AQM_DROP;
    }
    double share = (double)hit[1] / (double)(hit[0] + hit[1]), sigma = sqrt(0.75 * 0.25 / (double)(hit[0] + hit[1]));
    CHECK(fabs(share - 0.75) < 3.89 * sigma + 0.005); /* spreading ties neighbours together a little */
}

static void ecn_marks_instead(void)
{
    struct aqm_params params = parsed("red:min=30000,max=90000,p=10%,weight=100%,ecn=on");
    struct aqm_params off = params;
    off.ecn = false;
    uint64_t dropped = hits(&off, 60000, 100000, true, AQM_DROP, 1);
    CHECK_EQ(hits(&params, 60000, 100000, true, AQM_MARK, 1), dropped);
    CHECK_EQ(hits(&params, 60000, 100000, true, AQM_DROP, 1), 0);
    CHECK_EQ(hits(&params, 60000, 100000, false, AQM_DROP, 1), dropped);
    CHECK_EQ(hits(&params, 200000, 1000, true, AQM_DROP, 1), 1000); /* too late for marks */
}

/* 100 Mbit/s: 1,500 bytes take 120 us. */
static void idle_time_lowers_the_average(void)
{
    struct aqm_params params = parsed("red:weight=0.2%,packet=1500");
    params.link_rate_bps = 100000000;
    struct aqm aqm = {0};
    for (uint64_t i = 0; i < 10000; i++)
        aqm_enqueue(&aqm, &params, i * 1000, 20000, USUAL, false, 1, i);
    double before = aqm.red.average_bytes;
    CHECK(fabs(before - 20000) < 1);
    aqm_dequeue(&aqm, &params, NC_NS_PER_S, 0, 0, USUAL, false, 1, 0); /* out at 1 s + 120 us */
    aqm_enqueue(&aqm, &params, NC_NS_PER_S + 120000 + 100 * 120000 + 60000, 0, USUAL, false, 1, 0);
    CHECK(fabs(aqm.red.average_bytes - before * pow(0.998, 100)) < 1e-6);
    /* the same again: no packet waited in front of the previous one */
    aqm_enqueue(&aqm, &params, 3600 * NC_NS_PER_S, 0, USUAL, false, 1, 0);
    CHECK(aqm.red.average_bytes < 1e-100);
}

/* A line at half load never has two packets waiting, so nothing is hit. At 1.2 times its rate the average settles where
 * the curve drops the excess: 2 p_b = 1 - 1/1.2. */
static void on_a_line(void)
{
    struct aqm_line line;
    aqm_line_init(&line, "red:min=30000,max=90000,p=10%", 100000000, random_key(1, 0, 9));
    for (uint64_t i = 0; i < 100000; i++)
        aqm_line_arrive(&line, i * 240000, USUAL, false);
    CHECK_EQ(line.dropped_in + line.dropped_out + line.marked, 0);
    aqm_line_free(&line);

    aqm_line_init(&line, "red:min=30000,max=90000,p=10%", 100000000, random_key(1, 0, 9));
    double sum = 0;
    const uint64_t n = 400000, warm = 100000;
    uint64_t dropped = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t was = line.dropped_in;
        aqm_line_arrive(&line, i * 100000, USUAL, false);
        if (i < warm)
            continue;
        sum += line.aqm.red.average_bytes;
        dropped += line.dropped_in - was;
    }
    double average = sum / (double)(n - warm), share = (double)dropped / (double)(n - warm);
    CHECK(fabs(share - (1 - 1 / 1.2)) < 0.002);
    CHECK(fabs(average - (30000 + 60000 * share / 2 / 0.1)) < 3000);
    aqm_line_free(&line);
}

int main(void)
{
    RUN(share_follows_the_curve);
    RUN(gaps_between_hits_are_uniform);
    RUN(ends_of_the_curve);
    RUN(large_packets_are_hit_in_proportion);
    RUN(ecn_marks_instead);
    RUN(idle_time_lowers_the_average);
    RUN(on_a_line);
    return 0;
}
