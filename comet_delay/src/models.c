#include "models.h"

#include <stdio.h>
#include <string.h>

#include "nc_clock.h"

enum { REASON = 300 };

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

/* What jitter adds to the constant delay at most, near enough. */
static uint64_t longest_jitter_ns(const struct jitter_model *jitter)
{
    enum { DEVIATIONS = 4 };
    int64_t longest_ns = 0;
    switch (jitter->kind) {
    case JITTER_NONE: return 0;
    case JITTER_UNIFORM: return jitter->spread_ns;
    case JITTER_TABLE:
    case JITTER_TRACE:
        for (size_t i = 0; i < jitter->table->n; i++)
            if ((int64_t)jitter->table->at[i] > longest_ns)
                longest_ns = (int64_t)jitter->table->at[i];
        return (uint64_t)longest_ns;
    default: return DEVIATIONS * jitter->spread_ns;
    }
}

struct models_held models_held(const struct params *params, const struct models *models)
{
    const uint64_t guess_bps = UINT64_C(10000000000);
    struct models_held held = {.rate_bps = rate_trace_planning_bps(&models->rate),
                               .jitter_ns = longest_jitter_ns(&models->jitter)};
    if (!held.rate_bps)
        held.rate_bps = guess_bps;
    held.bytes = (uint64_t)((unsigned __int128)held.rate_bps * (params->delay_ns + held.jitter_ns) / (8 * NC_NS_PER_S)) +
                 params->queue_bytes;
    return held;
}

/* Names the option whose text was refused, or NULL. `old` and `had` may be NULL. What was built before it is all zero or owned, so models_free does. */
static const char *build(const struct params *params, const struct params *old, const struct models *had,
                         struct models *models, char *reason)
{
    if (aqm_parse(params->aqm, &models->aqm, reason, REASON) < 0)
        return "aqm";
    if (old && strcmp(params->loss, old->loss) == 0)
        models->loss = loss_model_share(&had->loss);
    else if (loss_model_parse(params->loss, &models->loss, reason, REASON) < 0)
        return "loss";
    if (old && strcmp(params->loss_after, old->loss_after) == 0)
        models->loss_after = loss_model_share(&had->loss_after);
    else if (loss_model_parse(params->loss_after, &models->loss_after, reason, REASON) < 0)
        return "loss-after";
    if (old && strcmp(params->jitter, old->jitter) == 0)
        models->jitter = jitter_model_share(&had->jitter);
    else if (jitter_model_parse(params->jitter, &models->jitter, reason, REASON) < 0)
        return "jitter";
    if (old && had->rate.kind != RATE_CONSTANT && strcmp(params->rate_trace, old->rate_trace) == 0)
        models->rate = rate_trace_share(&had->rate);
    else if (build_rate(params, &models->rate, reason) < 0)
        return "rate-trace";
    return NULL;
}

int models_rebuild(const struct params *params, const struct params *old, const struct models *had, struct models *models,
                   char *why, size_t why_size)
{
    char reason[REASON];
    memset(models, 0, sizeof *models);
    const char *refused = build(params, old, had, models, reason);
    if (refused) {
        models_free(models);
        snprintf(why, why_size, "--%s: %s", refused, reason);
        return -1;
    }
    models->aqm.link_rate_bps = rate_trace_planning_bps(&models->rate);
    return 0;
}

int models_build(const struct params *params, struct models *models, char *why, size_t why_size)
{
    return models_rebuild(params, NULL, NULL, models, why, why_size);
}

void models_free(struct models *models)
{
    loss_model_free(&models->loss);
    loss_model_free(&models->loss_after);
    jitter_model_free(&models->jitter);
    rate_trace_free(&models->rate);
}
