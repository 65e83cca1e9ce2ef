/* Implements loss_facts.h. */
#include "loss_facts.h"

#include <math.h>
#include <stdlib.h>

#include "thresholds.h"

#define NORMAL_90 1.64 /* 90 % of a normal distribution are within this many standard deviations */

double pl_loss_facts_no_queue_ns(const struct pl_loss_facts *f)
{
    return fmax(PL_NO_QUEUE_PARTS * f->part_ns, PL_NO_QUEUE_LATE * f->late_ns);
}

/* Median and spread of the gaps where a queue existed and nothing was lost. */
static int measure_gaps(const struct pl_loss_study *study, struct pl_loss_facts *f)
{
    double *sorted = malloc((study->gaps.n + 1) * sizeof *sorted);
    size_t n = 0;
    f->gap_late_ns = INFINITY;
    if (!sorted)
        return -1;
    for (size_t i = 0; i < study->gaps.n; i++)
        if (study->gaps.at[i].steady_ns - study->base_ns > pl_loss_facts_no_queue_ns(f))
            sorted[n++] = study->gaps.at[i].gap_ns;
    if (n > PL_GAPS_LEAST) {
        pl_sort_numbers(sorted, n);
        f->gap_middle_ns = sorted[n / 2];
        for (size_t i = 0; i < n; i++)
            sorted[i] = fabs(sorted[i]);
        pl_sort_numbers(sorted, n);
        f->gap_late_ns = sorted[n * 9 / 10] / NORMAL_90;
    }
    free(sorted);
    return 0;
}

/* The share of all places where the queue is at least `queue_ns`. */
static double share_from(const struct pl_loss_study *study, double queue_ns)
{
    return 1 - pl_sample_below(&study->delays, study->base_ns + queue_ns, false);
}

/* True when the queue had no room for the lost parts. Needs exact time stamps. Parts of several transfers come while
 * the line sends a packet, and the part of this packet that was sent is no longer in the queue. Parts of a single
 * transfer mostly come when a packet has just left, because its acknowledgements clock them. */
static bool had_no_room(const struct pl_loss_study *study, const struct pl_loss_facts *f, const struct pl_lost_run *run)
{
    bool one = run->n < PL_SUPER_PARTS && !study->several;
    double parts_ns = (one ? PL_FULL_PARTS : PL_FULL_SUPER_PARTS) * f->part_ns;
    return f->longest_ns >= PL_QUEUE_NS && run->left_ns >= f->longest_ns - (f->part_ns > 0 ? parts_ns : f->late_ns);
}

/* The same judgement for late time stamps: hardly any place has a longer queue. */
static bool seems_full(const struct pl_loss_study *study, const struct pl_loss_facts *f, const struct pl_lost_run *run)
{
    double least_ns = fmax(fmax(PL_QUEUE_NS, f->late_ns),
                           f->longest_ns - fmax(PL_FULL_NEAR * f->near_ns, PL_FULL_LATE * f->longest_ns));
    double above = 1 - pl_sample_below(&study->delays, study->base_ns + run->queue_ns + f->near_ns, true);
    double alike = share_from(study, run->queue_ns - f->near_ns) - above;
    return run->queue_ns >= least_ns && above <= PL_FULL_ABOVE * alike;
}

