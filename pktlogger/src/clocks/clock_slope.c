/* Estimates the drift; clock_estimate.h explains the method. */
#include "clock_study.h"

#include <stdlib.h>
#include <string.h>

#define SLOPE_MAX 1e-3
#define SLEW_MAX 5e-4 /* NTP corrects by at most this; a crystal is five times better */
enum { ROUNDS = 4, LOGS = 8, TURNS = 60, CLASSES = 2 };
#define LESS_TELLING 20

struct windows {
    double x[PL_CLOCK_WINDOWS], v[PL_CLOCK_WINDOWS];
    size_t n;
    unsigned class;
};

void pl_clock_find_least(struct pl_clock_study *study, double slope)
{
    memset(study->least, 0, sizeof study->least);
    for (size_t i = 0; i < study->n; i++) {
        const struct pl_clock_mark *mark = &study->at[i];
        if (mark->class >= PL_CLOCK_CLASSES)
            continue;
        __typeof__(&study->least[0][0]) least = &study->least[mark->class][mark->window];
        if (least->any && pl_clock_level(mark->back, least->x, least->v, slope) <= pl_clock_mark_level(mark, slope))
            continue;
        least->any = true;
        least->x = mark->x;
        least->v = mark->v;
    }
}

static struct windows windows_of(const struct pl_clock_study *study, unsigned class)
{
    struct windows windows = {.n = 0, .class = class};
    for (unsigned w = 0; w < PL_CLOCK_WINDOWS; w++)
        if (study->least[class][w].any) {
            windows.x[windows.n] = study->least[class][w].x;
            windows.v[windows.n++] = study->least[class][w].v;
        }
    return windows;
}

/* Writes how far the windows are above the line below them. */
static void distances(const struct windows *windows, double slope, double *out)
{
    double least = INFINITY;
    for (size_t i = 0; i < windows->n; i++) {
        out[i] = pl_clock_level(pl_clock_back(windows->class), windows->x[i], windows->v[i], slope);
        least = out[i] < least ? out[i] : least;
    }
    for (size_t i = 0; i < windows->n; i++)
        out[i] -= least;
}

/* The sum of the logarithms of the distances, which measures their spread. It is small when many windows are near the
 * line, even if the others are far away. */
static double spread(const struct windows all[CLASSES], double slope, double floor_ns)
{
    double sum = 0, product = 1, away[PL_CLOCK_WINDOWS];
    unsigned factors = 0;
    for (unsigned class = 0; class < CLASSES; class++) {
        distances(&all[class], slope, away);
        for (size_t i = 0; i < all[class].n; i++) {
            product *= away[i] + floor_ns;
            if (++factors % LOGS == 0) {
                sum += log(product);
                product = 1;
            }
        }
    }
    return sum + log(product);
}

/* The slope of the line through two windows that gives the least spread. Pairs of windows close to each other are
 * skipped. */
