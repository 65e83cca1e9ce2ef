/* The delay of a path without queues, found from the packets of a simulated sender. The simulation knows the true
 * queueing delays. It has a bottleneck with a queue, a delay that changes, and several kinds of senders, from a paced
 * one to one that always fills the queue. */
#include "base_finder.h"

#include <math.h>

#include "check.h"
#include "seeded.h"

#define MS 1e6
enum { PARTS = 60000, CHANGES = 6, FLIGHT = 8192, DRAWS = 300 };
enum control { PACED, PAUSES, SMALL_WINDOW, FILLS_THE_QUEUE, HALVES, CONTROL_N };

struct path {
    double part_ns, queue_ns; /* the bottleneck's time for a part; the longest queue */
    double back_ns;
    double t_ns[CHANGES + 1], delay_ns[CHANGES + 1]; /* from t_ns[i] on, the delay is delay_ns[i] */
    int changes;
};

struct sent {
    int64_t t_ns, received_ns; /* -1: lost */
    double wait_ns, delay_ns;  /* wait_ns: in the queue; delay_ns: of the path */
    bool held;                 /* the part waited for earlier ones: it was sent after the path became shorter, but
                                * cannot overtake them */
};

static struct sent sent[PARTS];
static double acks[FLIGHT];

static double delay_at(const struct path *path, double t_ns)
{
    int i = path->changes;
    while (i > 0 && path->t_ns[i] > t_ns)
        i--;
    return path->delay_ns[i];
}

struct sender {
    enum control control;
    double window, threshold;
    unsigned first, n; /* of acks */
    double lost_ns, cut_ns;
};

/* Takes the acknowledgements that have come up to now. */
static void take_acks(struct sender *s, double now_ns)
{
    while (s->n && acks[s->first % FLIGHT] <= now_ns) {
        s->first++;
        s->n--;
        if (s->control == HALVES)
            s->window += s->window < s->threshold ? 1 : 1 / s->window;
    }
    if (s->control == HALVES && s->lost_ns > 0 && now_ns >= s->lost_ns) {
        s->window = s->threshold = fmax(s->window / 2, 2);
        s->lost_ns = 0;
    }
}

/* When the next part is sent. */
static double next_ns(struct sender *s, const struct path *path, struct seeded *seeded, double now_ns, size_t i)
{
    if (s->control == PACED)
        return now_ns + path->part_ns * 1.4;
    if (s->control == PAUSES)
        return now_ns + (i % 40 ? 1000 : path->part_ns * 40 * (1 + (double)(seeded_next(seeded) % 100) / 100));
    double next = now_ns + 1000; /* the sender's own line */
    take_acks(s, next);
    while (s->n >= (unsigned)s->window) {
        next = fmax(next, acks[s->first % FLIGHT]);
        take_acks(s, next);
    }
    return next;
}

static size_t transfer(const struct path *path, enum control control, struct seeded *seeded, double end_ns)
{
    double round_parts = (2 * path->delay_ns[0] + path->back_ns) / path->part_ns;
    double full = path->queue_ns / path->part_ns;
    struct sender s = {.control = control, .window = 10, .threshold = 1e9};
    if (control == SMALL_WINDOW)
        s.window = fmax(round_parts / 3, 2);
    if (control == FILLS_THE_QUEUE)
        s.window = fmin(round_parts + full * 0.7, FLIGHT - 2);
    double now_ns = 0, free_ns = 0, last_ns = 0;
    size_t n = 0;
    while (n < PARTS && now_ns < end_ns) {
        double wait_ns = fmax(free_ns - now_ns, 0);
        sent[n] = (struct sent){.t_ns = (int64_t)now_ns, .received_ns = -1, .wait_ns = wait_ns};
        if (wait_ns <= path->queue_ns) {
            free_ns = now_ns + wait_ns + path->part_ns;
            sent[n].delay_ns = delay_at(path, free_ns);
            sent[n].held = last_ns > free_ns + sent[n].delay_ns;
            last_ns = fmax(last_ns, free_ns + sent[n].delay_ns);
            sent[n].received_ns = (int64_t)last_ns;
        } else if (s.lost_ns == 0 && now_ns > s.cut_ns)
            s.lost_ns = s.cut_ns = now_ns + delay_at(path, free_ns) + path->back_ns + wait_ns;
        acks[(s.first + s.n++) % FLIGHT] = last_ns + path->back_ns; /* of what is lost, a duplicate */
        now_ns = next_ns(&s, path, seeded, now_ns, ++n);
    }
    return n;
}

