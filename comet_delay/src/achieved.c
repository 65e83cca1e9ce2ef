#include "achieved.h"

#include <string.h>

void achieved_restart(struct direction *d, const struct params *params)
{
    const struct params *old = &d->params;
    if (strcmp(params->jitter, old->jitter) != 0 || params->jitter_order != old->jitter_order)
        jitter_count_anew(&d->jitter);
    if (params->rate_bps != old->rate_bps || strcmp(params->rate_trace, old->rate_trace) != 0 ||
        params->framing != old->framing)
        d->bottleneck.sent = (struct line_count){0};
}

static json_t *rate_json(const struct line_count *sent)
{
    double bps = sent->busy_ns ? (double)sent->bytes * 8e9 / (double)sent->busy_ns : 0;
    return json_pack("{s:I, s:I, s:f}", "bytes", (json_int_t)sent->bytes, "busy_ns", (json_int_t)sent->busy_ns, "bps", bps);
}

static json_t *loss_json(const struct loss_count *count)
{
    double ratio = count->packets ? (double)count->lost / (double)count->packets : 0;
    return json_pack("{s:I, s:I, s:I, s:f, s:f}", "packets", (json_int_t)count->packets, "lost", (json_int_t)count->lost,
                     "bursts", (json_int_t)count->bursts, "ratio_ppb", ratio * 1e9, "mean_burst",
                     count->bursts ? (double)count->lost / (double)count->bursts : 0.0);
}

json_t *achieved_json(const struct direction *d)
{
    json_t *jitter = d->jitter.drawn.n ? json_pack("{s:o, s:o}", "drawn", moments_json(&d->jitter.drawn), "added",
                                                   moments_json(&d->jitter.added))
                                       : json_null();
    return json_pack("{s:o, s:o, s:o, s:o}", "rate", rate_json(&d->bottleneck.sent), "loss", loss_json(&d->loss.count),
                     "loss_after", loss_json(&d->loss_after.count), "jitter", jitter);
}
