#include "models.h"

#include <stdio.h>
#include <string.h>

enum { REASON = 300 };

static int refuse(const char *option, const char *reason, char *why, size_t why_size)
{
    snprintf(why, why_size, "--%s: %s", option, reason);
    return -1;
}

static int build_loss_after(const char *text, struct loss_model *model, char *reason)
{
    if (loss_model_parse(text, model, reason, REASON) < 0)
        return -1;
    if (!loss_model_wants_tcp(model))
        return 0;
    snprintf(reason, REASON, "%.80s: TCP segments are told apart before the bottleneck only; use --loss", text);
    loss_model_free(model);
    return -1;
}

int models_build(const struct params *params, struct models *models, char *why, size_t why_size)
{
    char reason[REASON];
    memset(models, 0, sizeof *models);
    if (aqm_parse(params->aqm, &models->aqm, reason, sizeof reason) < 0)
        return refuse("aqm", reason, why, why_size);
    if (loss_model_parse(params->loss, &models->loss, reason, sizeof reason) < 0)
        return refuse("loss", reason, why, why_size);
    if (build_loss_after(params->loss_after, &models->loss_after, reason) < 0) {
        loss_model_free(&models->loss);
        return refuse("loss-after", reason, why, why_size);
    }
    models->aqm.link_rate_bps = params->rate_bps;
    return 0;
}

void models_free(struct models *models)
{
    loss_model_free(&models->loss);
    loss_model_free(&models->loss_after);
}
