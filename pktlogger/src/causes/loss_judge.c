/* Implements loss_judge.h. Numbers of runs, not of parts, are evidence: parts lost in a row have one reason. */
#include "loss_judge.h"

#include <math.h>
#include <stdlib.h>

#include "service.h"

#define MS 1e6
#define PACKET 1500.0
#define SURPRISING 3 /* standard deviations */
#define EVEN 1.2
#define DENSE 0.05 /* share of the parts lost that met a full queue */
enum { FEW = 4, SEVERAL = 5, MANY = 8 };

/* Facts of a transfer. Times in ns, queues without the base. */
struct facts {
    double part_ns, late_ns, gap_late_ns, gap_middle_ns; /* a part's service; how late time stamps are */
    double near_ns;                                      /* queues that differ by less are alike */
    double longest_ns;                                   /* queue, but for a thousandth of all places */
    double n, full_n, full_episodes, full_parts;
    double full_places;      /* share of places with a full queue */
    double others_depth_ns;  /* how far below the longest queue the others were lost: their median */
    double surprise[2];      /* of the others, of all */
    double low_n, low_share; /* others lost beside no queue, and the share of such places */
    bool full, managed, mixed, chance;
};

/* Median and spread of the gaps where a queue stood and nothing was lost. */
static int measure_gaps(const struct pl_loss_study *study, struct facts *f)
{
    double least_ns = fmax(3 * f->part_ns, 2 * f->late_ns);
    double *sorted = malloc((study->gaps.n + 1) * sizeof *sorted);
    size_t n = 0;
    f->gap_late_ns = INFINITY;
    if (!sorted)
        return -1;
    for (size_t i = 0; i < study->gaps.n; i++)
        if (study->gaps.at[i].steady_ns - study->base_ns > least_ns)
            sorted[n++] = study->gaps.at[i].gap_ns;
    if (n > 20) {
        pl_sort_numbers(sorted, n);
        f->gap_middle_ns = sorted[n / 2];
        for (size_t i = 0; i < n; i++)
            sorted[i] = fabs(sorted[i]);
        pl_sort_numbers(sorted, n);
        f->gap_late_ns = sorted[n * 9 / 10] / 1.64;
    }
    free(sorted);
    return 0;
}

/* The share of all places whose queue is at least `queue_ns`. */
static double share_from(const struct pl_loss_study *study, double queue_ns)
{
    return 1 - pl_sample_below(&study->delays, study->base_ns + queue_ns, false);
}

/* Marks the runs beside a full queue: there are hardly any places with a longer one. */
static void mark_full(struct pl_loss_study *study, struct facts *f)
{
    double least_ns = fmax(fmax(MS, f->late_ns), f->longest_ns - fmax(3 * f->near_ns, f->longest_ns / 4));
    double lowest_ns = INFINITY;
    int64_t sent_ns = 0;
    bool counted = false;
    f->n = (double)study->runs.n;
    for (size_t i = 0; i < study->runs.n; i++) {
        struct pl_lost_run *run = &study->runs.at[i];
        double above = 1 - pl_sample_below(&study->delays, study->base_ns + run->queue_ns + f->near_ns, true);
        double alike = share_from(study, run->queue_ns - f->near_ns) - above;
        run->full = run->queue_ns > least_ns && above <= 0.15 * alike;
        counted = counted && i && run->first_sent_ns - sent_ns <= study->min_rtt_ns; /* in the same episode */
        sent_ns = run->first_sent_ns;
        if (!run->full)
            continue;
        f->full_episodes += !counted;
        counted = true;
        f->full_n++;
        f->full_parts += run->n;
        lowest_ns = fmin(lowest_ns, run->queue_ns);
    }
    f->full_places = f->full_n > 0 ? share_from(study, lowest_ns - f->near_ns / 2) : 0;
}

/* Chance takes parts whatever queue they meet: the share of places that met at least the queue of the lost one is then
 * even between 0 and 1, and the sum of its negative logarithm over n runs has mean n and variance n. */
static double surprise_of(const struct pl_loss_study *study, const struct facts *f, const struct pl_lost_run *run)
{
    double longer = 1 - pl_sample_below(&study->delays, study->base_ns + run->queue_ns + f->near_ns / 2, true);
    double share = (longer + share_from(study, run->queue_ns - f->near_ns / 2)) / 2;
    return -log(fmin(fmax(share, 1 / (double)study->delays.kept.n), 1));
}

static int measure_others(const struct pl_loss_study *study, struct facts *f)
{
    double low_ns = fmax(fmax(MS / 2, f->longest_ns / 16), fmax(1.5 * f->late_ns, 3 * f->part_ns));
    double *depths = malloc(study->runs.n * sizeof *depths);
    size_t n = 0;
    if (!depths)
        return -1;
    for (size_t i = 0; i < study->runs.n; i++) {
        const struct pl_lost_run *run = &study->runs.at[i];
        double surprise = surprise_of(study, f, run);
        f->surprise[1] += surprise;
        if (run->full)
            continue;
        f->surprise[0] += surprise;
        f->low_n += run->queue_ns <= low_ns;
        depths[n++] = f->longest_ns - run->queue_ns;
    }
    pl_sort_numbers(depths, n);
    f->others_depth_ns = n ? (depths[(n - 1) / 2] + depths[n / 2]) / 2 : 0;
    f->low_share = 1 - share_from(study, low_ns);
    free(depths);
    return 0;
}

/* Where all queues are alike, each of n runs has ln 2 instead of 1. */
static bool is_even(double n, double surprise)
{
    return surprise < n + EVEN * sqrt(n) && surprise > log(2) * n - 2 * sqrt(n);
}

