/* The models that the texts among the parameters describe. The texts are parsed once, when they are set, so that a
 * wrong one is refused as a whole and the packet path never handles a text. */
#ifndef COMET_MODELS_H
#define COMET_MODELS_H

#include "aqm_text.h"
#include "filter.h"
#include "jitter_model.h"
#include "loss_model.h"
#include "params.h"
#include "rate_trace.h"

struct models {
    struct filter only;
    struct loss_model loss, loss_after;
    struct aqm_params aqm;
    struct jitter_model jitter;
    struct rate_trace rate; /* the value of --rate if there is no trace */
};

/* True when there is a bottleneck. */
bool models_limit_rate(const struct models *models);

/* Whether packets pass the bottleneck: with a rate, or with a policer, which needs no rate after it. */
bool models_use_bottleneck(const struct models *models);

/* The most bytes that the path can hold: for each channel the highest rate times the longest delay, plus the queue.
 * Without a rate 10 Gbit/s is assumed, which only decides how much memory is touched in advance. Distributions without
 * an upper bound count up to four standard deviations. */
struct models_held {
    uint64_t bytes, channels, rate_bps, jitter_ns; /* rate_bps: of a channel */
};
struct models_held models_held(const struct params *params, const struct models *models);

/* Returns 0, or -1 with an error that names the option; then there is nothing to free. */
int models_build(const struct params *params, struct models *models, struct nc_error *error);

/* Like models_build, but reuses every model of `had` (built from `old`) whose text has not changed: solving for a
 * correlation takes a millisecond, and a file may no longer exist. */
int models_rebuild(const struct params *params, const struct params *old, const struct models *had,
                   struct models *models, struct nc_error *error);
void models_free(struct models *models);

/* {"jitter","rate","aqm","only","loss","loss_after"}: each model in its full text form, with all defaults filled in,
 * and {"loss_mean","loss_after_mean"}: the long-run loss ratios, null for lists. */
json_t *models_json(const struct models *models);

#endif
