/* Implements base_finder.h. */
#include "base_finder.h"
#include "thresholds.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double gap_ns(const struct pl_base_step *step, const struct pl_base_part *part)
{
    int64_t came_ns = part->t_ns + part->held_ns, before_ns = step->last.t_ns + step->last.held_ns;
    return came_ns > before_ns ? (double)(came_ns - before_ns) : 0;
}

static double queued_ns(const struct pl_base_step *step)
{
    return step->last.queued ? step->last.work_ns : 0;
}

/* How far the delay rose above what the flow's own data explain; negative if it did not. */
static double risen_ns(const struct pl_base_step *step, const struct pl_base_part *part)
{
    double sent_ns = step->last.work_ns + step->lost_ns - gap_ns(step, part);
    return part->delay_ns - step->last.delay_ns - larger(sent_ns, 0);
}

/* How far the delay fell below what a draining queue explains; negative if it did not. */
static double fallen_ns(const struct pl_base_step *step, const struct pl_base_part *part)
{
    return step->last.delay_ns + queued_ns(step) - gap_ns(step, part) - part->delay_ns;
}

static void advance(struct pl_base_step *step, const struct pl_base_part *part)
{
    step->begun = true;
    step->last = *part;
    step->lost_ns = 0;
}

int pl_base_noise_add(struct pl_base_noise *noise, const struct pl_base_part *part)
{
    const struct pl_base_step *step = &noise->step;
    int result = 0;
    if (step->begun)
        result = pl_sample_add(&noise->off, larger(risen_ns(step, part), 0));
    advance(&noise->step, part);
    return result;
}

void pl_base_noise_lost(struct pl_base_noise *noise, double work_ns)
{
    noise->step.lost_ns += work_ns;
}

double pl_base_noise_end(struct pl_base_noise *noise)
{
    pl_sample_sort(&noise->off);
    double off_ns = pl_sample_quantile(&noise->off, PL_BASE_USUAL);
    pl_sample_free(&noise->off);
    return larger(PL_BASE_TOLERANCE_NS, PL_BASE_MARGIN * off_ns);
}

void pl_base_finder_begin(struct pl_base_finder *f, double tolerance_ns, double before_ns)
{
    *f = (struct pl_base_finder){.tolerance_ns = tolerance_ns, .before_ns = before_ns};
}

static struct pl_base_candidate *present(struct pl_base_finder *f)
{
    return &f->levels.at[f->levels.n - 1];
}

static bool lasted(const struct pl_base_candidate *level)
{
    double lasts_ns = larger((double)PL_BASE_LASTS_NS, 2 * level->high_ns);
    return level->packets >= PL_BASE_PACKETS && level->rises <= PL_BASE_FEW + level->most_rises * level->steps &&
           (double)(level->shown_ns - level->since_ns) >= lasts_ns;
}

/* A packet shows the present level. */
static void show(struct pl_base_finder *f, int64_t t_ns)
{
    struct pl_base_candidate *level = present(f);
    if (level->packets == 0)
        level->since_ns = t_ns;
    level->packets += level->packets == 0 || t_ns != level->shown_ns;
    level->shown_ns = t_ns;
}

/* Updates the bounds by a packet, assuming that the present level held until now: the queue is at least queue_ns, and
 * the base is between low_ns and high_ns. */
struct bounds {
    double queue_ns, low_ns, high_ns;
};

static struct bounds bounds_of(const struct pl_base_finder *f, const struct pl_base_part *part)
{
    const struct pl_base_candidate *level = &f->levels.at[f->levels.n - 1];
    const struct pl_base_step *step = &f->step;
    double most_ns = step->last.delay_ns - level->low_ns + step->last.work_ns + step->lost_ns - gap_ns(step, part);
    double queue_ns = part->queued ? f->queue_ns + queued_ns(step) - gap_ns(step, part) : 0;
    queue_ns = larger(queue_ns - (f->tolerance_ns - PL_BASE_TOLERANCE_NS), 0);
    return (struct bounds){queue_ns, part->delay_ns - larger(most_ns, 0), part->delay_ns - queue_ns};
}

/* Removes the present level. Its evidence of other traffic belongs to another level. */
static void drop(struct pl_base_finder *f, struct pl_base_candidate *heir)
{
    const struct pl_base_candidate gone = *present(f);
    f->levels.n--;
    heir->steps += gone.steps;
    heir->rises += gone.rises + !gone.fell;
}

