/* A policer is found by a rate and a burst that explain which parts were lost (policer.h). Its bucket is behind a line
 * of 20 MB/s, over which parts arrive back to back. */
#include "policer.h"

#include <math.h>
#include <stdio.h>

#include "check.h"

enum { PART = 1500, RTT_MS = 40 };
static const double line = 20e6;

/* The path of the parts. `gate` decides whether a part passes at a time in ns. */
struct path {
    struct pl_policer policer;
    double tokens, depth, rate; /* of the token bucket, in octets and octets per second */
    double free_ns, filled_ns;  /* when the line becomes free, and when tokens were last added */
    double level;               /* of a queue, as the line's time in ns */
    uint64_t state;
    int32_t runs, lost;
    bool was_lost;
    bool (*gate)(struct path *path, double at_ns);
};

static double even(struct path *path)
{
    path->state = path->state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (double)(path->state >> 33) / (double)(UINT64_C(1) << 31);
}

static bool bucket(struct path *path, double at_ns)
{
    path->tokens = fmin(path->depth, path->tokens + path->rate * (at_ns - path->filled_ns) / 1e9);
    path->filled_ns = at_ns;
    bool passes = path->tokens >= PART;
    path->tokens -= passes ? PART : 0;
    return passes;
}

static bool chance(struct path *path, double at_ns)
{
    (void)at_ns;
    return even(path) >= 0.03;
}

/* A queue of 60 parts in front of the line. */
static bool full_queue(struct path *path, double at_ns)
{
    (void)at_ns;
    return path->level <= 60 * PART / line * 1e9;
}

/* Queue management drops more parts the longer the queue is. */
static bool managed(struct path *path, double at_ns)
{
    (void)at_ns;
    return even(path) >= path->level * line / 1e9 / PART / 600;
}

/* Sends a part every gap_ns from t_ns on. Returns the number of lost parts. */
static int32_t send(struct path *path, double t_ns, double gap_ns, int n)
{
    int32_t lost = 0;
    for (int i = 0; i < n; i++, t_ns += gap_ns) {
        double work_ns = PART / line * 1e9, begin_ns = fmax(path->free_ns, t_ns);
        path->level = begin_ns - t_ns;
        bool behind = path->gate == bucket, passes = behind || path->gate(path, t_ns);
        path->free_ns = passes ? begin_ns + work_ns : path->free_ns;
        passes = passes && (!behind || bucket(path, path->free_ns));
        path->runs += !passes && !path->was_lost;
        path->was_lost = !passes;
        lost += !passes;
        CHECK_EQ(pl_policer_add(&path->policer, (int64_t)t_ns, passes ? (int64_t)path->free_ns + 5000000 : -1, PART,
                                passes ? PL_POLICED_PASSED : path->runs - 1),
                 0);
    }
    path->lost += lost;
    return lost;
}

/* A sender with a window: one burst per round trip, of varying length. The window doubles at first, and then grows by
 * one part; a loss halves it. */
static void transfer(struct path *path, int rounds)
{
    double window = 10, enough = 1e9;
    for (int round = 0; round < rounds; round++) {
        int32_t lost = send(path, round * RTT_MS * 1e6, RTT_MS * 1e6 / window * (0.1 + 0.8 * even(path)), (int)window);
        enough = lost ? window / 2 : enough;
        window = lost ? fmax(window / 2, 4) : window < enough ? window * 2 : window + 1;
    }
}

static struct pl_policed found(struct path *path, int rounds)
{
    transfer(path, rounds);
    struct pl_policed policed = pl_policer_find(&path->policer, line, 0);
    return policed;
}

static void a_bucket_is_found_with_its_rate_and_its_burst(void)
{
    static const double rates[] = {0.3e6, 1e6, 3e6, 10e6}, depths_ms[] = {10, 40, 100};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++) {
            double depth = fmax(rates[i] * depths_ms[j] / 1e3, 10 * PART);
            struct path path = {.tokens = depth, .depth = depth, .rate = rates[i], .gate = bucket, .state = 5};
            struct pl_policed policed = found(&path, 300);
            if (fabs(policed.rate / rates[i] - 1) > 0.03 || fabs(policed.burst / depth - 1) > 0.1)
                fprintf(stderr, "rate %g of %g, burst %g of %g\n", policed.rate, rates[i], policed.burst, depth);
            CHECK(fabs(policed.rate / rates[i] - 1) <= 0.03);
            CHECK(fabs(policed.burst - depth) <= fmax(0.1 * depth, 2 * PART));
            CHECK(!policed.open);
            CHECK(policed.waits < rates[i] / line + 0.1); /* a burst waits only for the line */
            pl_policer_free(&path.policer);
        }
}

