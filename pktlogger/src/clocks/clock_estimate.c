/* Implements clock_estimate.h. */
#include "clock_study.h"

#include <stdlib.h>

#define FLOOR_NS 1000  /* least error of a capture's times, whatever its resolution */
#define GAP_NS 10e9    /* a longer silence counts as this long when time is divided into windows */
#define DRIFT_MAX 1e-3 /* no clock drifts by more; NTP slews by half of it at most */
/* A drift proves that there are two clocks if each direction shows it, and if its effect over the captures exceeds
 * these shares: OF_ROUND_TRIP of the round trip, and OF_FLOOR times the resolution. An evenly growing queue looks like
 * a drift of one direction only. */
#define OF_ROUND_TRIP 1e-3
#define OF_FLOOR 10
/* Near a step, some packets do not show whether they passed before or after it. Up to FEW such packets are no evidence
 * of whose clock was stepped: they may exist even if no packet was under way at the step. */
enum { FEW = 2 };

static int by_frame(const struct pl_clock_point *a, const struct pl_clock_point *b, int end)
{
    return (a->frames[end] > b->frames[end]) - (a->frames[end] < b->frames[end]);
}

static int by_first(const void *left, const void *right)
{
    return by_frame(left, right, 0);
}

static int by_second(const void *left, const void *right)
{
    return by_frame(left, right, 1);
}

/* When a packet passed a capture point, by that capture's clock. */
static int64_t time_at(const struct pl_clock_point *point, int end)
{
    if (!end)
        return point->t_ns;
    return point->back ? point->t_ns - point->difference_ns : point->t_ns + point->difference_ns;
}

/* Writes the time elapsed at each point into x. A clock that goes back does not reduce the elapsed time. */
static double pass_time(const pl_clock_points *points, int end, struct pl_clock_mark *marks)
{
    double passed = 0;
    for (size_t i = 0; i < points->n; i++) {
        double gap = i ? (double)(time_at(&points->at[i], end) - time_at(&points->at[i - 1], end)) : 0;
        passed += fmin(fmax(gap, 0), GAP_NS);
        marks[i].x = passed;
    }
    return passed;
}

static uint8_t window_of(double passed, double all)
{
    const int long_windows = PL_CLOCK_WINDOWS - 2 * PL_CLOCK_ENDS + 2, last = long_windows * PL_CLOCK_ENDS - 1;
    int fine = all > 0 ? (int)(passed / all * (last + 1)) : 0;
    fine = fine > last ? last : fine;
    if (fine < PL_CLOCK_ENDS)
        return (uint8_t)fine;
    if (fine > last - PL_CLOCK_ENDS)
        return (uint8_t)(PL_CLOCK_WINDOWS - 1 - (last - fine));
    return (uint8_t)(PL_CLOCK_ENDS - 1 + fine / PL_CLOCK_ENDS);
}

