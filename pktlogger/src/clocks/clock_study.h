/* Shared by clock_estimate.c, clock_slope.c and clock_steps.c: the packets, divided into windows of time, and the least
 * difference in each window. */
#ifndef PL_CLOCK_STUDY_H
#define PL_CLOCK_STUDY_H

#include <math.h>
#include <stdbool.h>

#include "clock_estimate.h"

/* Windows have equal lengths, but the first and the last are divided into PL_CLOCK_ENDS, because a step can only be
 * found between two windows. Each direction has three classes of packets: its two commonest sizes, and all others. Only
 * the offsets use this third class, because other sizes take other times: on a line of 5 Mbit/s a SACK block takes 13
 * us. */
enum {
    PL_CLOCK_ENDS = 8,
    PL_CLOCK_WINDOWS = 62 + 2 * PL_CLOCK_ENDS,
    PL_CLOCK_CLASSES = 4,
    PL_CLOCK_WITNESSES = 6,
    PL_CLOCK_SIGNIFICANT = 3, /* a drift counts when it is this many times its error */
};

/* A packet: its time and its difference, both relative to the middle of all packets. `own` is its time since the
 * study's origin, by the clock that may have been stepped. */
struct pl_clock_mark {
    double x, v, own;
    uint64_t frame;
    uint8_t class, window;
    bool back, data;
};

struct pl_clock_study {
    struct pl_clock_mark *at; /* packets in the order of the capture whose clock may have been stepped */
    size_t n;
    int end; /* number of that capture */
    int64_t origin_ns;
    double floor_ns; /* least error of a difference */
    bool agreed;     /* each direction alone shows a drift, and both show the same */
    struct {
        double x, v;
        bool any;
    } least[PL_CLOCK_CLASSES][PL_CLOCK_WINDOWS];
};

static inline bool pl_clock_back(unsigned class)
{
    return class >= 2;
}

/* The difference of a mark, corrected for drift. */
static inline double pl_clock_level(bool back, double x, double v, double slope)
{
    return back ? v + slope * x : v - slope * x;
}

static inline double pl_clock_mark_level(const struct pl_clock_mark *mark, double slope)
{
    return pl_clock_level(mark->back, mark->x, mark->v, slope);
}

/* Fills in `least` for the drift `slope`. */
void pl_clock_find_least(struct pl_clock_study *study, double slope);

/* Finds the drift and its error. The error is below 0 when the data does not suffice. */
double pl_clock_slope(struct pl_clock_study *study, double *error);

/* Finds where the clock was stepped, and sets the marks at which the pieces begin. Returns the number of pieces. Adds
 * to *unclear the number of marks near the steps that do not show their side. */
unsigned pl_clock_steps(struct pl_clock_study *study, double slope, double error, size_t begins[PL_CLOCK_PIECES],
                        size_t *unclear);

/* Sorts values and returns the value at index i, or the last one. */
double pl_clock_nth(double *values, size_t n, size_t i);

#endif
