/* When packets are due: exact rates over the whole range, bursts, Poisson gaps, sizes, times from a file; and the
 * statistics of their punctuality. Time is virtual: the clock is a number. */
#include "schedule.h"

#include <math.h>

#include "check.h"
#include "departures.h"
#include "punctuality.h"
#include "seeded.h"
#include "sizes.h"

#define S UINT64_C(1000000000)

/* A loop like that of `push`, whose process stops now and then for up to `away_ns`. */
static struct pl_punctuality *send_all(struct pl_schedule *schedule, struct seeded *seeded, uint32_t away_ns)
{
    struct pl_punctuality *found = calloc(1, sizeof *found);
    found->timed = true;
    pl_schedule_start(schedule);
    uint64_t now = 0;
    for (uint64_t due_ns; (due_ns = pl_schedule_due(schedule)) != PL_NEVER; pl_schedule_advance(schedule)) {
        if (due_ns > now)
            now = due_ns + (away_ns && seeded_below(seeded, 64) == 0 ? seeded_below(seeded, away_ns) : 0);
        pl_punctuality_add(found, due_ns, now);
    }
    return found;
}

static void any_rate_is_exact(void)
{
    struct seeded seeded = seeded_start();
    static const uint64_t rates[] = {1, 2, 3, 7, 10, 99, 1000, 14881, 33333, 199999, 200000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct pl_schedule schedule = {.pps = rates[i], .burst = 1, .duration_ns = (rates[i] < 100 ? 100 : 3) * S};
        struct pl_punctuality *found = send_all(&schedule, &seeded, 2000000);
        uint64_t wanted = rates[i] * (schedule.duration_ns / S);
        CHECK_EQ(found->n, wanted);
        double error = fabs(pl_punctuality_pps(found) / (double)rates[i] - 1);
        CHECK(error < 0.001);
        CHECK(found->late.max < 2000000);
        free(found);
        schedule.number = wanted * 1000; /* errors do not accumulate over a long time */
        schedule.duration_ns = 0;
        CHECK_EQ(pl_schedule_due(&schedule), schedule.duration_ns + (rates[i] < 100 ? 100 : 3) * S * 1000);
    }
}

static void a_late_process_catches_up(void)
{
    struct pl_schedule schedule = {.pps = 200000, .burst = 1, .duration_ns = S};
    struct pl_punctuality *found = calloc(1, sizeof *found);
    found->timed = true;
    pl_schedule_start(&schedule);
    for (uint64_t now = 0; pl_schedule_due(&schedule) != PL_NEVER; now += now == 500 * 5000 ? 50 * 1000000 : 5000)
        while (pl_schedule_due(&schedule) <= now) {
            pl_punctuality_add(found, pl_schedule_due(&schedule), now);
            pl_schedule_advance(&schedule);
        }
    CHECK_EQ(found->n, 200000);
    CHECK_EQ(found->late.max, 50 * 1000000 - 5000);
    CHECK_EQ(found->gap.max, 50 * 1000000 - 5000); /* the gap that the halt made is reported */
    CHECK(fabs(pl_punctuality_pps(found) / 200000 - 1) < 1e-9);
    free(found);
}

static void bursts_keep_the_rate(void)
{
    struct pl_schedule schedule = {.kind = PL_SCHEDULE_BURST, .pps = 1000, .burst = 16, .packets = 160};
    struct pl_punctuality *found = send_all(&schedule, NULL, 0);
    CHECK_EQ(found->n, 160);
    CHECK_EQ(found->last_due_ns, 9 * 16 * S / 1000);
    CHECK(fabs(pl_punctuality_pps(found) - 1000) < 1e-6);
    CHECK_EQ(found->gap.max, 0);
    free(found);
}

/* The mean of n exponential gaps must be within 5 standard deviations of the mean (each mean / sqrt(n)); one seed in a
 * million fails. The same holds for their standard deviation, which equals the mean; its own standard deviation is mean
 * * sqrt(2 / n), because the kurtosis is 9. */
