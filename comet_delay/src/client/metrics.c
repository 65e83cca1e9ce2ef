/* A client that translates the answer of `show`. Units are Prometheus's base units (seconds, bytes, ratios) and end the
 * names. The text is printed on request and not served over HTTP: so a box has only one socket to guard, and
 * node_exporter's textfile collector or any one-line server can publish the text. The histogram has a bucket for every
 * octave from 1 µs to 1 s, always all of them, because Prometheus requires the same set at every scrape. Their edges at
 * 2^k - 1 ns are edges of the box's own buckets, so no count is interpolated. */
#include "metrics.h"

#include <string.h>

#include "client.h"
#include "nc_log.h"
#include "nc_metric.h"

enum { OCTAVE_FIRST = 10, OCTAVE_LAST = 30 };

static const char *const directions[] = {"ab", "ba"};
enum { DIRECTIONS = sizeof directions / sizeof directions[0] };

static long long at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void head(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# HELP comet_delay_%s %s\n# TYPE comet_delay_%s %s\n", name, help, name, type);
}

/* Prints one number of each direction; `key` is its name in the statistics. */
static void print_fields(FILE *out, const json_t *statistics)
{
    static const struct {
        const char *key, *name, *type, *help;
    } fields[] = {
        {"in_packets", "in_packets_total", "counter", "Wire packets taken in."},
        {"in_bytes", "in_bytes_total", "counter", "Bytes of wire packets taken in, link header and up."},
        {"in_frames", "in_frames_total", "counter", "Frames taken in; a super-packet is one."},
        {"out_packets", "out_packets_total", "counter", "Wire packets sent."},
        {"out_bytes", "out_bytes_total", "counter", "Bytes of wire packets sent, link header and up."},
        {"out_frames", "out_frames_total", "counter", "Frames sent; a super-packet is one."},
        {"duplicated", "duplicated_total", "counter", "Wire packets sent twice by the model."},
        {"corrupted", "corrupted_total", "counter",
         "Wire packets that the model damaged, which their checksum detects."},
        {"forged", "forged_total", "counter", "Wire packets that the model damaged and whose checksum it made to fit."},
        {"reordered", "reordered_total", "counter", "Wire packets that the model held back behind later ones."},
        {"marked", "marked_total", "counter", "Wire packets marked with ECN congestion experienced."},
        {"queue_bytes", "queue_bytes", "gauge", "Bytes in the bottleneck queue."},
        {"queue_peak_bytes", "queue_peak_bytes", "gauge", "Most bytes that were in the bottleneck queue."},
        {"held_bytes", "held_bytes", "gauge", "Memory in use for packets."},
        {"held_peak_bytes", "held_peak_bytes", "gauge", "Most memory that was in use for packets."},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        head(out, fields[i].name, fields[i].type, fields[i].help);
        for (size_t d = 0; d < DIRECTIONS; d++)
            fprintf(out, "comet_delay_%s{direction=\"%s\"} %lld\n", fields[i].name, directions[d],
                    at(json_object_get(statistics, directions[d]), fields[i].key));
    }
}

static void print_drops(FILE *out, const json_t *statistics)
{
    const char *cause;
    json_t *count;
    head(out, "drops_total", "counter", "Wire packets dropped (malformed, receive_ring: frames), by cause.");
    for (size_t d = 0; d < DIRECTIONS; d++)
        json_object_foreach(json_object_get(json_object_get(statistics, directions[d]), "drops"), cause, count)
            fprintf(out, "comet_delay_drops_total{direction=\"%s\",cause=\"%s\"} %lld\n", directions[d], cause,
                    (long long)json_integer_value(count));
}

/* The number of values up to `edge_ns`. */
static long long count_up_to(const json_t *buckets, uint64_t edge_ns)
{
    long long sum = 0;
    for (size_t i = 0; i < json_array_size(buckets); i++) {
        const json_t *bucket = json_array_get(buckets, i);
        if ((uint64_t)json_integer_value(json_array_get(bucket, 0)) <= edge_ns)
            sum += json_integer_value(json_array_get(bucket, 1));
    }
    return sum;
}