static void find(const struct path *path, size_t n, struct pl_base *base)
{
    struct pl_base_noise noise = {.off = {.given = 0}};
    struct pl_base_finder finder;
    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            pl_base_finder_begin(&finder, pl_base_noise_end(&noise), 0);
        for (size_t i = 0; i < n; i++) {
            const struct pl_base_part part = {.t_ns = sent[i].t_ns,
                                              .delay_ns = (double)(sent[i].received_ns - sent[i].t_ns) - path->part_ns,
                                              .work_ns = path->part_ns,
                                              .queued = true};
            if (sent[i].received_ns < 0 && pass)
                pl_base_finder_lost(&finder, path->part_ns);
            else if (sent[i].received_ns < 0)
                pl_base_noise_lost(&noise, path->part_ns);
            else
                CHECK_EQ(pass ? pl_base_finder_add(&finder, &part) : pl_base_noise_add(&noise, &part), 0);
        }
    }
    CHECK_EQ(pl_base_finder_end(&finder, base), 0);
}

/* The share of parts for which the queue found is wrong by more than `exact_ns`. */
static double wrong_share(const struct path *path, size_t n, const struct pl_base *base, double exact_ns)
{
    double wrong = 0, arrived = 0;
    for (size_t i = 0; i < n; i++) {
        if (sent[i].received_ns < 0 || sent[i].held)
            continue;
        double delay_ns = (double)(sent[i].received_ns - sent[i].t_ns) - path->part_ns;
        double queue_ns = fmax(delay_ns - (double)pl_base_at(base, sent[i].t_ns), 0);
        wrong += fabs(queue_ns - sent[i].wait_ns) > exact_ns;
        arrived++;
    }
    return wrong / arrived;
}

/* Whether the path became longer by less than the bottleneck's time for the packets that were lost at that moment.
 * Delays do not show such a change. */
static bool hidden(const struct path *path, size_t n)
{
    double before_ns = sent[0].delay_ns, lost_ns = 0;
    for (size_t i = 0; i < n; i++) {
        if (sent[i].received_ns < 0) {
            lost_ns += path->part_ns;
            continue;
        }
        if (sent[i].delay_ns > before_ns && sent[i].delay_ns - before_ns <= lost_ns + MS / 10)
            return true;
        before_ns = sent[i].delay_ns;
        lost_ns = 0;
    }
    return false;
}

static double between(struct seeded *seeded, double low, double high)
{
    return low + (high - low) * (double)(seeded_next(seeded) >> 11) / 9007199254740992.0;
}

static struct path draw_path(struct seeded *seeded, int changes)
{
    struct path path = {.part_ns = 1500 * 8 / exp(between(seeded, log(0.01), log(0.2))), .changes = changes};
    path.delay_ns[0] = between(seeded, 2, 60) * MS;
    path.back_ns = between(seeded, 2, 60) * MS;
    path.queue_ns = fmax(between(seeded, 0.1, 2) * (path.delay_ns[0] + path.back_ns), 4 * path.part_ns);
    for (int i = 1; i <= changes; i++) {
        double step_ns = exp(between(seeded, log(0.3), log(40))) * MS, before_ns = path.delay_ns[i - 1];
        path.t_ns[i] = path.t_ns[i - 1] + between(seeded, 300, 900) * MS + 4 * before_ns;
        path.delay_ns[i] = before_ns + (seeded_next(seeded) % 2 || before_ns < step_ns + MS ? step_ns : -step_ns);
    }
    return path;
}

