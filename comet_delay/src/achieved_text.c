#include "achieved_text.h"

#include <stdbool.h>
#include <string.h>

#include "nc_quantity.h"

static double real(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

/* " (of CONFIGURED)" */
static void asked(FILE *out, const char *text)
{
    if (text)
        fprintf(out, " (of %s)", text);
}

static bool print_rate(FILE *out, const json_t *rate, const json_t *parameters)
{
    char text[40];
    if (real(rate, "busy_ns") <= 0)
        return false;
    const char *trace = json_string_value(json_object_get(parameters, "rate_trace"));
    bool constant = !trace || strcmp(trace, "none") == 0;
    uint64_t bps = (uint64_t)json_integer_value(json_object_get(parameters, "rate_bps"));
    fprintf(out, " rate %.4f Mbit/s", real(rate, "bps") / 1e6);
    asked(out, !parameters ? NULL : constant ? nc_quantity_format(NC_UNIT_RATE, bps, text, sizeof text) : trace);
    return true;
}

static bool print_loss(FILE *out, const char *name, const char *label, const json_t *achieved, const json_t *parameters)
{
    const json_t *loss = json_object_get(achieved, name);
    const char *text = json_string_value(json_object_get(parameters, name));
    bool wanted = text && strcmp(text, "0%") != 0;
    if (real(loss, "lost") <= 0 && !wanted)
        return false;
    fprintf(out, "  %s %.5f %% in bursts of %.2f", label, real(loss, "ratio_ppb") / 1e7, real(loss, "mean_burst"));
    asked(out, text);
    return true;
}

static bool print_jitter(FILE *out, const json_t *jitter, const json_t *parameters)
{
    if (!json_is_object(jitter))
        return false;
    const json_t *drawn = json_object_get(jitter, "drawn"), *added = json_object_get(jitter, "added");
    fprintf(out, "  jitter drawn mean %.4f sd %.4f ms lag-1 %.3f, added mean %.4f sd %.4f p50 %.4f p99 %.4f ms",
            real(drawn, "mean_ns") / 1e6, real(drawn, "sd_ns") / 1e6, real(drawn, "autocorrelation"),
            real(added, "mean_ns") / 1e6, real(added, "sd_ns") / 1e6, real(added, "p50_ns") / 1e6,
            real(added, "p99_ns") / 1e6);
    asked(out, json_string_value(json_object_get(parameters, "jitter")));
    return true;
}

void achieved_print(FILE *out, const json_t *achieved, const json_t *parameters)
{
    bool any = print_rate(out, json_object_get(achieved, "rate"), parameters);
    any = print_loss(out, "loss", "loss", achieved, parameters) || any;
    any = print_loss(out, "loss_after", "loss after", achieved, parameters) || any;
    any = print_jitter(out, json_object_get(achieved, "jitter"), parameters) || any;
    if (!any)
        fprintf(out, " -");
}