static void weigh(const struct pl_loss_study *study, struct facts *f)
{
    double others = f->n - f->full_n, places = (double)(study->n + 1);
    double late_ns = fmax(f->late_ns, isfinite(f->gap_late_ns) ? f->gap_late_ns : 0);
    double dense = f->full_parts / (f->full_parts + f->full_places * places + 1e-9);
    bool deep = f->longest_ns > 6 * late_ns && f->others_depth_ns > fmax(f->near_ns + 3 * late_ns, f->longest_ns / 5);
    bool skewed = others > 0 && f->surprise[0] > others + SURPRISING * sqrt(others);
    bool again = f->full_episodes >= 2 && f->full_n >= FEW && (dense >= 0.02 || f->longest_ns > 8 * f->near_ns);
    f->managed = skewed && deep && f->low_n * 2 <= others;
    f->full = f->full_n * 3 >= f->n && f->full_n > 3 * f->full_places * f->n &&
              (again || (f->full_n >= SEVERAL && dense >= 0.03));
    double weighed = f->full ? others : f->n, sum = f->surprise[!f->full];
    f->chance =
        weighed > 0 && is_even(weighed, sum) && f->low_share > 0.02 && f->low_n >= fmax(1, 0.3 * others * f->low_share);
    bool unexplained = others * 4 >= f->n && f->others_depth_ns > f->longest_ns / 5 && !f->chance;
    f->mixed = (f->managed || unexplained) && f->full_n > 0 && (f->full || dense >= DENSE);
}

static enum pl_loss_cause cause_of(const struct facts *f, const struct pl_lost_run *run)
{
    double others = f->n - f->full_n;
    bool even = is_even(f->n, f->surprise[1]);
    if (f->longest_ns <= fmax(MS, fmax(3 * f->part_ns, 2 * f->late_ns))) /* there was no queue, or it does not show */
        return f->longest_ns < MS && even ? PL_LOSS_ANYWHERE : PL_LOSS_UNKNOWN;
    if (run->full)
        return f->mixed ? PL_LOSS_UNKNOWN : f->full ? PL_LOSS_TAIL_DROP : f->managed ? PL_LOSS_AQM : PL_LOSS_UNKNOWN;
    if (f->managed)
        return f->mixed && (others < MANY || f->late_ns > fmax(3 * f->part_ns, 0.7 * MS)) ? PL_LOSS_UNKNOWN
                                                                                          : PL_LOSS_AQM;
    return f->chance ? PL_LOSS_ANYWHERE : PL_LOSS_UNKNOWN;
}

/* How much of the run's time at the bottleneck shows between the arrivals around it: 1 behind it, 0 before. */
static double share_behind(const struct facts *f, const struct pl_lost_run *run)
{
    return (run->gap_ns - f->gap_middle_ns) / (f->part_ns * run->n);
}

static bool tells_side(const struct pl_loss_study *study, const struct facts *f, const struct pl_lost_run *run)
{
    return run->cause == PL_LOSS_ANYWHERE && run->gap_known &&
           run->steady_ns - study->base_ns > fmax(3 * f->part_ns, 2 * f->late_ns);
}

/* Each run tells its side by itself where gaps are exact to a fifth of a part, else all together. */
static void find_sides(struct pl_loss_study *study, const struct facts *f)
{
    double sum = 0, n = 0, late = f->gap_late_ns / f->part_ns;
    for (size_t i = 0; i < study->runs.n; i++)
        if (tells_side(study, f, &study->runs.at[i])) {
            sum += fmin(fmax(share_behind(f, &study->runs.at[i]), -2), 3);
            n++;
        }
    if (n == 0 || !(late < 2))
        return;
    double off = sum / n - 0.5;
    bool clear = fabs(off) > 3.5 * late / sqrt(n);
    for (size_t i = 0; i < study->runs.n && (clear || late < 0.2); i++) {
        struct pl_lost_run *run = &study->runs.at[i];
        if (tells_side(study, f, run))
            run->cause = (late < 0.2 ? share_behind(f, run) > 0.5 : off > 0) ? PL_LOSS_BEHIND : PL_LOSS_BEFORE;
    }
}

static int judge(struct pl_loss_study *study)
{
    struct facts f = {.part_ns = study->service * PACKET};
    study->base_ns = pl_sample_quantile(&study->delays, 0.01);
    for (size_t i = 0; i < study->runs.n; i++)
        study->runs.at[i].queue_ns -= study->base_ns;
    f.longest_ns = pl_sample_quantile(&study->delays, 0.999) - study->base_ns;
    f.late_ns = pl_sample_quantile(&study->shortfalls, 0.5);
    study->longest_ns = f.longest_ns;
    study->late_ns = f.late_ns;
    if (measure_gaps(study, &f) < 0)
        return -1;
    f.near_ns = fmax(fmax(2 * f.part_ns, f.late_ns), MS / 10);
    if (isfinite(f.gap_late_ns))
        f.near_ns = fmax(f.near_ns, f.gap_late_ns);
    mark_full(study, &f);
    if (measure_others(study, &f) < 0)
        return -1;
    weigh(study, &f);
    study->managed = f.managed;
    for (size_t i = 0; i < study->runs.n; i++)
        study->runs.at[i].cause = (uint8_t)cause_of(&f, &study->runs.at[i]);
    if (f.part_ns > 0)
        find_sides(study, &f);
    double low_ns = pl_sample_quantile(&study->own_delays, 0.02); /* a short flow has no place without a queue near */
    for (size_t i = 0; i < study->runs.n; i++)
        study->runs.at[i].queue_ns += fmax(study->base_ns - low_ns, 0);
    return 0;
}

int pl_loss_judge(struct pl_loss_study *study)
{
    if (pl_loss_study_end(study) < 0)
        return -1;
    return study->n && study->runs.n ? judge(study) : 0;
}