/* Returns to the previous level, with which the packet agrees. */
static bool resume(struct pl_base_finder *f, const struct bounds *b)
{
    if (f->levels.n < 2)
        return false;
    const struct pl_base_candidate *before = present(f) - 1;
    if (b->low_ns > before->high_ns + f->tolerance_ns || b->high_ns < before->low_ns - f->tolerance_ns)
        return false;
    drop(f, present(f) - 1);
    return true;
}

/* Begins a level. It replaces the present one unless that one has lasted, or is the first level and lower. */
static int begin(struct pl_base_finder *f, int64_t t_ns, const struct bounds *b)
{
    struct pl_base_candidate *last = f->levels.n ? present(f) : NULL;
    struct pl_base_candidate level = {.t_ns = t_ns,
                                      .low_ns = lesser(b->low_ns, b->high_ns),
                                      .least_ns = lesser(b->low_ns, b->high_ns),
                                      .high_ns = b->high_ns,
                                      .fell = last && b->high_ns < last->high_ns,
                                      .noted_ns = t_ns,
                                      .earlier_ns = {b->high_ns, b->high_ns}};
    if (last && !lasted(last)) {
        if (resume(f, b))
            return 0;
        if (!level.fell && !last->fell && f->levels.n > 1)
            level.t_ns = last->t_ns; /* no packet has shown the previous level since then */
        level.fell = level.fell || last->fell;
        if (f->levels.n > 1 || level.fell)
            drop(f, &level);
    } else if (level.fell)
        last->high_ns = last->earlier_ns[0]; /* the small falls before this one belong to it */
    const struct pl_base_candidate *before = f->levels.n && !level.fell ? present(f) : NULL;
    level.most_rises = before ? PL_BASE_RISES + PL_BASE_TIMES * before->rises / larger(before->steps, 1) : 1;
    if (PL_APPEND(&f->levels, level) < 0)
        return -1;
    show(f, t_ns);
    return 0;
}

/* Notes the height of the present level from time to time. */
static void note_height(struct pl_base_candidate *level, int64_t t_ns)
{
    if (t_ns - level->noted_ns < PL_BASE_LASTS_NS / 2)
        return;
    level->earlier_ns[0] = level->earlier_ns[1];
    level->earlier_ns[1] = level->high_ns;
    level->noted_ns = t_ns;
}

/* True when the present level came from other traffic's queue or from a late time stamp, and not from the path: the
 * level was higher than the previous one, and the packet agrees with the previous one again. */
static bool was_none(struct pl_base_finder *f, double delay_ns)
{
    struct pl_base_candidate *level = present(f);
    if (f->levels.n < 2 || level->fell || lasted(level) || delay_ns > level[-1].high_ns + f->tolerance_ns)
        return false;
    drop(f, level - 1);
    level[-1].high_ns = lesser(level[-1].high_ns, delay_ns);
    return true;
}

/* Lowers the present level, because it turned out to include a queue that drains. */
static void lower(struct pl_base_finder *f, int64_t t_ns, double delay_ns)
{
    struct pl_base_candidate *level = present(f);
    level->t_ns = level->fell ? t_ns : level->t_ns;
    level->low_ns = level->high_ns = level->earlier_ns[0] = level->earlier_ns[1] = delay_ns;
    level->least_ns = delay_ns;
    level->packets = 0;
    show(f, t_ns);
}

/* True when the packet shows that the path became longer, or that other traffic has a queue. */
static bool longer(const struct pl_base_finder *f, const struct pl_base_part *part, const struct bounds *b)
{
    const struct pl_base_candidate *level = &f->levels.at[f->levels.n - 1];
    return b->low_ns > level->high_ns + f->tolerance_ns || risen_ns(&f->step, part) > f->tolerance_ns;
}

/* Whether the packet is below the present level, or below the level's height a little earlier. The second comparison
 * adds up small falls. */
static bool below(const struct pl_base_finder *f, const struct pl_base_part *part)
{
    const struct pl_base_candidate *level = &f->levels.at[f->levels.n - 1];
    double least_ns = larger(level->low_ns, lesser(level->least_ns, level->earlier_ns[0]));
    return part->delay_ns < least_ns - f->tolerance_ns;
}

/* True when the packet shows that the path became shorter: its delay is below the level, or its queue has shrunk by
 * more than a queue can drain. */
