/* Two clocks are compared by the packets that both captures show: offsets up to an hour, drifts up to 200 ppm, and
 * steps, over symmetric and asymmetric paths with queues and jitter. Captures with a single clock must not be
 * changed. */
#include <math.h>

#include "check.h"
#include "clock_estimate.h"
#include "seeded.h"

#define S INT64_C(1000000000)
#define MS INT64_C(1000000)
#define PAIRS 100
#define EPOCH (INT64_C(1700000000) * S)

/* A path and the relation between the clocks at its ends. */
struct world {
    int64_t away_ns, back_ns, jitter_ns, queue_ns, sawtooth_ns, span_ns;
    int64_t offset_ns, step_ns, step_at_ns;
    bool first_steps;
    double drift;
    int packets;
};

static double fraction(struct seeded *seeded)
{
    return ((double)seeded_below(seeded, 1U << 30) + 0.5) / (1U << 30);
}

static int64_t between(struct seeded *seeded, int64_t least, int64_t most)
{
    return least + (int64_t)((double)(most - least) * fraction(seeded));
}

static int64_t exponential(struct seeded *seeded, int64_t mean_ns)
{
    return (int64_t)(-(double)mean_ns * log(fraction(seeded)));
}

/* The times that the clocks show. One of them may be stepped so that the second gains `step_ns` on the first. */
static int64_t first_clock(const struct world *world, int64_t t_ns)
{
    return t_ns - (world->first_steps && t_ns - EPOCH >= world->step_at_ns ? world->step_ns : 0);
}

static int64_t second_clock(const struct world *world, int64_t t_ns)
{
    int64_t since = t_ns - EPOCH;
    return t_ns + world->offset_ns + (int64_t)llround(world->drift * (double)since) +
           (!world->first_steps && since >= world->step_at_ns ? world->step_ns : 0);
}

/* The true time at which a packet passed a capture point. */
struct passage {
    int64_t t_ns;
    size_t point;
};

static int by_time(const void *left, const void *right)
{
    const struct passage *a = left, *b = right;
    return a->t_ns != b->t_ns ? (a->t_ns < b->t_ns ? -1 : 1) : (a->point > b->point) - (a->point < b->point);
}

/* Adds a packet that leaves at `from_ns` and arrives at `to_ns`: from the first capture's machine, or to it
 * (`back`). */
static void add(pl_clock_points *points, const struct world *world, struct passage *passages[2], int64_t from_ns,
                int64_t to_ns, bool back, bool data)
{
    int64_t first = back ? to_ns : from_ns, second = back ? from_ns : to_ns;
    int64_t shown[2] = {first_clock(world, first), second_clock(world, second)};
    struct pl_clock_point point = {.t_ns = shown[0], .back = back, .size = pl_clock_size(data ? 1448 : 0, 12)};
    point.difference_ns = back ? shown[0] - shown[1] : shown[1] - shown[0];
    passages[0][points->n] = (struct passage){first, points->n};
    passages[1][points->n] = (struct passage){second, points->n};
    CHECK_EQ(PL_APPEND(points, point), 0);
}

/* Data in one direction, behind a queue that grows and falls; acknowledgements in the other. */
static void run_world(const struct world *world, struct seeded *seeded, pl_clock_points *points)
{
    struct passage *passages[2];
    for (int end = 0; end < 2; end++)
        passages[end] = calloc(2 * (size_t)world->packets, sizeof **passages);
    for (int i = 0; i < world->packets; i++) {
        int64_t sent = EPOCH + (int64_t)((double)world->span_ns * i / world->packets);
        double phase = fmod((double)(sent - EPOCH) / (double)world->sawtooth_ns, 1);
        int64_t queue = i < 10 ? 0 : (int64_t)((double)world->queue_ns * phase);
        int64_t there = sent + world->away_ns + queue + exponential(seeded, world->jitter_ns) + (i > 2) * MS / 10;
        int64_t answered = there + 20000 + exponential(seeded, 10000);
        int64_t again = answered + world->back_ns + exponential(seeded, world->jitter_ns / 4);
        add(points, world, passages, sent, there, false, i > 2);
        add(points, world, passages, answered, again, true, false);
    }
    for (int end = 0; end < 2; end++) {
        qsort(passages[end], points->n, sizeof **passages, by_time);
        for (size_t i = 0; i < points->n; i++)
            points->at[passages[end][i].point].frames[end] = i + 1;
        free(passages[end]);
    }
}