static void what_it_dropped_is_marked(void)
{
    struct path path = {.tokens = 60000, .depth = 60000, .rate = 2e6, .gate = bucket};
    int32_t marked = 0;
    CHECK(found(&path, 800).rate > 0);
    for (size_t i = 0; i < path.policer.parts.n; i++)
        marked += path.policer.parts.at[i].explained;
    CHECK(marked >= path.lost * 9 / 10 && marked <= path.lost);
    pl_policer_free(&path.policer);
}

/* Late time stamps change the level. */
static void late_time_stamps_leave_it_found(void)
{
    struct path path = {.tokens = 60000, .depth = 60000, .rate = 2e6, .gate = bucket, .state = 3};
    struct pl_policer late = {.runs = 0};
    const double late_ns = 2e5;
    transfer(&path, 800);
    for (size_t i = 0; i < path.policer.parts.n; i++) {
        const struct pl_policed_part *part = &path.policer.parts.at[i];
        int64_t t_ns = part->t_ns - (int64_t)(late_ns * log(1 - even(&path)));
        CHECK_EQ(pl_policer_add(&late, part->t_ns, part->run < 0 ? t_ns : -1, PART, part->run), 0);
    }
    struct pl_policed policed = pl_policer_find(&late, line, late_ns);
    if (fabs(policed.rate / 2e6 - 1) > 0.05)
        fprintf(stderr, "rate %g, burst %g\n", policed.rate, policed.burst);
    CHECK(fabs(policed.rate / 2e6 - 1) <= 0.05);
    pl_policer_free(&late);
    pl_policer_free(&path.policer);
}

static void what_else_drops_is_none(void)
{
    bool (*const gates[])(struct path *, double) = {chance, full_queue, managed};
    for (size_t i = 0; i < 3; i++) {
        struct path path = {.gate = gates[i], .state = 7};
        CHECK_EQ(found(&path, 400).rate, 0);
        CHECK(path.runs >= 8);
        pl_policer_free(&path.policer);
    }
}

/* Bunched arrivals look like those of a faster line. Then the bucket that is found is a full queue of the bottleneck
 * itself: parts wait in proportion to the level of the bucket. */
static void a_queue_at_a_line_that_seems_faster_makes_parts_wait(void)
{
    unsigned found_n = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct path path = {.gate = full_queue, .state = seed};
        transfer(&path, 400);
        struct pl_policed policed = pl_policer_find(&path.policer, 4 * line, 0);
        found_n += policed.rate > 0;
        if (policed.rate > 0 && !policed.open && policed.waits < 0.7)
            fprintf(stderr, "rate %g, burst %g, waits %g\n", policed.rate, policed.burst, policed.waits);
        CHECK(policed.rate <= 0 || policed.open || policed.waits >= 0.7);
        pl_policer_free(&path.policer);
    }
    CHECK(found_n >= 5);
}

/* Bursts of a few parts, far apart, do not show a rate. */
static void short_bursts_that_are_far_apart_have_no_rate(void)
{
    struct path path = {.tokens = 3 * PART, .depth = 3 * PART, .rate = 3e6, .gate = bucket, .state = 2};
    for (int round = 0; round < 200; round++)
        send(&path, round * RTT_MS * 1e6, 1e3, 3 + (even(&path) < 0.3));
    struct pl_policed policed = pl_policer_find(&path.policer, line, 0);
    CHECK(path.runs > 30);
    CHECK(policed.rate <= 0 || policed.open);
    pl_policer_free(&path.policer);
}

/* Only four losses, which too many different buckets would explain. */
static void few_losses_show_nothing(void)
{
    struct path path = {.tokens = 60000, .depth = 60000, .rate = 2e6, .gate = bucket};
    int rounds = 1;
    for (; path.runs < 4; rounds++)
        send(&path, rounds * RTT_MS * 1e6, 1e5, 50 + rounds);
    CHECK(pl_policer_find(&path.policer, line, 0).rate <= 0 || path.runs > 4);
    pl_policer_free(&path.policer);
}

int main(void)
{
    RUN(a_bucket_is_found_with_its_rate_and_its_burst);
    RUN(what_it_dropped_is_marked);
    RUN(late_time_stamps_leave_it_found);
    RUN(what_else_drops_is_none);
    RUN(a_queue_at_a_line_that_seems_faster_makes_parts_wait);
    RUN(short_bursts_that_are_far_apart_have_no_rate);
    RUN(few_losses_show_nothing);
    return 0;
}
