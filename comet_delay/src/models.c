#include "models.h"

#include <stdio.h>
#include <string.h>

enum { REASON = 300 };

static int build_loss_after(const char *text, struct loss_model *model, char *reason)
{
    if (loss_model_parse(text, model, reason, REASON) < 0)
        return -1;
    if (!loss_model_wants_tcp(model))
        return 0;
    snprintf(reason, REASON, "%.80s: TCP segments are told apart before the bottleneck only; use --loss", text);
    return -1;
}

static int build_rate(const struct params *params, struct rate_trace *rate, char *reason)
{
    if (strcmp(params->rate_trace, "none") != 0)
        return rate_trace_parse(params->rate_trace, rate, reason, REASON);
    *rate = (struct rate_trace){.kind = RATE_CONSTANT, .rate_bps = params->rate_bps};
    return 0;
}

bool models_limit_rate(const struct models *models)
{
    return models->rate.kind != RATE_CONSTANT || models->rate.rate_bps > 0;
}

/* Names the option whose text was refused, or NULL. What was built before it is all zero or owned, so models_free does. */
static const char *build(const struct params *params, struct models *models, char *reason)
{
    if (aqm_parse(params->aqm, &models->aqm, reason, REASON) < 0)
        return "aqm";
    if (loss_model_parse(params->loss, &models->loss, reason, REASON) < 0)
        return "loss";
    if (build_loss_after(params->loss_after, &models->loss_after, reason) < 0)
        return "loss-after";
    if (jitter_model_parse(params->jitter, &models->jitter, reason, REASON) < 0)
        return "jitter";
    if (build_rate(params, &models->rate, reason) < 0)
        return "rate-trace";
    return NULL;
}

int models_build(const struct params *params, struct models *models, char *why, size_t why_size)
{
    char reason[REASON];
    memset(models, 0, sizeof *models);
    const char *refused = build(params, models, reason);
    if (refused) {
        models_free(models);
        snprintf(why, why_size, "--%s: %s", refused, reason);
        return -1;
    }
    models->aqm.link_rate_bps = rate_trace_planning_bps(&models->rate);
    return 0;
}

void models_free(struct models *models)
{
    loss_model_free(&models->loss);
    loss_model_free(&models->loss_after);
    jitter_model_free(&models->jitter);
    rate_trace_free(&models->rate);
}
