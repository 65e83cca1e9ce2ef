/* The summary.json of an analysis. */
#ifndef PL_SUMMARY_H
#define PL_SUMMARY_H

#include <jansson.h>

#include "analyse.h"

/* The object of one flow. */
json_t *pl_summary_flow(const struct pl_transfer *transfer);

/* The share of the elapsed time in which sending was stopped: s of lfp-1995. -1: nothing was sent. */
double pl_stopped_share(const struct pl_transfer *transfer);

/* The whole of summary.json. */
json_t *pl_summary(const struct pl_analysis *analysis);

#endif