static void print_lateness(FILE *out, const json_t *statistics)
{
    static const char *const name = "lateness_seconds";
    head(out, name, "histogram", "How far behind its theoretical time each wire packet left.");
    for (size_t d = 0; d < DIRECTIONS; d++) {
        const json_t *late = json_object_get(json_object_get(statistics, directions[d]), "lateness");
        for (unsigned octave = OCTAVE_FIRST; octave <= OCTAVE_LAST; octave++) {
            uint64_t edge_ns = (UINT64_C(1) << octave) - 1;
            fprintf(out, "comet_delay_%s_bucket{direction=\"%s\",le=\"%.9f\"} %lld\n", name, directions[d],
                    (double)edge_ns / 1e9, count_up_to(json_object_get(late, "histogram"), edge_ns));
        }
        fprintf(out, "comet_delay_%s_bucket{direction=\"%s\",le=\"+Inf\"} %lld\n", name, directions[d],
                at(late, "count"));
        fprintf(out, "comet_delay_%s_sum{direction=\"%s\"} %.9f\n", name, directions[d],
                (double)at(late, "sum_ns") / 1e9);
        fprintf(out, "comet_delay_%s_count{direction=\"%s\"} %lld\n", name, directions[d], at(late, "count"));
    }
}

static void print_one(FILE *out, const char *name, const char *direction, const char *stage, double value)
{
    fprintf(out, "comet_delay_%s{direction=\"%s\"%s%s%s} %.12g\n", name, direction, *stage ? ",stage=\"" : "", stage,
            *stage ? "\"" : "", value);
}

/* These counters restart from 0 when the parameter is set, like the counters of a restarted program. */
static void print_losses(FILE *out, const json_t *statistics)
{
    static const char *const stages[][2] = {{"loss", "before"}, {"loss_after", "after"}};
    static const char *const counters[][3] = {
        {"packets", "loss_offered_total", "Wire packets that the loss model decided on since it was set."},
        {"lost", "loss_lost_total", "Wire packets that the loss model dropped."},
        {"bursts", "loss_bursts_total", "Bursts of wire packets that the loss model dropped."}};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        head(out, counters[i][1], "counter", counters[i][2]);
        for (size_t d = 0; d < DIRECTIONS; d++)
            for (size_t s = 0; s < sizeof stages / sizeof stages[0]; s++) {
                const json_t *achieved = json_object_get(json_object_get(statistics, directions[d]), "achieved");
                print_one(out, counters[i][1], directions[d], stages[s][1],
                          (double)at(json_object_get(achieved, stages[s][0]), counters[i][0]));
            }
    }
}

/* clang-format off */
static const struct {
    const char *path[3], *name, *type, *help;
    double factor;
} achieved_fields[] = {
    {{"rate", "bytes"}, "line_bytes_total", "counter",
     "Bytes that the bottleneck's line sent since its rate was set.", 1},
    {{"rate", "busy_ns"}, "line_busy_seconds_total", "counter", "Time that the line took to send them.", 1e-9},
    {{"jitter", "drawn", "count"}, "jitter_packets_total", "counter",
     "Wire packets with jitter since it was set.", 1},
    {{"jitter", "drawn", "mean_ns"}, "jitter_drawn_mean_seconds", "gauge", "Mean of the model's jitter.", 1e-9},
    {{"jitter", "drawn", "sd_ns"}, "jitter_drawn_stddev_seconds", "gauge",
     "Standard deviation of the model's jitter.", 1e-9},
    {{"jitter", "drawn", "autocorrelation"}, "jitter_drawn_autocorrelation", "gauge",
     "Correlation of the model's jitter of neighbouring packets.", 1},
    {{"jitter", "added", "mean_ns"}, "jitter_added_mean_seconds", "gauge",
     "Mean of the jitter that packets got.", 1e-9},
    {{"jitter", "added", "sd_ns"}, "jitter_added_stddev_seconds", "gauge",
     "Standard deviation of the jitter that packets got.", 1e-9},
    {{"jitter", "added", "p50_ns"}, "jitter_added_p50_seconds", "gauge",
     "Median of the jitter that packets got.", 1e-9},
    {{"jitter", "added", "p99_ns"}, "jitter_added_p99_seconds", "gauge",
     "99th percentile of the jitter that packets got.",
     1e-9},
};
/* clang-format on */

