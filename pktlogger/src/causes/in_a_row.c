/* Implements in_a_row.h. */
#include "in_a_row.h"

#include <math.h>

#include "thresholds.h"

/* A candidate: how many times the front queue is faster than the bottleneck, and which of the two queues is full. */
struct trial {
    double ratio, largest;
    bool front;
    double explained, near;
};

/* The level of each queue when the next part comes. */
struct levels {
    double front, all; /* x and w */
    int64_t before_ns; /* when the previous part was sent; 0: there is none */
    double waits_ns;   /* the bottleneck's work that was left then */
};

static double level_of(const struct trial *trial, const struct levels *levels)
{
    return trial->front ? levels->front : levels->all - (isinf(trial->ratio) ? 0 : levels->front / trial->ratio);
}

/* Takes the next part and adds it to the levels. */
static void take(struct levels *levels, const struct trial *trial, const struct pl_policed_part *part, double service,
                 double base_ns)
{
    double passed_ns = levels->before_ns ? (double)(part->t_sent_ns - levels->before_ns) : 0;
    double left = isinf(trial->ratio) ? 0 : levels->front - passed_ns / service * trial->ratio;
    levels->waits_ns = fmax(levels->waits_ns - passed_ns, 0);
    levels->front = fmax(left, 0) + part->bytes;
    levels->all =
        part->run < 0 ? fmax((double)part->delay_ns - base_ns, 0) / service : levels->waits_ns / service + part->bytes;
    levels->before_ns = part->t_sent_ns;
}

/* Removes a lost part from the levels. A part that the second queue dropped has still passed the front queue. */
static void leave(struct levels *levels, const struct trial *trial, const struct pl_policed_part *part, double base_ns)
{
    if (part->run < 0)
        levels->waits_ns = fmax((double)part->delay_ns - base_ns, 0);
    else if (trial->front)
        levels->front -= part->bytes;
}

static void measure(const struct pl_policer *parts, struct trial *trial, double service, double base_ns)
{
    struct levels levels = {.before_ns = 0};
    for (size_t i = 0; i < parts->parts.n; i++) {
        take(&levels, trial, &parts->parts.at[i], service, base_ns);
        if (parts->parts.at[i].run < 0)
            trial->largest = fmax(trial->largest, level_of(trial, &levels));
        leave(&levels, trial, &parts->parts.at[i], base_ns);
    }
}

/* Counts, or marks, the lost parts whose level was within `slack` of the highest level of a part that passed. */
static void compare(struct pl_policer *parts, struct trial *trial, double service, double base_ns, double slack,
                    bool mark)
{
    struct levels levels = {.before_ns = 0};
    int32_t run = PL_POLICED_PASSED;
    for (size_t i = 0; i < parts->parts.n; i++) {
        struct pl_policed_part *part = &parts->parts.at[i];
        take(&levels, trial, part, service, base_ns);
        bool near = level_of(trial, &levels) >= trial->largest - slack;
        trial->near += near && part->run < 0;
        trial->explained += near && part->run >= 0 && part->run != run;
        if (mark)
            part->explained = near && part->run >= 0;
        run = part->run;
        leave(&levels, trial, part, base_ns);
    }
}

struct pl_in_a_row pl_in_a_row_find(struct pl_policer *parts, double service, double base_ns)
{
    static const double ratios[] = {1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.75,
                                    2, 2.5,  3,    4,   5,    7,   10,  20,  50,  INFINITY};
    struct trial best = {.ratio = 0};
    double passed = 0, part = 0, most = -1;
    for (size_t i = 0; i < parts->parts.n; i++) {
        passed += parts->parts.at[i].run < 0;
        part = fmax(part, parts->parts.at[i].bytes);
    }
    if (service <= 0 || parts->runs < PL_POLICER_RUNS || passed < PL_POLICER_RUNS)
        return (struct pl_in_a_row){0};
    double slack = PL_FULL_SUPER_PARTS * part;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        for (int front = 0; front < 2; front++) {
            struct trial trial = {.ratio = ratios[i], .front = front};
            if (front && isinf(ratios[i]))
                continue;
            measure(parts, &trial, service, base_ns);
            compare(parts, &trial, service, base_ns, slack, false);
            double worth = trial.explained / parts->runs - trial.near / passed;
            if (worth > most) {
                most = worth;
                best = trial;
            }
        }
    double share = best.explained / parts->runs, near = fmax(best.near, 1) / passed;
    bool lucky = near >= share || parts->runs * log(near / share) >= log(PL_POLICER_LUCK);
    if (lucky || share < PL_IN_A_ROW_TIMES * near)
        return (struct pl_in_a_row){0};
    compare(parts, &best, service, base_ns, slack, true);
    return (struct pl_in_a_row){share};
}
