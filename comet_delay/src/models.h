/* What the texts among the parameters mean: parsed once, when they are set, so that a wrong one is refused as a whole and
 * the packet path never sees a text. */
#ifndef COMET_MODELS_H
#define COMET_MODELS_H

#include "aqm.h"
#include "jitter_model.h"
#include "loss_model.h"
#include "params.h"
#include "rate_trace.h"

struct models {
    struct loss_model loss, loss_after;
    struct aqm_params aqm;
    struct jitter_model jitter;
    struct rate_trace rate; /* constant: --rate's */
};

/* True when there is a bottleneck. */
bool models_limit_rate(const struct models *models);

/* What the path holds at most, and what that comes from: the highest rate (without one, 10 Gbit/s: a guess that only decides
 * how much memory is touched in advance) times the longest delay, and the queue. Distributions without an end count to
 * four deviations. */
struct models_held {
    uint64_t bytes, rate_bps, jitter_ns;
};
struct models_held models_held(const struct params *params, const struct models *models);

/* 0, or -1 with a one-line reason that names the option; then there is nothing to free. */
int models_build(const struct params *params, struct models *models, char *why, size_t why_size);

/* As models_build, but a model whose text in `old` was the same is taken over from `had`, which was built from it: solving
 * for a correlation takes a millisecond, and a file may be gone by now. */
int models_rebuild(const struct params *params, const struct params *old, const struct models *had, struct models *models,
                   char *why, size_t why_size);
void models_free(struct models *models);

#endif