/* Prints the numbers of `achieved`, and 0 where there is none. */
static void print_achieved(FILE *out, const json_t *statistics)
{
    for (size_t i = 0; i < sizeof achieved_fields / sizeof achieved_fields[0]; i++) {
        head(out, achieved_fields[i].name, achieved_fields[i].type, achieved_fields[i].help);
        for (size_t d = 0; d < DIRECTIONS; d++) {
            const json_t *value = json_object_get(json_object_get(statistics, directions[d]), "achieved");
            for (size_t p = 0; p < 3 && achieved_fields[i].path[p]; p++)
                value = json_object_get(value, achieved_fields[i].path[p]);
            print_one(out, achieved_fields[i].name, directions[d], "",
                      achieved_fields[i].factor * json_number_value(value));
        }
    }
}

/* Prints every number among the parameters. Both directions have the same parameters. */
static void print_parameters(FILE *out, const json_t *parameters)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(parameters, directions[0]), key, value)
    {
        char base[80], name[96];
        if (!json_is_number(value))
            continue;
        double factor = nc_metric_base_unit(key, base, sizeof base);
        snprintf(name, sizeof name, "parameter_%s", base);
        head(out, name, "gauge", "Parameter of the path, as set; 0 for none.");
        for (size_t d = 0; d < DIRECTIONS; d++)
            fprintf(out, "comet_delay_%s{direction=\"%s\"} %.12g\n", name, directions[d],
                    factor * json_number_value(json_object_get(json_object_get(parameters, directions[d]), key)));
    }
}

void metrics_print(FILE *out, const json_t *state)
{
    const json_t *statistics = json_object_get(state, "statistics");
    print_fields(out, statistics);
    print_drops(out, statistics);
    print_losses(out, statistics);
    print_achieved(out, statistics);
    print_lateness(out, statistics);
    print_parameters(out, json_object_get(state, "parameters"));
    head(out, "valid", "gauge", "1 while the box is on time and only the model drops packets.");
    fprintf(out, "comet_delay_valid %d\n", json_is_true(json_object_get(json_object_get(state, "verdict"), "valid")));
    head(out, "uptime_seconds", "gauge", "Time since the box was ready.");
    fprintf(out, "comet_delay_uptime_seconds %.9f\n", (double)at(state, "uptime_ns") / 1e9);
    head(out, "wake_latency_seconds", "gauge", "How long the box takes to wake up, running median.");
    fprintf(out, "comet_delay_wake_latency_seconds %.9f\n", (double)at(state, "wake_latency_ns") / 1e9);
}

struct metrics_settings {
    const char *control;
};

#define OFFSET(field) offsetof(struct metrics_settings, field)
int metrics_main(int argc, char **argv)
{
    static const struct nc_option rows[] = {CLIENT_CONTROL_ROW};
    static const struct nc_usage usage = {
        .synopsis = "comet-delay metrics --control SOCKET",
        .purpose = "Statistics and parameters of a running box as Prometheus text (exposition format 0.0.4).",
        .epilog = "for node_exporter's textfile collector:\n"
                  "  comet-delay metrics --control SOCKET > comet.prom.new && mv comet.prom.new comet.prom"};
    struct metrics_settings settings;
    int used = nc_options_parse(rows, sizeof rows / sizeof rows[0], &usage, &settings, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "'%s': metrics takes no arguments", argv[used]);
    json_t *state = client_state(settings.control);
    metrics_print(stdout, state);
    json_decref(state);
    return NC_EXIT_OK;
}
