/* What clock_estimate.c, clock_slope.c and clock_steps.c share: the packets in windows of time, and the least
 * differences in them. */
#ifndef PL_CLOCK_STUDY_H
#define PL_CLOCK_STUDY_H

#include <math.h>
#include <stdbool.h>

#include "clock_estimate.h"

/* Windows have equal lengths, but the first and the last are divided into PL_CLOCK_ENDS: a step is found between two
 * windows. The classes: the two commonest sizes of each direction, and behind them the other packets of each, which
 * only the offsets take into account: on a line of 5 Mbit/s a SACK block takes 13 us. */
enum {
    PL_CLOCK_ENDS = 8,
    PL_CLOCK_WINDOWS = 62 + 2 * PL_CLOCK_ENDS,
    PL_CLOCK_CLASSES = 4,
    PL_CLOCK_WITNESSES = 6,
    PL_CLOCK_SIGNIFICANT = 3, /* a drift of so many times its error is one */
};

/* A packet: its time and its difference, both from the middle of all. `own` is its time by the clock that may have been
 * stepped, from the study's origin. */
struct pl_clock_mark {
    double x, v, own;
    uint64_t frame;
    uint8_t class, window;
    bool back, data;
};

struct pl_clock_study {
    struct pl_clock_mark *at; /* in the order of the capture whose clock may have been stepped */
    size_t n;
    int end; /* that capture */
    int64_t origin_ns;
    double floor_ns; /* no difference is known better */
    bool agreed;     /* each direction by itself shows a drift, and both the same */
    struct {
        double x, v;
        bool any;
    } least[PL_CLOCK_CLASSES][PL_CLOCK_WINDOWS];
};

static inline bool pl_clock_back(unsigned class)
{
    return class >= 2;
}

/* The value of a point of a direction without drift. */
static inline double pl_clock_level(bool back, double x, double v, double slope)
{
    return back ? v + slope * x : v - slope * x;
}

static inline double pl_clock_mark_level(const struct pl_clock_mark *mark, double slope)
{
    return pl_clock_level(mark->back, mark->x, mark->v, slope);
}

/* Fills in `least` for a drift of `slope`. */
void pl_clock_find_least(struct pl_clock_study *study, double slope);

/* Finds the drift and its error, which is below 0 when too little is known. */
double pl_clock_slope(struct pl_clock_study *study, double *error);

/* Finds where the clock was stepped: sets the marks at which another piece begins. Returns the number of pieces, and
 * adds to *unclear the marks around the steps that do not tell on which side they are. */
unsigned pl_clock_steps(struct pl_clock_study *study, double slope, double error, size_t begins[PL_CLOCK_PIECES],
                        size_t *unclear);

/* Sorts values; the result is the one of number i, or the last one. */
double pl_clock_nth(double *values, size_t n, size_t i);

#endif