static int by_size(const void *left, const void *right)
{
    const struct pl_clock_point *a = left, *b = right;
    if (a->back != b->back)
        return a->back < b->back ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

/* Finds the two commonest sizes of each direction. Sorts the points. */
static void commonest(pl_clock_points *points, uint32_t sizes[2][2])
{
    size_t most[2][2] = {{0, 0}, {0, 0}};
    qsort(points->at, points->n, sizeof *points->at, by_size);
    for (size_t i = 0, n = 1; i < points->n; i += n) {
        const struct pl_clock_point *point = &points->at[i];
        for (n = 1; i + n < points->n && by_size(point, &points->at[i + n]) == 0;)
            n++;
        int rank = n > most[point->back][0] ? 0 : 1;
        if (n <= most[point->back][rank])
            continue;
        if (rank == 0) {
            most[point->back][1] = most[point->back][0];
            sizes[point->back][1] = sizes[point->back][0];
        }
        most[point->back][rank] = n;
        sizes[point->back][rank] = point->size;
    }
    for (int way = 0; way < 2; way++)
        for (int rank = 0; rank < 2; rank++)
            sizes[way][rank] = most[way][rank] ? sizes[way][rank] : UINT32_MAX;
}

static uint8_t class_of(const struct pl_clock_point *point, uint32_t sizes[2][2])
{
    for (unsigned rank = 0; rank < 2; rank++)
        if (point->size == sizes[point->back][rank])
            return (uint8_t)(2 * point->back + rank);
    return (uint8_t)(PL_CLOCK_CLASSES + point->back);
}

/* Makes the marks in the order of the capture `end`, relative to the time at_ns and the offset base_ns. */
static void order(struct pl_clock_study *study, pl_clock_points *points, const struct pl_clock *clock, int64_t base_ns)
{
    int end = clock->stepped;
    uint32_t sizes[2][2] = {{0, 0}, {0, 0}};
    commonest(points, sizes);
    qsort(points->at, points->n, sizeof *points->at, end ? by_second : by_first);
    double all = pass_time(points, end, study->at);
    study->end = end;
    study->origin_ns = time_at(&points->at[0], end);
    for (size_t i = 0; i < points->n; i++) {
        const struct pl_clock_point *point = &points->at[i];
        int64_t difference = point->back ? point->difference_ns + base_ns : point->difference_ns - base_ns;
        study->at[i] = (struct pl_clock_mark){
            .x = (double)(point->t_ns - clock->at_ns),
            .v = (double)difference,
            .own = (double)(time_at(point, end) - study->origin_ns),
            .frame = point->frames[end],
            .class = class_of(point, sizes),
            .window = window_of(study->at[i].x, all),
            .back = point->back,
            .data = pl_clock_has_data(point->size),
        };
    }
}

enum what { SHORT, LONG, ANY };

/* The least values of a direction, and the error of their level. */
struct lowest {
    double level, x, error;
    size_t n;
};

static struct lowest lowest_of(const struct pl_clock_study *study, size_t from, size_t to, bool back, enum what what,
                               double slope)
{
    double low[PL_CLOCK_WITNESSES];
    struct lowest lowest = {.level = INFINITY};
    for (size_t i = from; i < to; i++) {
        const struct pl_clock_mark *mark = &study->at[i];
        if (mark->back != back || (what != ANY && mark->data != (what == LONG)))
            continue;
        double level = pl_clock_mark_level(mark, slope);
        if (level < lowest.level) {
            lowest.level = level;
            lowest.x = mark->x;
        }
        size_t place = lowest.n < PL_CLOCK_WITNESSES ? lowest.n : PL_CLOCK_WITNESSES;
        for (; place > 0 && low[place - 1] > level; place--)
            if (place < PL_CLOCK_WITNESSES)
                low[place] = low[place - 1];
        if (place < PL_CLOCK_WITNESSES)
            low[place] = level;
        lowest.n++;
    }
    size_t last = lowest.n < PL_CLOCK_WITNESSES ? lowest.n : PL_CLOCK_WITNESSES;
    lowest.error = last ? low[last - 1] - lowest.level + study->floor_ns : INFINITY;
    return lowest;
}

/* The least values of both directions in a piece of time. */
struct piece {
    struct lowest away, back;
};

static double error_of(const struct piece *piece)
{
    return (piece->away.error + piece->back.error) / 2;
}

/* The offset of the second clock in a piece. It is the offset in `known`, the piece with the smallest error, plus the
 * change from that piece to this one in the direction with the smaller error. The other direction may be misleading: a
 * queue that never empties hides its least delay. */
static double offset_of(const struct piece *piece, const struct piece *known)
{
    double offset = (known->away.level - known->back.level) / 2;
    if (piece->away.error + known->away.error < piece->back.error + known->back.error)
        return offset + piece->away.level - known->away.level;
    return offset + known->back.level - piece->back.level;
}

/* How much longer than short packets the long ones take in a piece, from a direction that has both. Other pieces, or
 * the other direction, may have packets of one kind only. */
static double size_effect(const struct pl_clock_study *study, size_t from, size_t to, double slope)
{
    double effect = 0;
    for (int back = 0; back < 2; back++) {
        struct lowest less = lowest_of(study, from, to, back, SHORT, slope);
        struct lowest more = lowest_of(study, from, to, back, LONG, slope);
        if (less.n && more.n)
            effect = fmax(effect, more.level - less.level + less.error);
    }
    return effect;
}

/* The middle between the times of the two marks around a step. */
static int64_t turn_ns(const struct pl_clock_study *study, size_t begin)
{
    return study->origin_ns + llround((study->at[begin - 1].own + study->at[begin].own) / 2);
}

/* Sets the pieces of the clock from the marks at which they begin. Returns false if in a piece one direction has no
 * packet. */
static bool set_pieces(struct pl_clock *clock, const struct pl_clock_study *study, const size_t *begins, unsigned n,
                       int64_t base_ns)
{
    struct piece pieces[PL_CLOCK_PIECES] = {{.back.n = 0}}, *known = pieces;
    double error = 0, bound = 0, size = 0, tilt = fmax(clock->drift_error, 0);
    for (unsigned i = 0; i < n; i++) {
        struct piece *piece = &pieces[i];
        size_t end = i + 1 < n ? begins[i + 1] : study->n;
        piece->away = lowest_of(study, begins[i], end, false, ANY, clock->drift);
        piece->back = lowest_of(study, begins[i], end, true, ANY, clock->drift);
        if (!piece->away.n || !piece->back.n)
            return false;
        known = error_of(piece) < error_of(known) ? piece : known;
        error = fmax(error, fmin(piece->away.error, piece->back.error) +
                                tilt * fmax(fabs(piece->away.x), fabs(piece->back.x)));
        size = fmax(size, size_effect(study, begins[i], end, clock->drift));
        bound = fmax(bound, (piece->away.level + piece->back.level) / 2);
    }
    for (unsigned i = 0; i < n; i++)
        clock->pieces[i] = (struct pl_clock_piece){
            .after_frame = i ? study->at[begins[i] - 1].frame : 0,
            .from_frame = i ? study->at[begins[i]].frame : 0,
            .turn_ns = i ? turn_ns(study, begins[i]) : 0,
            .t_ns = clock->at_ns + llround(study->at[begins[i]].x),
            .offset_ns = base_ns + llround(offset_of(&pieces[i], known)),
        };
    error = size + error_of(known) + (n > 1 ? error : tilt * fabs(known->away.x + known->back.x) / 2);
    clock->piece_n = n;
    clock->error_ns = llround(error);
    clock->bound_ns = llround(fmax(bound, error));
    if (known->away.n < PL_CLOCK_WITNESSES || known->back.n < PL_CLOCK_WITNESSES)
        clock->error_ns = clock->bound_ns;
    return true;
}

/* Whether a packet would arrive before it was sent if the clocks were one. */
static bool violated(const pl_clock_points *points, double floor_ns)
{
    for (size_t i = 0; i < points->n; i++)
        if ((double)points->at[i].difference_ns < -2 * floor_ns)
            return true;
    return false;
}

/* Changes the times of a first clock that was stepped: the results have no steps. */
static void level_times(struct pl_clock_study *study, const struct pl_clock *clock, const size_t *begins)
{
    for (unsigned i = 1; !clock->stepped && i < clock->piece_n; i++)
        for (size_t j = begins[i]; j < (i + 1 < clock->piece_n ? begins[i + 1] : study->n); j++)
            study->at[j].x += (double)(clock->pieces[i].offset_ns - clock->pieces[0].offset_ns);
}

/* Whether the drift alone proves that there are two clocks. */
static bool drifts(const struct pl_clock *clock, const struct pl_clock_study *study)
{
    double drifted = fabs(clock->drift) * (study->at[study->n - 1].x - study->at[0].x);
    return study->agreed && drifted > OF_ROUND_TRIP * 2 * (double)clock->bound_ns &&
           drifted > OF_FLOOR * study->floor_ns;
}

/* How well the captures agree with steps of one of the two clocks. */
struct fitted {
    size_t unclear; /* number of packets that do not show on which side of a step they are */
    double leap_ns;
};

/* The sum of a stepped clock's jumps between the packets around its steps. INFINITY: it went back. */
static double leap_ns(const struct pl_clock_study *study, const size_t *begins, unsigned n)
{
    double leap = 0;
    for (unsigned i = 1; i < n; i++) {
        double gap = study->at[begins[i]].own - study->at[begins[i] - 1].own;
        leap += gap < 0 ? INFINITY : gap;
    }
    return leap;
}

/* Drops the steps that are too small to be told from other events on a path: a queue that empties while no packet of the
 * other direction is under way looks like a step. Returns the number of pieces that are left. */
static unsigned drop_small_steps(const struct pl_clock *clock, size_t *begins)
{
    double least_ns = OF_ROUND_TRIP * 2 * (double)clock->bound_ns;
    unsigned n = 1;
    for (unsigned i = 1; i < clock->piece_n; i++)
        if (fabs((double)(clock->pieces[i].offset_ns - clock->pieces[i - 1].offset_ns)) >= least_ns)
            begins[n++] = begins[i];
    return n;
}

static struct fitted fit(struct pl_clock *clock, struct pl_clock_study *study, int64_t base_ns)
{
    size_t begins[PL_CLOCK_PIECES] = {0};
    struct fitted fitted = {0, 0};
    clock->drift = pl_clock_slope(study, &clock->drift_error);
    if (fabs(clock->drift) > DRIFT_MAX) { /* such a drift is a growing queue */
        clock->drift = 0;
        clock->drift_error = -1;
    }
    unsigned n = pl_clock_steps(study, clock->drift, clock->drift_error, begins, &fitted.unclear);
    if (!set_pieces(clock, study, begins, n, base_ns) && !set_pieces(clock, study, (const size_t[]){0}, n = 1, base_ns))
        return fitted;
    if (n > 1 && (n = drop_small_steps(clock, begins)) < clock->piece_n)
        set_pieces(clock, study, begins, n, base_ns);
    level_times(study, clock, begins);
    if (n > 1 || clock->kind == PL_CLOCK_TWO || drifts(clock, study))
        clock->kind = PL_CLOCK_TWO;
    else
        clock->kind = PL_CLOCK_ONE;
    if (clock->drift_error >= 0 && (clock->kind == PL_CLOCK_ONE || fabs(clock->drift) <= clock->drift_error)) {
        clock->drift_error += fabs(clock->drift);
        clock->drift = 0;
    }
    set_pieces(clock, study, begins, n, base_ns);
    fitted.leap_ns = leap_ns(study, begins, n);
    return fitted;
}

/* An offset close to all differences, from the first packet of each direction. Doubles can hold values relative to it
 * exactly. */
static int64_t base_of(const pl_clock_points *points)
{
    int64_t base_ns = 0;
    bool seen[2] = {false};
    for (size_t i = 0; i < points->n && !(seen[0] && seen[1]); i++) {
        const struct pl_clock_point *point = &points->at[i];
        if (!seen[point->back])
            base_ns += (point->back ? -point->difference_ns : point->difference_ns) / 2;
        seen[point->back] = true;
    }
    return base_ns;
}

/* Fits the clock, assuming that the clock of one capture was stepped. Takes packets in the order of that capture. */
static struct fitted fit_steps_of(int stepped, struct pl_clock *clock, struct pl_clock_study *study,
                                  pl_clock_points *points, int64_t base_ns)
{
    clock->stepped = stepped;
    order(study, points, clock, base_ns);
    return fit(clock, study, base_ns);
}

/* Fits the clock with steps of the second clock and, if there are any, with steps of the first clock instead. In the
 * order of the wrong capture, packets under way at a step blur the step. If no packet was under way, the clock that
 * jumps or goes back was stepped: otherwise both ends would have been silent for exactly as long as the step. */
static void fit_either(struct pl_clock *clock, struct pl_clock_study *study, pl_clock_points *points, int64_t base_ns)
{
    struct pl_clock other = *clock;
    struct fitted second = fit_steps_of(1, clock, study, points, base_ns);
    struct fitted first = fit_steps_of(0, &other, study, points, base_ns);
    bool alike = first.unclear <= second.unclear + FEW && second.unclear <= first.unclear + FEW;
    bool better = alike ? first.leap_ns > second.leap_ns : first.unclear < second.unclear;
    if (other.piece_n > 1 && (clock->piece_n < 2 || better))
        *clock = other;
}

int pl_clock_estimate(pl_clock_points *points, int64_t resolution_ns, struct pl_clock *clock)
{
    struct pl_clock_study study = {.n = points->n, .floor_ns = (double)(FLOOR_NS + resolution_ns)};
    for (size_t i = 0; i < points->n; i++)
        clock->packets[points->at[i].back]++;
    if (!clock->packets[0] || !clock->packets[1])
        return 0;
    qsort(points->at, points->n, sizeof *points->at, by_first);
    clock->at_ns = points->at[0].t_ns + (points->at[points->n - 1].t_ns - points->at[0].t_ns) / 2;
    study.at = malloc(points->n * sizeof *study.at);
    if (!study.at)
        return -1;
    clock->kind = violated(points, study.floor_ns) ? PL_CLOCK_TWO : PL_CLOCK_ONE;
    fit_either(clock, &study, points, base_of(points));
    if (clock->kind == PL_CLOCK_ONE) {
        clock->piece_n = 0;
        clock->error_ns = clock->bound_ns;
    }
    free(study.at);
    return 0;
}
