/* Implements loss_judge.h. */
#include "loss_judge.h"

#include <math.h>

#include "loss_facts.h"
#include "thresholds.h"

struct verdict {
    bool full;    /* a full queue lost parts */
    bool managed; /* queue management did */
    bool mixed;   /* both full queue and management, or the cause of the other losses is not known */
    bool chance;
};

/* The probability that chance makes n runs at least as surprising. The sum of their surprises has an Erlang
 * distribution. */
static double luck(double n, double surprise)
{
    double term = -surprise, sum = 0;
    if (surprise <= 0)
        return 1;
    for (double k = 0; k < n; k++) {
        sum += exp(term);
        term += log(surprise) - log(k + 1);
    }
    return sum;
}

/* Whether chance explains the losses. If all queues are alike, a run adds ln 2 to the surprise instead of 1. */
static bool is_even(const struct pl_loss_facts *f, double n, double surprise)
{
    return luck(n, surprise) > (f->exact ? PL_CHANCE_LUCK : PL_CHANCE_LUCK_LATE) &&
           surprise > log(2) * n - PL_CHANCE_OFF * sqrt(n);
}

/* The share of lost parts among those that met a full queue. */
static double density(const struct pl_loss_study *study, const struct pl_loss_facts *f)
{
    return f->full_parts / (f->full_parts + f->full_places * (double)(study->n + 1) + 1e-9);
}

/* True when the share of runs that met a full queue is far above the share of places that did. */
static bool prefers_full(const struct pl_loss_facts *f)
{
    double expected = f->full_places * f->n, spread = sqrt(expected * (1 - f->full_places));
    return f->full_n > PL_FULL_TIMES * expected ||
           (f->full_n >= PL_FULL_MOST * f->n && f->full_n > expected + PL_FULL_OFF * spread);
}

static bool is_full(const struct pl_loss_study *study, const struct pl_loss_facts *f)
{
    double dense = density(study, f);
    bool again = f->full_episodes >= PL_FULL_AGAIN && f->full_n >= PL_FULL_AGAIN_RUNS &&
                 (dense >= PL_FULL_AGAIN_DENSE || f->longest_ns > PL_FULL_AGAIN_NEAR * f->near_ns);
    if (!prefers_full(f))
        return false;
    if (f->exact)
        return f->full_n >= PL_FULL_RUNS || f->full_parts >= PL_FULL_RUN_PARTS;
    return f->full_n * PL_FULL_LATE_OF >= f->n && (again || (f->full_n >= PL_FULL_RUNS && dense >= PL_FULL_DENSE));
}

static bool is_managed(const struct pl_loss_facts *f, bool full)
{
    double others = f->n - f->full_n, lucky = luck(others, f->others_surprise);
    bool deep = f->longest_ns > PL_MANAGED_LONGEST_LATE * f->late_ns &&
                f->others_depth_ns > f->near_ns + PL_MANAGED_DEPTH_LATE * f->late_ns;
    bool low = f->others_low_n > PL_MANAGED_LOW * others;
    if (others < PL_MANAGED_RUNS || !deep)
        return false;
    if (!f->exact)
        return lucky < PL_MANAGED_LUCK_LATE && f->others_depth_ns > f->longest_ns / PL_DEPTH_OF_LONGEST &&
               (!low || (lucky < PL_NO_LUCK && f->others_low_n <= PL_MANAGED_LOW_LATE * others));
    bool all_agree = !full && lucky < PL_MANAGED_LUCK_AGREE && luck(f->n, f->surprise) < PL_MANAGED_LUCK_ALL;
    return (!low && (lucky < PL_MANAGED_LUCK || all_agree)) || lucky < PL_NO_LUCK;
}

/* True when each run shows its own time at the bottleneck between the arrivals around it. Then all were lost behind the
 * bottleneck: full queues and queue management drop a part before the bottleneck transmits it. */
static bool shows_time_at_bottleneck(const struct pl_loss_facts *f)
{
    return f->exact && f->gap_late_ns < PL_SIDE_EXACT * f->part_ns && f->sided_n >= PL_SIDED &&
           f->behind_n == f->sided_n;
}

/* Whether the path can have any of `causes`, a set of bits. */
static bool possible(const struct pl_loss_study *study, unsigned causes)
{
    return causes & ~study->t->ruled_out;
}

/* Decides by comparing how long parts waited at different times. Normally a full queue takes longest. But where the
 * bottleneck's rate changes, or unseen traffic uses a share of it, a full queue may take less time than another queue
 * that is not full. Then only losses at the longest queues certainly met a full one. */
