/* Implements policer.h. */
#include "policer.h"

#include <math.h>

#include "thresholds.h"

enum { SPREAD = 64, SCALES = 10, QUICK = 3, AROUND = 25, TRIALS = SPREAD + SCALES * QUICK };

/* A candidate rate. `explained`: number of lost runs that it explains; `near`: number of parts that passed at as high a
 * level. */
struct trial {
    double rate, level, burst;
    uint32_t explained, near;
};

struct trials {
    struct trial at[TRIALS];
    size_t n;
    double late_s, part; /* octets of the largest part */
    double step;         /* (next candidate rate − this one) / this one */
};

int pl_policer_add(struct pl_policer *policer, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes, int32_t run)
{
    size_t n = policer->parts.n;
    const struct pl_policed_part *last = n ? &policer->parts.at[n - 1] : NULL;
    int64_t t_ns = t_received_ns >= 0 ? t_received_ns : t_sent_ns + policer->delay_ns;
    if (n == PL_POLICED_MOST)
        return 0;
    if (t_received_ns >= 0)
        policer->delay_ns = t_received_ns - t_sent_ns;
    policer->runs += run >= 0 && (!last || last->run != run);
    struct pl_policed_part part = {.t_ns = last && last->t_ns > t_ns ? last->t_ns : t_ns,
                                   .t_sent_ns = t_sent_ns,
                                   .delay_ns = policer->delay_ns,
                                   .bytes = bytes,
                                   .run = run};
    return PL_APPEND(&policer->parts, part);
}

static void try(struct trials *trials, double rate, double least, double most)
{
    if (rate >= least && rate <= most && trials->n < TRIALS)
        trials->at[trials->n++] = (struct trial){.rate = rate};
}

/* Inserts the rate among the highest rates, in descending order. */
static void keep(double rates[QUICK], double rate)
{
    for (unsigned i = 0; i < QUICK; i++)
        if (rate > rates[i]) {
            double lower = rates[i];
            rates[i] = rate;
            rate = lower;
        }
}

/* Finds the highest rates between two losses: the octets that passed between them, per time. `parts`: the number of
 * parts between the two losses. */
static void find_quick(const struct pl_policer *policer, uint32_t parts, double rates[QUICK])
{
    const struct pl_policed_part *from = NULL;
    double bytes = 0;
    uint32_t passed = 0;
    for (size_t i = 0; i < policer->parts.n; i++) {
        const struct pl_policed_part *part = &policer->parts.at[i];
        bytes += part->run < 0 ? part->bytes : 0;
        passed += part->run < 0;
        if (part->run < 0 || (from && passed < parts))
            continue;
        if (from && part->t_ns > from->t_ns)
            keep(rates, bytes * 1e9 / (double)(part->t_ns - from->t_ns));
        from = part;
        bytes = passed = 0;
    }
}

/* In a trial, the level before a part that comes `seconds` after the previous one. */
static double level_after(const struct trial *trial, double seconds)
{
    double level = trial->level - trial->rate * seconds;
    return level > 0 ? level : 0;
}

/* How far below the burst the level of a lost part may be: the size of a part, the lateness of time stamps, and the
 * error of the rate allow this much. */
static double slack(const struct trials *trials, const struct trial *trial)
{
    return PL_POLICER_SLACK_PARTS * trials->part + trial->rate * trials->late_s + trials->step / 2 * trial->burst;
}

static void begin(struct trials *trials)
{
    for (size_t i = 0; i < trials->n; i++)
        trials->at[i].level = trials->at[i].explained = trials->at[i].near = 0;
}

static double seconds_before(const struct pl_policer *policer, size_t i)
{
    return i ? (double)(policer->parts.at[i].t_ns - policer->parts.at[i - 1].t_ns) / 1e9 : 0;
}

static void find_bursts(const struct pl_policer *policer, struct trials *trials)
{
    begin(trials);
    for (size_t i = 0; i < policer->parts.n; i++) {
        const struct pl_policed_part *part = &policer->parts.at[i];
        double seconds = seconds_before(policer, i), passed = part->run < 0 ? part->bytes : 0;
        for (size_t j = 0; j < trials->n; j++) {
            struct trial *trial = &trials->at[j];
            trial->level = level_after(trial, seconds) + passed;
            trial->burst = trial->level > trial->burst ? trial->level : trial->burst;
        }
    }
}

static void count(const struct pl_policer *policer, struct trials *trials)
{
    int32_t run = PL_POLICED_PASSED;
    begin(trials);
    for (size_t i = 0; i < policer->parts.n; i++) {
        const struct pl_policed_part *part = &policer->parts.at[i];
        double seconds = seconds_before(policer, i), passed = part->run < 0 ? part->bytes : 0;
        bool first = part->run >= 0 && part->run != run;
        for (size_t j = 0; j < trials->n; j++) {
            struct trial *trial = &trials->at[j];
            trial->level = level_after(trial, seconds) + passed;
            bool near = trial->level + part->bytes - passed >= trial->burst - slack(trials, trial);
            trial->near += near && part->run < 0;
            trial->explained += near && first;
        }
        run = part->run;
    }
}

/* How well a candidate fits: the share of runs that it explains, minus the share of parts that passed at as high a
 * level. */
static double worth(const struct pl_policer *policer, const struct trial *trial, double passed)
{
    return (double)trial->explained / policer->runs - (double)trial->near / passed;
}