static bool shorter(const struct pl_base_finder *f, const struct pl_base_part *part, const struct bounds *b)
{
    const struct pl_base_candidate *level = &f->levels.at[f->levels.n - 1];
    if (below(f, part))
        return lasted(level) || fallen_ns(&f->step, part) > f->tolerance_ns;
    return b->queue_ns > 0 && b->high_ns < level->high_ns - PL_BASE_TOLERANCE_NS;
}

static int judge(struct pl_base_finder *f, const struct pl_base_part *part, struct bounds *b)
{
    struct pl_base_candidate *level = present(f);
    if (longer(f, part, b))
        return begin(f, part->t_ns, b);
    if (was_none(f, part->delay_ns))
        return 0;
    if (shorter(f, part, b))
        return begin(f, part->t_ns, b);
    if (below(f, part)) {
        lower(f, part->t_ns, part->delay_ns);
        return 0;
    }
    bool falls = level->fell && !lasted(level);
    note_height(level, part->t_ns);
    if (falls && b->high_ns < level->high_ns - PL_BASE_TOLERANCE_NS)
        level->t_ns = part->t_ns; /* packets sent before this one still waited behind data sent before the fall */
    if (b->low_ns >= level->low_ns - f->tolerance_ns)
        show(f, part->t_ns);
    level->least_ns = larger(level->least_ns, lesser(b->low_ns, level->high_ns));
    level->high_ns = lesser(level->high_ns, falls ? b->high_ns : part->delay_ns);
    level->low_ns = lesser(larger(level->low_ns, b->low_ns), level->high_ns);
    return 0;
}

/* While delays fall faster than queues drain, the remaining queue is computed from its earlier length, not from the
 * delays. */
static void follow(struct pl_base_finder *f, const struct pl_base_part *part, double queue_ns)
{
    if (f->step.begun)
        f->excess_ns = larger(f->excess_ns + fallen_ns(&f->step, part) - PL_BASE_LEAK * gap_ns(&f->step, part), 0);
    double now_ns = part->delay_ns - present(f)->high_ns;
    f->queue_ns = f->excess_ns > 0 ? larger(queue_ns, now_ns) : now_ns;
}

int pl_base_finder_add(struct pl_base_finder *f, const struct pl_base_part *part)
{
    int result = 0;
    struct bounds b = {0, part->delay_ns - f->before_ns, part->delay_ns};
    if (f->levels.n == 0)
        result = begin(f, part->t_ns, &b);
    else {
        b = bounds_of(f, part);
        result = judge(f, part, &b);
    }
    if (result == 0) {
        present(f)->steps++;
        present(f)->rises += f->step.begun && risen_ns(&f->step, part) > PL_BASE_RISE_NS;
        follow(f, part, b.queue_ns);
    }
    f->least_ns = f->step.begun ? lesser(f->least_ns, part->delay_ns) : part->delay_ns;
    advance(&f->step, part);
    return result;
}

void pl_base_finder_lost(struct pl_base_finder *f, double work_ns)
{
    f->step.lost_ns += work_ns;
}

/* Merges adjacent levels that are alike: noise may have begun the second one. */
static void merge_alike(struct pl_base_finder *f)
{
    size_t kept = 0;
    for (size_t i = 1; i < f->levels.n; i++) {
        struct pl_base_candidate *last = &f->levels.at[kept];
        const struct pl_base_candidate *level = &f->levels.at[i];
        if (level->high_ns > last->high_ns + f->tolerance_ns || level->high_ns < last->high_ns - f->tolerance_ns)
            f->levels.at[++kept] = *level;
        else
            last->high_ns = lesser(last->high_ns, level->high_ns);
    }
    f->levels.n = f->levels.n ? kept + 1 : 0;
}

int pl_base_finder_end(struct pl_base_finder *f, struct pl_base *base)
{
    int result = 0;
    if (f->levels.n > 1 && !lasted(present(f)))
        f->levels.n--;
    if (f->levels.n == 1 && !lasted(present(f)))
        present(f)->high_ns = f->least_ns;
    merge_alike(f);
    for (size_t i = 0; result == 0 && i < f->levels.n; i++)
        result = pl_base_append(base, f->levels.at[i].t_ns, (int64_t)f->levels.at[i].high_ns);
    free(f->levels.at);
    f->levels.at = NULL;
    f->levels.n = 0;
    return result;
}