static double best_of(const struct windows all[CLASSES], double slope, double span, double floor_ns)
{
    double best = slope, least = spread(all, slope, floor_ns);
    for (unsigned class = 0; class < CLASSES; class++)
        for (size_t i = 0; i < all[class].n; i++)
            for (size_t j = i + 1; j < all[class].n; j++) {
                double apart = all[class].x[j] - all[class].x[i];
                double tilt = apart < span / 4 ? INFINITY : (all[class].v[j] - all[class].v[i]) / apart;
                tilt = pl_clock_back(all[class].class) ? -tilt : tilt;
                double sum = fabs(tilt) <= SLOPE_MAX ? spread(all, tilt, floor_ns) : INFINITY;
                if (sum < least) {
                    least = sum;
                    best = tilt;
                }
            }
    return best;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double pl_clock_nth(double *values, size_t n, size_t i)
{
    qsort(values, n, sizeof *values, ascending);
    return n == 0 ? 0 : values[i < n ? i : n - 1];
}

/* Keeps only the windows near the line. */
static void keep_near(struct windows *windows, double slope, double floor_ns)
{
    double away[PL_CLOCK_WINDOWS] = {0}, sorted[PL_CLOCK_WINDOWS];
    distances(windows, slope, away);
    memcpy(sorted, away, sizeof sorted);
    double limit = 2 * (pl_clock_nth(sorted, windows->n, PL_CLOCK_WITNESSES - 1) + floor_ns);
    size_t kept = 0;
    for (size_t i = 0; i < windows->n; i++)
        if (away[i] <= limit) {
            windows->x[kept] = windows->x[i];
            windows->v[kept++] = windows->v[i];
        }
    windows->n = kept;
}

/* The height of the line below the windows, at their middle. */
static double height(const struct windows *windows, double slope, double middle)
{
    double least = INFINITY;
    for (size_t i = 0; i < windows->n; i++)
        least =
            fmin(least, pl_clock_level(pl_clock_back(windows->class), windows->x[i] - middle, windows->v[i], slope));
    return least;
}

/* The span of time, of a given length, that has most windows. */
static double time_of(const struct windows *windows)
{
    double x[PL_CLOCK_WINDOWS];
    memcpy(x, windows->x, sizeof x);
    return 2 * (pl_clock_nth(x, windows->n, windows->n * 3 / 4) - pl_clock_nth(x, windows->n, windows->n / 4));
}

/* The error of the slope: the sixth least distance from the line, divided by the span of time that has most windows.
 * INFINITY with too few windows. */
static double error_of(const struct windows *windows, double slope, double floor_ns)
{
    double away[PL_CLOCK_WINDOWS], time = time_of(windows);
    if (windows->n < PL_CLOCK_WITNESSES + 2 || time <= 0)
        return INFINITY;
    distances(windows, slope, away);
    return 2 * (pl_clock_nth(away, windows->n, PL_CLOCK_WITNESSES - 1) + floor_ns) / time;
}

/* The slope of the highest line below the windows, within `error` of `slope`. */
static double highest(const struct windows *windows, double slope, double error)
{
    double middle = 0, low = slope - error, high = slope + error;
    for (size_t i = 0; i < windows->n; i++)
        middle += windows->x[i] / (double)windows->n;
    for (int i = 0; i < TURNS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (height(windows, a, middle) < height(windows, b, middle))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* Refines a slope by the class of packets that is nearest to its line. Sets *error. */
static double refine(const struct windows all[CLASSES], double slope, double floor_ns, double *error)
{
    struct windows best = {.n = 0};
    *error = INFINITY;
    for (unsigned class = 0; class < CLASSES; class++) {
        struct windows windows = all[class];
        keep_near(&windows, slope, floor_ns);
        double own = error_of(&windows, slope, floor_ns);
        if (own < *error) {
            *error = own;
            best = windows;
        }
    }
    if (!isfinite(*error))
        return slope;
    slope = highest(&best, slope, *error);
    *error = fmax(*error / 2, error_of(&best, slope, floor_ns));
    return slope;
}

/* The slope by the packets of one direction. Its error is INFINITY when there are too few. */
static double slope_of(struct pl_clock_study *study, unsigned way, double *error)
{
    struct windows all[CLASSES];
    double slope = 0, span = study->n ? study->at[study->n - 1].x - study->at[0].x : 0;
    for (int round = 0; round < ROUNDS; round++) {
        pl_clock_find_least(study, slope);
        for (unsigned class = 0; class < CLASSES; class++)
            all[class] = windows_of(study, CLASSES * way + class);
        if (round < 2)
            slope = best_of(all, slope, span, study->floor_ns);
        slope = refine(all, slope, study->floor_ns, error);
    }
    return slope;
}

/* Combines the slopes of both directions. Drift tilts both lines; an evenly growing queue tilts only one. So if the
 * directions disagree, the drift may lie anywhere between their slopes, unless one of them is far less exact. */
double pl_clock_slope(struct pl_clock_study *study, double *error)
{
    double errors[2], slopes[2] = {slope_of(study, 0, &errors[0]), slope_of(study, 1, &errors[1])};
    int better = errors[1] < errors[0];
    double apart = fabs(slopes[0] - slopes[1]);
    *error = isfinite(errors[better]) ? errors[better] : -1;
    study->agreed = apart <= errors[0] + errors[1];
    for (int way = 0; way < 2; way++)
        study->agreed = study->agreed && isfinite(errors[way]) && fabs(slopes[way]) <= SLEW_MAX &&
                        fabs(slopes[way]) > PL_CLOCK_SIGNIFICANT * errors[way];
    if (errors[!better] > LESS_TELLING * errors[better] || apart <= errors[0] + errors[1])
        return *error < 0 ? 0 : slopes[better];
    *error = apart / 2 + errors[better];
    return (slopes[0] + slopes[1]) / 2;
}