static struct world draw(struct seeded *seeded, bool symmetric)
{
    int64_t rtt = between(seeded, 10 * MS, 300 * MS);
    struct world world = {
        .jitter_ns = seeded_below(seeded, 2) ? between(seeded, 1000, 100000) : 1000,
        .queue_ns = seeded_below(seeded, 3) ? between(seeded, 0, rtt) : 0,
        .sawtooth_ns = between(seeded, S, 20 * S),
        .span_ns = between(seeded, 20 * S, 120 * S),
        .packets = 2000 + (int)seeded_below(seeded, 10000),
        .offset_ns = between(seeded, -3600 * S, 3600 * S),
        .drift = ((double)seeded_below(seeded, 400001) - 200000) * 1e-9,
    };
    world.away_ns = symmetric ? rtt / 2 : between(seeded, rtt / 10, rtt * 9 / 10);
    world.back_ns = rtt - world.away_ns;
    return world;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Whether the estimate is within its stated errors, at times that certainly belong to a piece. */
static bool is_right(const struct world *world, const struct pl_clock *clock, bool symmetric)
{
    double slope_error = fabs(clock->drift - world->drift);
    if (slope_error > clock->drift_error)
        return false;
    unsigned pieces = clock->piece_n ? clock->piece_n : 1;
    if (pieces != (world->step_ns ? 2U : 1U))
        return false;
    int64_t allowed = symmetric ? clock->error_ns : clock->bound_ns;
    for (unsigned i = 0; i < pieces; i++) {
        int64_t truth = world->offset_ns + (int64_t)llround(world->drift * (double)(clock->at_ns - EPOCH)) +
                        (i ? world->step_ns : 0);
        int64_t offset = clock->piece_n ? clock->pieces[i].offset_ns : 0;
        if (llabs(offset - truth) > allowed)
            return false;
    }
    return true;
}

static struct world draw_pair(struct seeded *seeded, int number)
{
    struct world world = draw(seeded, number % 2 == 0);
    if (number % 5 == 0) { /* half of them symmetric */
        world.step_ns = between(seeded, 50 * MS, 5 * S) * (seeded_below(seeded, 2) ? 1 : -1);
        world.first_steps = seeded_below(seeded, 2);
        world.step_at_ns = between(seeded, world.span_ns / 20, world.span_ns * 19 / 20);
    }
    return world;
}

static void show(int number, const struct world *world, const struct pl_clock *clock)
{
    int64_t truth_ns = world->offset_ns + llround(world->drift * (double)(clock->at_ns - EPOCH));
    printf("wrong %d: drift %.3f, not %.3f (+- %.3f) ppm, offset %.3f ms away (+- %.3f, %.3f), %u pieces, capture %d\n",
           number, clock->drift * 1e6, world->drift * 1e6, clock->drift_error * 1e6,
           (double)(clock->pieces[0].offset_ns - truth_ns) / 1e6, (double)clock->error_ns / 1e6,
           (double)clock->bound_ns / 1e6, clock->piece_n, clock->stepped);
}

static void offsets_drifts_and_steps_are_within_their_errors(void)
{
    struct seeded seeded = seeded_start();
    double ppm[PAIRS], share[PAIRS];
    int right = 0;
    size_t n = 0;
    for (int i = 0; i < PAIRS; i++) {
        bool symmetric = i % 2 == 0;
        pl_clock_points points = {.n = 0};
        struct world world = draw_pair(&seeded, i);
        struct pl_clock clock = {.kind = PL_CLOCK_UNKNOWN};
        run_world(&world, &seeded, &points);
        CHECK_EQ(pl_clock_estimate(&points, 1, &clock), 0);
        CHECK(clock.kind == PL_CLOCK_TWO);
        if (is_right(&world, &clock, symmetric))
            right++;
        else
            show(i, &world, &clock);
        if (symmetric) {
            ppm[n] = clock.drift_error * 1e6;
            share[n++] = (double)clock.error_ns / (double)(world.away_ns + world.back_ns);
        }
        free(points.at);
    }
    qsort(ppm, n, sizeof *ppm, compare);
    qsort(share, n, sizeof *share, compare);
    printf("right %d of %d; medians %.3f ppm, RTT/%.0f\n", right, PAIRS, ppm[n / 2], 1 / share[n / 2]);
    CHECK(right >= 95);
    CHECK(ppm[n / 2] <= 2);
    CHECK(share[n / 2] <= 1.0 / 20);
}

static void one_clock_stays_as_it_is(void)
{
    struct seeded seeded = seeded_start();
    for (int i = 0; i < PAIRS; i++) {
        pl_clock_points points = {.n = 0};
        struct world world = draw(&seeded, i % 2 == 0);
        world.offset_ns = 0;
        world.drift = 0;
        run_world(&world, &seeded, &points);
        struct pl_clock clock = {.kind = PL_CLOCK_UNKNOWN};
        CHECK_EQ(pl_clock_estimate(&points, 1, &clock), 0);
        if (clock.kind != PL_CLOCK_ONE)
            printf("%d: drift %.3f +- %.3f pieces %u\n", i, clock.drift * 1e6, clock.drift_error * 1e6, clock.piece_n);
        CHECK_EQ(clock.kind, PL_CLOCK_ONE);
        CHECK_EQ(pl_clock_map(&clock, 1, 7, EPOCH + 1), EPOCH + 1);
        free(points.at);
    }
}

/* One clock. Data wait 80 ms in a queue, which an outage empties once: the first data after it meet no queue, and all
 * acknowledgements around that time have SACK blocks. The least delays of both directions are then shorter together than
 * any round trip that packets of the usual sizes made. */
static void a_queue_that_an_outage_empties_is_no_step(void)
{
    pl_clock_points points = {.n = 0};
    struct pl_clock clock = {.kind = PL_CLOCK_UNKNOWN};
    for (int64_t t = 0; t < 10000; t += 5) {
        bool emptied = t >= 5000 && t < 5300, shown = t >= 4700 && t < 5600;
        for (int back = 0; back < 2; back++) {
            int64_t delay_ns = 10 * MS + (back || emptied ? 0 : 80 * MS) + t % 7 * 1000;
            struct pl_clock_point point = {
                .t_ns = EPOCH + t * MS,
                .difference_ns = delay_ns,
                .back = back,
                .size = back ? pl_clock_size(0, shown ? 24 : 12) : pl_clock_size(1448, 12),
            };
            point.frames[0] = point.frames[1] = points.n + 1;
            CHECK_EQ(PL_APPEND(&points, point), 0);
        }
    }
    CHECK_EQ(pl_clock_estimate(&points, 2, &clock), 0);
    CHECK_EQ(clock.kind, PL_CLOCK_ONE);
    free(points.at);
}

int main(void)
{
    RUN(offsets_drifts_and_steps_are_within_their_errors);
    RUN(one_clock_stays_as_it_is);
    RUN(a_queue_that_an_outage_empties_is_no_step);
    return 0;
}
