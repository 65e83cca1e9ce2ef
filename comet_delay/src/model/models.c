#include "models.h"

bool models_limit_rate(const struct models *models)
{
    return models->rate.kind != RATE_CONSTANT || models->rate.rate_bps > 0;
}

bool models_use_bottleneck(const struct models *models)
{
    return models_limit_rate(models) || models->aqm.algorithm == AQM_POLICER;
}

void models_free(struct models *models)
{
    loss_model_free(&models->loss);
    loss_model_free(&models->loss_after);
    jitter_model_free(&models->jitter);
    rate_trace_free(&models->rate);
}
