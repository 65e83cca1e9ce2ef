#include "human.h"

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

void human_achieved(FILE *out, const json_t *achieved, const json_t *parameters)
{
    bool any = print_rate(out, json_object_get(achieved, "rate"), parameters);
    any = print_loss(out, "loss", "loss", achieved, parameters) || any;
    any = print_loss(out, "loss_after", "loss after", achieved, parameters) || any;
    any = print_jitter(out, json_object_get(achieved, "jitter"), parameters) || any;
    if (!any)
        fprintf(out, " -");
}

static void print_params(FILE *out, const char *name, const struct params *p)
{
    char delay[40], rate[40], queue[40];
    fprintf(out, "%s  delay %s  rate %s  queue %s  loss %s\n", name,
            nc_quantity_format(NC_UNIT_DURATION, p->delay_ns, delay, sizeof delay),
            p->rate_bps ? nc_quantity_format(NC_UNIT_RATE, p->rate_bps, rate, sizeof rate) : "unlimited",
            p->queue_bytes ? nc_quantity_format(NC_UNIT_BYTES, p->queue_bytes, queue, sizeof queue) : "unlimited",
            p->loss);
}

void human_ready(FILE *out, const struct params params[2])
{
    fprintf(out, "comet-delay is running; Ctrl-C ends it\n");
    print_params(out, "a to b", &params[0]);
    print_params(out, "b to a", &params[1]);
    fflush(out);
}

void human_models(FILE *out, const json_t *models)
{
    static const char *const directions[][2] = {{"ab", "a to b"}, {"ba", "b to a"}};
    for (size_t d = 0; d < sizeof directions / sizeof directions[0]; d++) {
        const char *name;
        json_t *value;
        fprintf(out, "%s\n", directions[d][1]);
        json_object_foreach(json_object_get(models, directions[d][0]), name, value)
        {
            if (json_is_string(value))
                fprintf(out, "  %-15s %s\n", name, json_string_value(value));
            else if (json_is_number(value))
                fprintf(out, "  %-15s %.6g %%\n", name, 100 * json_number_value(value));
        }
    }
}

static long long at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* The parameters that differ from their defaults, by the option's name. */
static void print_params_json(FILE *out, const json_t *object)
{
    char text[40];
    fprintf(out, "  set   ");
    for (size_t i = 0; i < param_rows_n; i++) {
        const struct nc_option *option = &param_rows[i].option;
        const json_t *value = json_object_get(object, param_rows[i].json_name);
        const char *shown =
            json_is_string(value)
                ? json_string_value(value)
                : nc_quantity_format(option->unit, (uint64_t)json_integer_value(value), text, sizeof text);
        if (strcmp(shown, option->default_text) != 0)
            fprintf(out, " %s %s", option->name, shown);
    }
    fprintf(out, "\n");
}

static void print_direction(FILE *out, const char *label, const json_t *parameters, const json_t *s)
{
    const json_t *drops = json_object_get(s, "drops"), *late = json_object_get(s, "lateness");
    const char *cause;
    json_t *count;
    fprintf(out, "%s\n", label);
    print_params_json(out, parameters);
    fprintf(out, "  in     %lld packets, %lld bytes, in %lld frames\n", at(s, "in_packets"), at(s, "in_bytes"),
            at(s, "in_frames"));
    fprintf(out, "  out    %lld packets, %lld bytes, in %lld frames\n", at(s, "out_packets"), at(s, "out_bytes"),
            at(s, "out_frames"));
    fprintf(out, "  drops ");
    json_object_foreach((json_t *)drops, cause, count)
        fprintf(out, " %s %lld", cause, (long long)json_integer_value(count));
    fprintf(out, "\n  queue  %lld bytes now, %lld at most; held %lld at most\n", at(s, "queue_bytes"),
            at(s, "queue_peak_bytes"), at(s, "held_peak_bytes"));
    fprintf(out, "  model ");
    human_achieved(out, json_object_get(s, "achieved"), parameters);
    fprintf(out, "\n  late   p50 %.1f us, p99 %.1f us, worst %.1f us\n", (double)at(late, "p50_ns") / 1e3,
            (double)at(late, "p99_ns") / 1e3, (double)at(late, "max_ns") / 1e3);
}

void human_state(FILE *out, const json_t *state)
{
    const json_t *parameters = json_object_get(state, "parameters"), *statistics = json_object_get(state, "statistics");
    const json_t *verdict = json_object_get(state, "verdict");
    print_direction(out, "a to b", json_object_get(parameters, "ab"), json_object_get(statistics, "ab"));
    print_direction(out, "b to a", json_object_get(parameters, "ba"), json_object_get(statistics, "ba"));
    if (json_is_true(json_object_get(verdict, "valid")))
        fprintf(out, "valid: on time, and nothing dropped but by the model\n");
    size_t i;
    json_t *reason;
    json_array_foreach(json_object_get(verdict, "reasons"), i, reason)
        fprintf(out, "NOT VALID: %s\n", json_string_value(reason));
    fflush(out);
}
