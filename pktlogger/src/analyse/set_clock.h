/* Compares the clocks of both captures (clocks/clock.h). */
#ifndef PL_SET_CLOCK_H
#define PL_SET_CLOCK_H

#include "analyse.h"

/* After the first reading. Returns 0, or -1 without memory. */
int pl_set_clock(struct pl_analysis *analysis);

#endif