static void poisson_gaps_are_exponential(void)
{
    struct seeded seeded = seeded_start();
    enum { N = 200000, RATE = 50000 };
    struct pl_schedule schedule = {
        .kind = PL_SCHEDULE_POISSON, .pps = RATE, .packets = N + 1, .seed = seeded_next(&seeded)};
    double sum = 0, squares = 0, mean = 1e9 / RATE;
    uint64_t before = 0;
    pl_schedule_start(&schedule);
    CHECK_EQ(pl_schedule_due(&schedule), 0);
    for (int i = 0; i < N; i++) {
        pl_schedule_advance(&schedule);
        double gap = (double)(pl_schedule_due(&schedule) - before);
        before = pl_schedule_due(&schedule);
        sum += gap;
        squares += gap * gap;
    }
    double deviation = sqrt(squares / N - sum / N * (sum / N));
    CHECK(fabs(sum / N - mean) < 5 * mean / sqrt(N));
    CHECK(fabs(deviation - mean) < 5 * mean * sqrt(2.0 / N));
}

static void a_limit_ends_the_packets(void)
{
    uint64_t times[] = {0, 5, 5, 9};
    struct pl_schedule schedule = {.kind = PL_SCHEDULE_TRACE, .trace_ns = times, .trace_n = 4, .duration_ns = 9};
    struct pl_punctuality *found = send_all(&schedule, NULL, 0);
    CHECK_EQ(found->n, 3);
    free(found);
    schedule.duration_ns = 0;
    schedule.packets = 2;
    found = send_all(&schedule, NULL, 0);
    CHECK_EQ(found->n, 2);
    free(found);
}

static void a_mix_of_sizes_has_its_shares(void)
{
    struct pl_sizes sizes;
    struct nc_error error;
    uint64_t of_64 = 0, of_576 = 0;
    const char *text = "64:7,576:4,1500";
    CHECK_DONE(pl_sizes_read(&sizes, text, 60, 65500, &error), text, error);
    CHECK_EQ(pl_sizes_largest(&sizes), 1500);
    for (uint64_t n = 1; n <= 12000; n++) {
        uint32_t size = pl_sizes_next(&sizes);
        of_64 += size == 64;
        of_576 += size == 576;
        CHECK(of_64 * 12 <= n * 7 + 12 && of_64 * 12 + 12 >= n * 7);
        CHECK(of_576 * 12 <= n * 4 + 12 && of_576 * 12 + 12 >= n * 4);
    }
    static const char *const wrong[] = {"", "59", "64:", "64:0", "64,", "x", "70000", "64:1000001", "64:7:7"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_EQ(pl_sizes_read(&sizes, wrong[i], 60, 65500, &error), -1);
        CHECK(strncmp(error.text, "--size '", 8) == 0);
    }
}

static int read_times(struct pl_departures *departures, const char *text, struct nc_error *error)
{
    return pl_departures_read(departures, "t", (const uint8_t *)text, strlen(text), error);
}

static void times_come_from_a_file(void)
{
    struct pl_departures departures;
    struct nc_error error;
    const char *text = "# gaps\n0\n1ms\r\n\n1ms\n0.5";
    CHECK_DONE(read_times(&departures, text, &error), text, error);
    CHECK_EQ(departures.n, 4);
    CHECK_EQ(departures.at_ns[1], 1000000);
    CHECK_EQ(departures.at_ns[3], S / 2);
    pl_departures_free(&departures);
    static const char *const wrong[][2] = {
        {"", "'t': has no time"}, {"1ms\nx", "'t' line 2: 'x': "}, {"2ms\n1ms", "'t' line 2: '1ms' is before"}};
    for (size_t i = 0; i < 3; i++) {
        CHECK_EQ(read_times(&departures, wrong[i][0], &error), -1);
        if (strncmp(error.text, wrong[i][1], strlen(wrong[i][1])) != 0)
            CHECK_STR(error.text, wrong[i][1]);
        pl_departures_free(&departures);
    }
}

int main(void)
{
    RUN(any_rate_is_exact);
    RUN(a_late_process_catches_up);
    RUN(bursts_keep_the_rate);
    RUN(poisson_gaps_are_exponential);
    RUN(a_limit_ends_the_packets);
    RUN(a_mix_of_sizes_has_its_shares);
    RUN(times_come_from_a_file);
    return 0;
}
