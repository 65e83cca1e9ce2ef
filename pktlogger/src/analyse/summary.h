/* The summary.json of an analysis. */
#ifndef PL_SUMMARY_H
#define PL_SUMMARY_H

#include <jansson.h>

#include "analyse.h"

/* The share of the elapsed time in which sending had stopped: s of lfp-1995. -1: nothing was sent. */
double pl_stopped_share(const struct pl_transfer *transfer);

/* The whole of summary.json. */
json_t *pl_summary(const struct pl_analysis *analysis);

/* Mean, standard deviation and maximum, in bit/s, of the rate over the intervals of time scale `scale`. Way 0: of
 * sending; way 1: of arrival. */
struct pl_spread_bps {
    double mean, deviation, most;
};
struct pl_spread_bps pl_summary_rate(const struct pl_transfer *transfer, unsigned scale, int way);

#endif