/* Returns the middle of the rates that are nearly as good as the best one. *highest_rate is the highest of them. */
static struct trial best_of(const struct pl_policer *policer, const struct trials *trials, double passed,
                            double *highest_rate)
{
    const struct trial *best = &trials->at[0];
    double most = -1, lowest = INFINITY, highest = 0;
    for (size_t i = 0; i < trials->n; i++)
        most = fmax(most, worth(policer, &trials->at[i], passed));
    for (size_t i = 0; i < trials->n; i++)
        if (worth(policer, &trials->at[i], passed) >= most - PL_POLICER_NEARLY) {
            lowest = fmin(lowest, trials->at[i].rate);
            highest = fmax(highest, trials->at[i].rate);
        }
    *highest_rate = highest;
    double middle = sqrt(lowest * highest), off = INFINITY;
    for (size_t i = 0; i < trials->n; i++)
        if (worth(policer, &trials->at[i], passed) >= most - PL_POLICER_NEARLY &&
            fabs(trials->at[i].rate - middle) < off) {
            off = fabs(trials->at[i].rate - middle);
            best = &trials->at[i];
        }
    return *best;
}

/* Marks the lost parts that this policer explains. */
static void mark(struct pl_policer *policer, struct trial trial, double slack_bytes)
{
    trial.level = 0;
    for (size_t i = 0; i < policer->parts.n; i++) {
        struct pl_policed_part *part = &policer->parts.at[i];
        trial.level = level_after(&trial, seconds_before(policer, i)) + (part->run < 0 ? part->bytes : 0);
        part->explained = part->run >= 0 && trial.level + part->bytes >= trial.burst - slack_bytes;
    }
}

/* The slope of the delay against the level, over the parts that passed. Unit: the time of an octet at the rate. */
static double waits_of(const struct pl_policer *policer, struct trial trial)
{
    double n = 0, level = 0, delay_ns = 0, levels = 0, products = 0;
    trial.level = 0;
    for (size_t i = 0; i < policer->parts.n; i++) {
        const struct pl_policed_part *part = &policer->parts.at[i];
        trial.level = level_after(&trial, seconds_before(policer, i)) + (part->run < 0 ? part->bytes : 0);
        if (part->run >= 0)
            continue;
        double from_level = trial.level - level, from_ns = (double)part->delay_ns - delay_ns;
        n++;
        level += from_level / n; /* Welford's method, which avoids cancellation */
        delay_ns += from_ns / n;
        levels += from_level * (trial.level - level);
        products += from_level * ((double)part->delay_ns - delay_ns);
    }
    return levels > 0 ? products / levels * trial.rate / 1e9 : 0;
}

/* Whether chance is very unlikely to lose so many runs at such high levels. */
static bool beyond_chance(const struct pl_policer *policer, const struct trial *trial, double passed)
{
    double share = (double)trial->explained / policer->runs, near = fmax(trial->near, 1) / passed;
    return share >= PL_POLICER_EXPLAINED && near < share && policer->runs * log(near / share) < log(PL_POLICER_LUCK);
}

struct pl_policed pl_policer_find(struct pl_policer *policer, double line_rate, double late_ns)
{
    struct trials trials = {.late_s = late_ns / 1e9};
    double passed = 0, bytes = 0, seconds = 0, most = PL_POLICER_OF_LINE * line_rate;
    for (size_t i = 0; i < policer->parts.n; i++) {
        passed += policer->parts.at[i].run < 0;
        bytes += policer->parts.at[i].run < 0 ? policer->parts.at[i].bytes : 0;
        seconds += seconds_before(policer, i);
        trials.part = fmax(trials.part, policer->parts.at[i].bytes);
    }
    if (policer->runs < PL_POLICER_RUNS || passed < PL_POLICER_RUNS || seconds <= 0 || bytes / seconds > most)
        return (struct pl_policed){0};
    double least = PL_POLICER_OF_LINE * bytes / seconds;
    trials.step = pow(most / least, 1.0 / (SPREAD - 1)) - 1;
    for (int i = 0; i < SPREAD; i++)
        try(&trials, least * pow(1 + trials.step, i), least, most);
    for (int scale = 0; scale < SCALES; scale++) {
        double rates[QUICK] = {0};
        find_quick(policer, (uint32_t)PL_POLICER_BETWEEN << scale, rates);
        for (int i = 0; i < QUICK; i++)
            try(&trials, rates[i], least, most);
    }
    find_bursts(policer, &trials);
    count(policer, &trials);
    double highest, around;
    struct trial best = best_of(policer, &trials, passed, &highest);
    bool open = highest * (1 + trials.step) >= most;
    trials.n = 0;
    for (int i = 0; i < AROUND; i++)
        try(&trials, best.rate * (1 + trials.step * (2.0 * i / (AROUND - 1) - 1)), 0, most);
    trials.step = 0;
    find_bursts(policer, &trials);
    count(policer, &trials);
    best = best_of(policer, &trials, passed, &around);
    if (!beyond_chance(policer, &best, passed))
        return (struct pl_policed){0};
    mark(policer, best, slack(&trials, &best));
    return (struct pl_policed){best.rate, best.burst, waits_of(policer, best),
                               open || best.burst < PL_POLICER_PARTS * trials.part};
}

void pl_policer_free(struct pl_policer *policer)
{
    free(policer->parts.at);
    policer->parts.at = NULL;
    policer->parts.n = 0;
}
