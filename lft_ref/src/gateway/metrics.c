/* Prometheus text. */
#include "metrics.h"

#include <stdbool.h>
#include <string.h>

#include "nc_metric.h"

/* True for gauges, numbers that may decrease. All other numbers of the state are counters. */
static bool is_gauge(const char *name)
{
    static const char *const gauges[] = {
        "srtt_ns",         "min_rtt_ns",     "queue_delay_ns",    "rate_bps",
        "host_rate_bps",   "sessions",       "loss_ppb",          "unacknowledged_frames",
        "tx_buffers",      "rx_buffers",     "connections",       "half_open",
        "streams",         "streams_active", "streams_lingering", "tx_queued_bytes",
        "rx_queued_bytes", "payload_bytes",  "uptime_ns"};
    for (size_t i = 0; i < sizeof gauges / sizeof gauges[0]; i++)
        if (strcmp(name, gauges[i]) == 0)
            return true;
    return false;
}

static void print_one(FILE *out, const char *section, const char *name, double value)
{
    char base[96], full[200];
    double factor = nc_metric_base_unit(name, base, sizeof base);
    bool gauge = is_gauge(name);
    snprintf(full, sizeof full, "lft%s%s_%s%s", section[0] ? "_" : "", section, base, gauge ? "" : "_total");
    fprintf(out, "# TYPE %s %s\n%s %.17g\n", full, gauge ? "gauge" : "counter", full, value * factor);
}

static void print_flag(FILE *out, const char *name, bool on)
{
    fprintf(out, "# TYPE lft_%s gauge\nlft_%s %d\n", name, name, on);
}

static void print_section(FILE *out, const char *section, const json_t *object)
{
    const char *name;
    json_t *value;
    char inner[96];
    json_object_foreach((json_t *)object, name, value)
    {
        if (json_is_integer(value))
            print_one(out, section, name, (double)json_integer_value(value));
        else if (json_is_object(value)) {
            snprintf(inner, sizeof inner, "%s_%s", section, name);
            for (char *c = inner; *c; c++)
                *c = *c == '-' || *c == ' ' ? '_' : *c;
            print_section(out, inner, value);
        }
    }
}

void metrics_print(FILE *out, const json_t *state)
{
    static const char *const sections[] = {"parameters", "tunnel", "engine", "session", "relay", "router", "io"};
    const char *status = json_string_value(json_object_get(json_object_get(state, "tunnel"), "status"));
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        print_section(out, sections[i], json_object_get(state, sections[i]));
    print_flag(out, "up", status && strcmp(status, "up") == 0);
    print_flag(out, "bypassed", json_is_true(json_object_get(state, "bypassed")));
    print_flag(out, "draining", json_is_true(json_object_get(state, "draining")));
    print_one(out, "", "uptime_ns", (double)json_integer_value(json_object_get(state, "uptime_ns")));
    print_one(out, "", "cpu_ns", (double)json_integer_value(json_object_get(state, "cpu_ns")));
}