/* Up to six changes of 0.3 to 40 ms, up and down; 10 to 200 Mbit/s; queues of 0.1 to 2 round trips; five controls. */
static void queues_are_right_however_the_path_changes(void)
{
    struct seeded seeded = seeded_start();
    int told = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        enum control control = (enum control)(draw % CONTROL_N);
        struct path path = draw_path(&seeded, (int)seeded_below(&seeded, CHANGES + 1));
        struct pl_base base = {.least_ns = 0};
        size_t n = transfer(&path, control, &seeded, path.t_ns[path.changes] + 1000 * MS);
        find(&path, n, &base);
        double wrong = hidden(&path, n) ? 0 : wrong_share(&path, n, &base, MS / 10);
        if (wrong > 0.05)
            fprintf(stderr, "draw %d, control %d: %.1f %% of %zu parts wrong\n", draw, control, 100 * wrong, n);
        CHECK(wrong <= 0.05);
        told += !hidden(&path, n);
        pl_base_free(&base);
    }
    CHECK(told > DRAWS * 9 / 10);
}

/* Other traffic fills the queue in a saw-tooth: the queue rises at once and then drains. The path is not longer. */
static void a_queue_of_others_is_no_path(void)
{
    struct seeded seeded = seeded_start();
    struct path path = {.part_ns = MS / 8, .delay_ns = {20 * MS}};
    struct pl_base base = {.least_ns = 0};
    size_t n = 0;
    double others_ns = 0, now_ns = 0;
    for (; n < PARTS / 4; n++) {
        double gap_ns = path.part_ns * (2 + (double)seeded_below(&seeded, 100) / 50);
        others_ns = fmax(others_ns - gap_ns / 8, 0);
        if (n > 3000 && others_ns < MS)
            others_ns += between(&seeded, 5, 40) * MS;
        sent[n] = (struct sent){.t_ns = (int64_t)now_ns, .wait_ns = others_ns};
        sent[n].received_ns = sent[n].t_ns + (int64_t)(others_ns + path.part_ns + path.delay_ns[0]);
        now_ns += gap_ns;
    }
    find(&path, n, &base);
    CHECK(wrong_share(&path, n, &base, MS / 10) == 0);
    pl_base_free(&base);
}

/* Other traffic fills the queue from the third second on, and keeps it between 20 and 40 ms until the end. */
static void a_queue_of_others_that_never_drains_is_no_path(void)
{
    struct seeded seeded = seeded_start();
    struct path path = {.part_ns = MS / 8, .delay_ns = {20 * MS}};
    struct pl_base base = {.least_ns = 0};
    size_t n = 0;
    double others_ns = 0, now_ns = 0;
    for (; n < PARTS / 3; n++) {
        double gap_ns = path.part_ns * (2 + (double)seeded_below(&seeded, 100) / 50);
        others_ns = fmax(others_ns - gap_ns / 2, 0);
        while (now_ns > 3000 * MS && others_ns < 35 * MS && seeded_below(&seeded, 4) == 0)
            others_ns += between(&seeded, 0.3, 4) * MS;
        sent[n] = (struct sent){.t_ns = (int64_t)now_ns, .wait_ns = others_ns};
        sent[n].received_ns = sent[n].t_ns + (int64_t)(others_ns + path.part_ns + path.delay_ns[0]);
        now_ns += gap_ns;
    }
    find(&path, n, &base);
    CHECK(wrong_share(&path, n, &base, MS / 10) == 0);
    pl_base_free(&base);
}

/* Every time stamp is late by a random time with a mean of 1 ms. The path takes 20 ms all the time, or 30 ms more for
 * two seconds. */
static void late_time_stamps_are_no_path(void)
{
    struct seeded seeded = seeded_start();
    for (int longer = 0; longer < 2; longer++) {
        struct path path = {.part_ns = MS / 4, .delay_ns = {20 * MS, 50 * MS, 20 * MS}, .changes = longer ? 2 : 0};
        path.t_ns[1] = 1000 * MS, path.t_ns[2] = 3000 * MS;
        struct pl_base base = {.least_ns = 0};
        size_t n = transfer(&path, PACED, &seeded, 4000 * MS);
        double last_ns = 0;
        for (size_t i = 0; i < n; i++) {
            last_ns = fmax(last_ns, (double)sent[i].received_ns - log(between(&seeded, 1e-9, 1)) * MS);
            sent[i].received_ns = (int64_t)last_ns;
        }
        find(&path, n, &base);
        CHECK_EQ(base.levels.n, longer ? 3 : 1);
        CHECK(fabs((double)pl_base_at(&base, (int64_t)(2000 * MS)) - path.delay_ns[longer]) < 2 * MS);
        pl_base_free(&base);
    }
}