/* Marks the runs that met a full queue. */
static void mark_full(struct pl_loss_study *study, struct pl_loss_facts *f)
{
    double lowest_ns = INFINITY;
    int64_t sent_ns = 0;
    bool counted = false;
    f->n = (double)study->runs.n;
    for (size_t i = 0; i < study->runs.n; i++) {
        struct pl_lost_run *run = &study->runs.at[i];
        run->full = f->exact ? had_no_room(study, f, run) : seems_full(study, f, run);
        counted =
            counted && i && run->first_sent_ns - sent_ns <= pl_transfer_rtt_ns(study->t, sent_ns); /* same episode */
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

/* The negative logarithm of the share of places that met a queue at least as long as the lost part did. Chance loses
 * parts whatever queue they meet. Then this share is uniform between 0 and 1, and the sum of the logarithm over n runs
 * has mean n and variance n. */
static double surprise_of(const struct pl_loss_study *study, const struct pl_loss_facts *f,
                          const struct pl_lost_run *run)
{
    double longer = 1 - pl_sample_below(&study->delays, study->base_ns + run->queue_ns + f->near_ns / 2, true);
    double share = (longer + share_from(study, run->queue_ns - f->near_ns / 2)) / 2;
    return -log(fmin(fmax(share, 1 / (double)study->delays.kept.n), 1));
}

bool pl_loss_facts_sided(const struct pl_loss_study *study, const struct pl_loss_facts *f,
                         const struct pl_lost_run *run)
{
    return f->part_ns > 0 && run->gap_known && run->steady_ns - study->base_ns > pl_loss_facts_no_queue_ns(f);
}

double pl_loss_facts_share_behind(const struct pl_loss_facts *f, const struct pl_lost_run *run)
{
    return (run->gap_ns - f->gap_middle_ns) / (f->part_ns * run->n);
}

static void add_other(const struct pl_loss_study *study, struct pl_loss_facts *f, const struct pl_lost_run *run)
{
    double low_ns =
        fmax(fmax(PL_LOW_NS, PL_LOW * f->longest_ns), fmax(PL_LOW_LATE * f->late_ns, PL_LOW_PARTS * f->part_ns));
    f->others_surprise += surprise_of(study, f, run);
    f->low_ns = low_ns;
    f->others_low_n += run->queue_ns <= low_ns;
    f->low_share = 1 - share_from(study, low_ns);
    if (!pl_loss_facts_sided(study, f, run))
        return;
    f->sided_n++;
    f->behind_n += fabs(pl_loss_facts_share_behind(f, run) - 1) < PL_SIDE_OFF;
}

static int measure_others(const struct pl_loss_study *study, struct pl_loss_facts *f)
{
    double *depths = malloc(study->runs.n * sizeof *depths);
    size_t n = 0;
    if (!depths)
        return -1;
    for (size_t i = 0; i < study->runs.n; i++) {
        const struct pl_lost_run *run = &study->runs.at[i];
        f->surprise += surprise_of(study, f, run);
        if (run->full)
            continue;
        add_other(study, f, run);
        depths[n++] = f->longest_ns - run->queue_ns;
    }
    pl_sort_numbers(depths, n);
    f->others_depth_ns = n ? (depths[(n - 1) / 2] + depths[n / 2]) / 2 : 0;
    free(depths);
    return 0;
}

/* Measures how late time stamps are, and up to which difference queues count as alike. */
static int measure_lateness(struct pl_loss_study *study, struct pl_loss_facts *f)
{
    f->late_ns = pl_sample_quantile(&study->shortfalls, 0.5);
    f->exact = f->late_ns <= fmax(PL_EXACT_PARTS * f->part_ns, PL_EXACT_NS) &&
               pl_sample_quantile(&study->moves, PL_EXACT_MOST) <= PL_EXACT_MOVED * f->part_ns;
    f->longest_ns = pl_sample_quantile(&study->delays, f->exact ? 1 : PL_LONGEST_LATE) - study->base_ns;
    f->near_ns = fmax(fmax(PL_ALIKE_PARTS * f->part_ns, f->late_ns), PL_ALIKE_NS);
    if (measure_gaps(study, f) < 0)
        return -1;
    if (!f->exact && isfinite(f->gap_late_ns))
        f->near_ns = fmax(f->near_ns, f->gap_late_ns);
    return 0;
}

int pl_loss_facts_find(struct pl_loss_study *study, struct pl_loss_facts *f)
{
    *f = (struct pl_loss_facts){.part_ns = study->service * PL_FULL_PACKET};
    study->base_ns = pl_sample_quantile(&study->delays, PL_BASE_SHARE);
    for (size_t i = 0; i < study->runs.n; i++) {
        study->runs.at[i].queue_ns -= study->base_ns;
        study->runs.at[i].left_ns -= study->base_ns;
    }
    if (measure_lateness(study, f) < 0)
        return -1;
    study->longest_ns = f->longest_ns;
    study->late_ns = f->late_ns;
    study->alike_ns = f->near_ns;
    mark_full(study, f);
    return measure_others(study, f);
}
