/* Parses all texts, plans memory by the resulting models, and prints these. */
#include <stdio.h>
#include <string.h>

#include "model_text.h"
#include "models.h"
#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_range.h"

static int build_rate(const struct params *params, struct rate_trace *rate, struct nc_error *error)
{
    if (strcmp(params->rate_trace, "none") != 0)
        return rate_trace_parse(params->rate_trace, rate, error);
    *rate = (struct rate_trace){.kind = RATE_CONSTANT, .rate_bps = params->rate_bps};
    return 0;
}

/* The approximate maximum of the jitter. */
static uint64_t longest_jitter_ns(const struct jitter_model *jitter)
{
    enum { DEVIATIONS = 4 };
    int64_t longest_ns = 0;
    switch (jitter->kind) {
    case JITTER_NONE:
        return 0;
    case JITTER_UNIFORM:
        return jitter->spread_ns;
    case JITTER_TABLE:
    case JITTER_TRACE:
        for (size_t i = 0; i < jitter->table->n; i++)
            if ((int64_t)jitter->table->at[i] > longest_ns)
                longest_ns = (int64_t)jitter->table->at[i];
        return (uint64_t)longest_ns;
    default:
        return DEVIATIONS * jitter->spread_ns;
    }
}

struct models_held models_held(const struct params *params, const struct models *models)
{
    const uint64_t guess_bps = UINT64_C(10000000000);
    struct models_held held = {.rate_bps = rate_trace_planning_bps(&models->rate),
                               .channels = 1,
                               .jitter_ns = longest_jitter_ns(&models->jitter)};
    if (held.rate_bps)
        held.channels = nc_max(params->channels, 1);
    else
        held.rate_bps = guess_bps;
    uint64_t delay_ns = params->delay_ns + held.jitter_ns;
    held.bytes = held.channels *
                 ((uint64_t)((unsigned __int128)held.rate_bps * delay_ns / (8 * NC_NS_PER_S)) + params->queue_bytes);
    return held;
}

/* Builds all models. Returns NULL, or the name of the option whose text was refused. `old` and `had` may be NULL. After
 * a refusal models_free may still be called: every model is all zero or owns what it points to. */
static const char *build(const struct params *params, const struct params *old, const struct models *had,
                         struct models *models, struct nc_error *error)
{
    if (aqm_parse(params->aqm, &models->aqm, error) < 0)
        return "aqm";
    if (filter_parse(params->only, &models->only, error) < 0)
        return "only";
    if (old && strcmp(params->loss, old->loss) == 0)
        models->loss = loss_model_share(&had->loss);
    else if (loss_model_parse(params->loss, &models->loss, error) < 0)
        return "loss";
    if (old && strcmp(params->loss_after, old->loss_after) == 0)
        models->loss_after = loss_model_share(&had->loss_after);
    else if (loss_model_parse(params->loss_after, &models->loss_after, error) < 0)
        return "loss-after";
    if (old && strcmp(params->jitter, old->jitter) == 0)
        models->jitter = jitter_model_share(&had->jitter);
    else if (jitter_model_parse(params->jitter, &models->jitter, error) < 0)
        return "jitter";
    if (old && had->rate.kind != RATE_CONSTANT && strcmp(params->rate_trace, old->rate_trace) == 0)
        models->rate = rate_trace_share(&had->rate);
    else if (build_rate(params, &models->rate, error) < 0)
        return "rate-trace";
    return NULL;
}

int models_rebuild(const struct params *params, const struct params *old, const struct models *had,
                   struct models *models, struct nc_error *error)
{
    struct nc_error reason;
    memset(models, 0, sizeof *models);
    const char *refused = build(params, old, had, models, &reason);
    if (refused) {
        models_free(models);
        return nc_fail(error, NC_EXIT_USAGE, "--%s: %s", refused, reason.text);
    }
    models->aqm.link_rate_bps = rate_trace_planning_bps(&models->rate);
    return 0;
}

int models_build(const struct params *params, struct models *models, struct nc_error *error)
{
    return models_rebuild(params, NULL, NULL, models, error);
}

static json_t *mean_json(const struct loss_model *model)
{
    double mean = loss_model_mean(model);
    return mean < 0 ? json_null() : json_real(mean);
}

json_t *models_json(const struct models *models)
{
    char jitter[MODEL_TEXT_MAX], rate[MODEL_TEXT_MAX], aqm[AQM_TEXT_MAX], loss[MODEL_TEXT_MAX], after[MODEL_TEXT_MAX];
    char only[FILTER_TEXT_MAX];
    jitter_model_format(&models->jitter, jitter, sizeof jitter);
    rate_trace_format(&models->rate, rate, sizeof rate);
    aqm_format(&models->aqm, aqm, sizeof aqm);
    filter_format(&models->only, only, sizeof only);
    loss_model_format(&models->loss, loss, sizeof loss);
    loss_model_format(&models->loss_after, after, sizeof after);
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:o, s:s, s:o}", "jitter", nc_jsonl_text(jitter), "rate",
                     nc_jsonl_text(rate), "aqm", aqm, "only", only, "loss", loss, "loss_mean", mean_json(&models->loss),
                     "loss_after", after, "loss_after_mean", mean_json(&models->loss_after));
}
