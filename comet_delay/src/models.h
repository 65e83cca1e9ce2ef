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

/* 0, or -1 with a one-line reason that names the option; then there is nothing to free. */
int models_build(const struct params *params, struct models *models, char *why, size_t why_size);
void models_free(struct models *models);

#endif
