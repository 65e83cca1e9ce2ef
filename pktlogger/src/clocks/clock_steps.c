/* Finds where a clock was stepped; clock_estimate.h explains the method. */
#include "clock_study.h"

#define OF_ROUND_TRIP 2e-3 /* a smaller step cannot be distinguished from other events on a path */
enum { NEIGHBOURS = 8, ENOUGH = 8, NO_WITNESS = 64, IMPOSSIBLE = 64 };

/* The least differences of each direction in a window, corrected for drift; INFINITY: none. */
struct levels {
    double at[2][PL_CLOCK_WINDOWS];
    unsigned class[2]; /* the one of a direction's two sizes that occurs in more windows */
    double round_trip, tolerance;
};

static double least_of(const struct pl_clock_study *study, unsigned class, unsigned w, double slope)
{
    return study->least[class][w].any
               ? pl_clock_level(pl_clock_back(class), study->least[class][w].x, study->least[class][w].v, slope)
               : INFINITY;
}

/* The least level of a direction in the nearest windows before or after window w. */
static double near(const struct levels *levels, int way, unsigned w, int to)
{
    double least = INFINITY;
    int seen = 0;
    for (int i = (int)w + to; i >= 0 && i < PL_CLOCK_WINDOWS && seen < NEIGHBOURS; i += to) {
        seen += isfinite(levels->at[way][i]);
        least = fmin(least, levels->at[way][i]);
    }
    return least;
}

/* Whether a step falls into window w. Then one direction's least difference is from before the step and the other's
 * from after it, so that their sum is not a round trip. */
static bool straddles(const struct levels *levels, unsigned w)
{
    double tolerance = levels->tolerance;
    for (int way = 0; way < 2; way++) {
        double early = levels->at[way][w], late = levels->at[!way][w];
        if (isfinite(early) && isfinite(late) && near(levels, way, w, -1) <= early + tolerance &&
            near(levels, !way, w, 1) <= late + tolerance && near(levels, way, w, 1) > early + 2 * tolerance &&
            near(levels, !way, w, -1) > late + 2 * tolerance)
            return true;
    }
    return false;
}

/* Uses packets of one size only, because a mix of two sizes would look like a delay that changes. */
static unsigned main_class(const struct pl_clock_study *study, unsigned way)
{
    int more = 0;
    for (unsigned w = 0; w < PL_CLOCK_WINDOWS; w++)
        more += study->least[2 * way + 1][w].any - study->least[2 * way][w].any;
    return 2 * way + (more > 0);
}

static struct levels levels_of(const struct pl_clock_study *study, double slope, double error)
{
    struct levels levels = {.round_trip = INFINITY, .class = {main_class(study, 0), main_class(study, 1)}};
    double sums[PL_CLOCK_WINDOWS];
    size_t n = 0;
    for (unsigned w = 0; w < PL_CLOCK_WINDOWS; w++) {
        for (int way = 0; way < 2; way++)
            levels.at[way][w] = least_of(study, levels.class[way], w, slope);
        if (isfinite(levels.at[0][w] + levels.at[1][w]))
            sums[n++] = levels.at[0][w] + levels.at[1][w];
    }
    double noise = pl_clock_nth(sums, n, ENOUGH) - pl_clock_nth(sums, n, 2); /* a step may concern up to two windows */
    double span = study->at[study->n - 1].x - study->at[0].x;
    levels.tolerance =
        OF_ROUND_TRIP * fabs(pl_clock_nth(sums, n, 2)) + 4 * noise + 2 * study->floor_ns + 2 * error * span;
    for (unsigned w = 0; w < PL_CLOCK_WINDOWS; w++) {
        double sum = levels.at[0][w] + levels.at[1][w];
        if (sum < levels.round_trip && !straddles(&levels, w))
            levels.round_trip = sum;
    }
    return levels;
}

/* The marks nearest to a step on either side: the last one surely before it, and the first one surely after it. */
struct border {
    size_t before, behind;
};

/* Finds these marks. `levels` are the least levels before and after the step. A mark that is nearer to the lower level
 * is on that level's side. */