static void what_does_not_last_is_no_path(void)
{
    struct seeded seeded = seeded_start();
    struct path path = {.part_ns = MS / 4, .delay_ns = {20 * MS, 40 * MS, 20 * MS}, .changes = 2};
    path.t_ns[1] = 1000 * MS, path.t_ns[2] = 1030 * MS;
    struct pl_base base = {.least_ns = 0};
    find(&path, transfer(&path, PACED, &seeded, 2000 * MS), &base);
    CHECK_EQ(base.levels.n, 1);
    CHECK_EQ(pl_base_moved_ns(&base, (int64_t)(1010 * MS)), 0);
    pl_base_free(&base);
}

/* A capture begins while a queue exists, which drains later. The queue must not count as part of the path. */
static void a_queue_at_the_beginning_is_unknown(void)
{
    struct pl_base_finder finder;
    struct pl_base base = {.least_ns = 0};
    pl_base_finder_begin(&finder, MS / 10, 30 * MS);
    for (int i = 0; i < 4000; i++) {
        double queue_ns = i < 2000 ? 20 * MS : fmax(20 * MS - (i - 2000) * MS / 4, 0);
        const struct pl_base_part part = {.t_ns = i * (int64_t)MS / 2,
                                          .delay_ns = 10 * MS + queue_ns,
                                          .work_ns = i < 2000 ? MS / 2 : MS / 4,
                                          .queued = true};
        CHECK_EQ(pl_base_finder_add(&finder, &part), 0);
    }
    CHECK_EQ(pl_base_finder_end(&finder, &base), 0);
    CHECK_EQ(base.levels.n, 1);
    CHECK_EQ(pl_base_at(&base, 0), 10 * (int64_t)MS);
    pl_base_free(&base);
}

/* A sender's burst fills a queue. For a moment this queue sends faster than packets come, into a slower queue behind it.
 * The delays include the second queue, which then is a standing queue. It must not count as part of the path. */
static void a_queue_behind_another_one_is_no_path(void)
{
    const double first_ns = 0.6 * MS, second_ns = MS;
    double free_ns[2] = {0, 0}, now_ns = 0;
    struct pl_base_noise noise = {.off = {.given = 0}};
    struct pl_base_finder finder;
    struct pl_base base = {.least_ns = 0};
    enum { ROUND = 1000, N = 10 * ROUND };
    static struct pl_base_part parts[N];
    for (int i = 0; i < N; i++) {
        now_ns += i % ROUND < 700 ? 1.2 * MS : i % ROUND < 706 ? 0 : MS;
        free_ns[0] = fmax(free_ns[0], now_ns) + first_ns;
        free_ns[1] = fmax(free_ns[1], free_ns[0]) + second_ns;
        parts[i] = (struct pl_base_part){.t_ns = (int64_t)now_ns,
                                         .delay_ns = 10 * MS + free_ns[1] - free_ns[0],
                                         .work_ns = second_ns,
                                         .held_ns = (int64_t)(free_ns[0] - now_ns)};
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(pl_base_noise_add(&noise, &parts[i]), 0);
    pl_base_finder_begin(&finder, pl_base_noise_end(&noise), 0);
    for (int i = 0; i < N; i++)
        CHECK_EQ(pl_base_finder_add(&finder, &parts[i]), 0);
    CHECK_EQ(pl_base_finder_end(&finder, &base), 0);
    CHECK_EQ(base.levels.n, 1);
    CHECK_EQ(pl_base_at(&base, 0), 11 * (int64_t)MS);
    pl_base_free(&base);
}

int main(void)
{
    RUN(queues_are_right_however_the_path_changes);
    RUN(a_queue_of_others_is_no_path);
    RUN(a_queue_of_others_that_never_drains_is_no_path);
    RUN(late_time_stamps_are_no_path);
    RUN(what_does_not_last_is_no_path);
    RUN(a_queue_at_the_beginning_is_unknown);
    RUN(a_queue_behind_another_one_is_no_path);
    return 0;
}