static struct verdict weigh(const struct pl_loss_study *study, const struct pl_loss_facts *f)
{
    struct verdict v = {.full = possible(study, 1U << PL_LOSS_TAIL_DROP) && is_full(study, f)};
    double others = f->n - f->full_n, weighed = v.full ? others : f->n;
    bool behind = possible(study, 1U << PL_LOSS_BEHIND) && shows_time_at_bottleneck(f);
    bool even = weighed > 0 && is_even(f, weighed, v.full ? f->others_surprise : f->surprise);
    bool seen = f->low_ns <= PL_CHANCE_LOWEST * f->longest_ns && (f->exact || f->full_n * PL_FULL_LATE_OF < f->n);
    even = even && seen && !study->uneven;
    v.managed = !behind && !study->uneven && possible(study, 1U << PL_LOSS_AQM) && is_managed(f, v.full);
    even = even && possible(study, 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND);
    v.chance = behind || (even && f->low_share > PL_CHANCE_LOW_PLACES &&
                          f->others_low_n >= fmax(1, PL_CHANCE_LOW * others * f->low_share));
    bool unexplained =
        others >= PL_MIXED_OTHERS * f->n && f->others_depth_ns > f->longest_ns / PL_DEPTH_OF_LONGEST && !v.chance;
    v.mixed = f->exact ? v.managed && v.full
                       : (v.managed || unexplained) && f->full_n > 0 && (v.full || density(study, f) >= PL_MIXED_DENSE);
    return v;
}

static enum pl_loss_cause managed_cause(const struct pl_loss_facts *f, const struct verdict *v,
                                        const struct pl_lost_run *run)
{
    double near_full_ns = f->exact ? PL_MIXED_NEAR_PARTS * f->part_ns
                                   : fmax(PL_MIXED_NEAR * f->longest_ns, PL_MIXED_NEAR_LATE * f->late_ns);
    bool told = f->n - f->full_n >= (f->exact ? PL_MIXED_RUNS : PL_MIXED_RUNS_LATE) &&
                f->longest_ns - run->queue_ns >= near_full_ns;
    return v->mixed && !told ? PL_LOSS_UNKNOWN : PL_LOSS_AQM;
}

static enum pl_loss_cause cause_of(const struct pl_loss_facts *f, const struct verdict *v,
                                   const struct pl_lost_run *run)
{
    if (f->longest_ns <= fmax(PL_QUEUE_NS, pl_loss_facts_no_queue_ns(f))) /* no queue, or it is too short to be seen */
        return f->longest_ns < PL_QUEUE_NS && is_even(f, f->n, f->surprise) ? PL_LOSS_ANYWHERE : PL_LOSS_UNKNOWN;
    if (run->full && v->full)
        return v->mixed ? PL_LOSS_UNKNOWN : PL_LOSS_TAIL_DROP;
    if (v->managed)
        return run->full && v->mixed ? PL_LOSS_UNKNOWN : managed_cause(f, v, run);
    return v->chance && (f->exact || !run->full) ? PL_LOSS_ANYWHERE : PL_LOSS_UNKNOWN;
}

static bool tells_side(const struct pl_loss_study *study, const struct pl_loss_facts *f, const struct pl_lost_run *run)
{
    return run->cause == PL_LOSS_ANYWHERE && pl_loss_facts_sided(study, f, run);
}

/* Finds the side of the bottleneck where parts were lost. If gaps are exact to a fifth of a part, each run shows it by
 * itself; otherwise all runs are judged together. */
static void find_sides(struct pl_loss_study *study, const struct pl_loss_facts *f)
{
    double sum = 0, n = 0, late = f->gap_late_ns / f->part_ns;
    for (size_t i = 0; i < study->runs.n; i++)
        if (tells_side(study, f, &study->runs.at[i])) {
            sum += fmin(fmax(pl_loss_facts_share_behind(f, &study->runs.at[i]), -PL_SIDE_CUT), 1 + PL_SIDE_CUT);
            n++;
        }
    if (n == 0 || !(late < PL_SIDES_EXACT))
        return;
    double off = sum / n - 0.5;
    bool clear = fabs(off) > PL_SIDES_OFF * late / sqrt(n);
    for (size_t i = 0; i < study->runs.n && (clear || late < PL_SIDE_EXACT); i++) {
        struct pl_lost_run *run = &study->runs.at[i];
        if (tells_side(study, f, run))
            run->cause = (late < PL_SIDE_EXACT ? pl_loss_facts_share_behind(f, run) > 0.5 : off > 0) ? PL_LOSS_BEHIND
                                                                                                     : PL_LOSS_BEFORE;
    }
}

static int judge(struct pl_loss_study *study)
{
    struct pl_loss_facts f;
    if (pl_loss_facts_find(study, &f) < 0)
        return -1;
    struct verdict v = weigh(study, &f);
    study->exact = f.exact;
    study->managed = v.managed;
    study->drains_show = f.exact || !v.mixed;
    for (size_t i = 0; i < study->runs.n; i++)
        study->runs.at[i].cause = (uint8_t)cause_of(&f, &v, &study->runs.at[i]);
    if (f.part_ns > 0)
        find_sides(study, &f);
    double low_ns = study->low_ns =
        pl_sample_quantile(&study->own_delays, PL_OWN_BASE_SHARE); /* a short flow may have no place without a queue
                                                                    * nearby */
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