static struct border border_of(const struct pl_clock_study *study, const struct levels *levels, double slope,
                               unsigned first, unsigned last, double before[2], double behind[2])
{
    struct border border = {SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < study->n; i++) {
        const struct pl_clock_mark *mark = &study->at[i];
        int way = mark->back;
        if (mark->window < first || mark->window > last || mark->class != levels->class[way])
            continue;
        if (pl_clock_mark_level(mark, slope) > (before[way] + behind[way]) / 2)
            continue;
        if (before[way] < behind[way])
            border.before = i;
        else if (border.behind == SIZE_MAX)
            border.behind = i;
    }
    return border;
}

/* The least levels of windows first … last. */
static void lowest(const struct levels *levels, unsigned first, unsigned last, double out[2])
{
    for (int way = 0; way < 2; way++) {
        out[way] = INFINITY;
        for (unsigned w = first; w <= last; w++)
            if (!straddles(levels, w))
                out[way] = fmin(out[way], levels->at[way][w]);
    }
}

/* The mark, from `first` to `last`, before which the clock jumps most, forward or back. */
static size_t leap_of(const struct pl_clock_study *study, size_t first, size_t last, bool forward)
{
    size_t at = first;
    double most = -INFINITY;
    for (size_t i = first > 0 ? first : 1; i <= last; i++) {
        double gap = study->at[i].own - study->at[i - 1].own;
        if ((forward ? gap : -gap) > most) {
            most = forward ? gap : -gap;
            at = i;
        }
    }
    return at;
}

/* The first mark of the piece that begins at window `w`. The previous piece has the windows `first` to `last`, and the
 * new one ends with `end`. The windows between `last` and `w` contain the step. */
static size_t begin_of(const struct pl_clock_study *study, const struct levels *levels, double slope,
                       const unsigned windows[4], size_t *unclear)
{
    double before[2], behind[2];
    size_t at = 0;
    lowest(levels, windows[0], windows[1], before);
    lowest(levels, windows[2], windows[3], behind);
    struct border border = border_of(study, levels, slope, windows[1], windows[2], before, behind);
    if (border.before != SIZE_MAX && border.behind != SIZE_MAX) {
        bool crossed = border.before > border.behind;
        *unclear += crossed ? IMPOSSIBLE + border.before - border.behind : border.behind - border.before - 1;
        if (crossed)
            return (border.before + border.behind + 1) / 2;
        return leap_of(study, border.before + 1, border.behind, (behind[0] > before[0]) == (study->end == 1));
    }
    *unclear += NO_WITNESS;
    if (border.behind != SIZE_MAX)
        return border.behind;
    if (border.before != SIZE_MAX)
        return border.before + 1;
    while (at < study->n && study->at[at].window < windows[2])
        at++;
    return at;
}

unsigned pl_clock_steps(struct pl_clock_study *study, double slope, double error, size_t begins[PL_CLOCK_PIECES],
                        size_t *unclear)
{
    struct levels levels;
    unsigned starts[PL_CLOCK_PIECES + 1] = {0}, ends[PL_CLOCK_PIECES] = {0}, n = 1;
    double low = -INFINITY, high = INFINITY;
    pl_clock_find_least(study, slope);
    levels = levels_of(study, slope, fmax(error, 0));
    begins[0] = 0;
    for (unsigned w = 0; isfinite(levels.round_trip) && w < PL_CLOCK_WINDOWS; w++) {
        double least = levels.round_trip / 2 - levels.at[1][w], most = levels.at[0][w] - levels.round_trip / 2;
        if ((!isfinite(least) && !isfinite(most)) || straddles(&levels, w))
            continue;
        if (fmax(low, least) > fmin(high, most) + levels.tolerance && n < PL_CLOCK_PIECES) {
            starts[n++] = w;
            low = -INFINITY;
            high = INFINITY;
        }
        low = fmax(low, least);
        high = fmin(high, most);
        ends[n - 1] = w;
    }
    for (unsigned i = 1; i < n; i++)
        begins[i] = begin_of(study, &levels, slope, (const unsigned[]){starts[i - 1], ends[i - 1], starts[i], ends[i]},
                             unclear);
    return n;
}
