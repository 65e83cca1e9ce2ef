/* Implements line.h. */
#include "line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 1 << 20 };

/* The number under `name` in a step; INFINITY if it is null or missing. A negative number is refused. */
static bool read_bound(const json_t *step, const char *name, double *bound)
{
    const json_t *value = json_object_get(step, name);
    *bound = json_is_number(value) ? json_number_value(value) : INFINITY;
    return *bound >= 0 && (!value || json_is_null(value) || json_is_number(value));
}

static bool read_step(const json_t *from, int64_t before_ns, struct pl_line_step *step)
{
    const json_t *t_ns = json_object_get(from, "t_ns"), *overhead = json_object_get(from, "overhead_bytes");
    json_int_t bytes = json_integer_value(overhead);
    if (!json_is_integer(t_ns) || json_integer_value(t_ns) < before_ns || bytes < 0 || bytes > UINT16_MAX)
        return false;
    step->t_ns = json_integer_value(t_ns);
    step->overhead_bytes = (uint32_t)bytes;
    step->queues_behind = json_is_true(json_object_get(from, "queues_behind"));
    return read_bound(from, "rate_bps", &step->rate_bps) && read_bound(from, "packets_per_s", &step->packets_per_s);
}

static int read_way(struct pl_line *line, const json_t *list, struct nc_error *error)
{
    int64_t before_ns = INT64_MIN;
    size_t i;
    const json_t *from;
    json_array_foreach((json_t *)(uintptr_t)list, i, from)
    {
        struct pl_line_step step;
        if (i == STEPS_MOST || !read_step(from, before_ns, &step))
            return nc_fail(
                error, NC_EXIT_USAGE,
                "step %zu of a line: want rising t_ns, and rate_bps, packets_per_s and overhead_bytes of 0 or "
                "more",
                i);
        before_ns = step.t_ns;
        if (PL_APPEND(&line->steps, step) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "out of memory");
    }
    return 0;
}

/* Reads the policer of a direction. If it is null or missing, there is no policer. */
static bool read_policer(const json_t *from, struct pl_line *line)
{
    if (!from || json_is_null(from))
        return true;
    line->police_marks = json_is_true(json_object_get(from, "marks"));
    return read_bound(from, "rate_bps", &line->policed_bps) && isfinite(line->policed_bps);
}

static enum pl_marker marker_named(const json_t *name)
{
    const char *text = json_is_string(name) ? json_string_value(name) : "";
    return strcmp(text, "policer") == 0 ? PL_MARKER_POLICER
           : strcmp(text, "aqm") == 0   ? PL_MARKER_AQM
                                        : PL_MARKER_UNKNOWN;
}

int pl_lines_parse(struct pl_lines *lines, const json_t *object, struct nc_error *error)
{
    static const char *const names[2] = {"ab", "ba"};
    *lines = (struct pl_lines){.hosts_bps = INFINITY};
    if (!object)
        return 0;
    if (!read_bound(object, "hosts_bps", &lines->hosts_bps))
        return nc_fail(error, NC_EXIT_USAGE, "hosts_bps of a line: want a number, or null");
    const json_t *per_flow = json_object_get(object, "per_flow"), *in_front = json_object_get(object, "in_front");
    const json_t *policer = json_object_get(object, "policer"), *marker = json_object_get(object, "marker");
    for (unsigned way = 0; way < 2; way++) {
        lines->way[way].per_flow = json_is_true(json_object_get(per_flow, names[way]));
        lines->way[way].in_front = json_is_true(json_object_get(in_front, names[way]));
        lines->way[way].marker = marker_named(json_object_get(marker, names[way]));
        if (!read_policer(json_object_get(policer, names[way]), &lines->way[way]))
            return nc_fail(error, NC_EXIT_USAGE, "policer of a line: want rate_bps of 0 or more, or null");
    }
    for (unsigned way = 0; way < 2; way++)
        if (read_way(&lines->way[way], json_object_get(object, names[way]), error) < 0)
            return -1;
    return 0;
}

int pl_lines_read(struct pl_lines *lines, const char *path, struct nc_error *error)
{
    json_error_t where;
    json_t *object = json_load_file(path, 0, &where);
    *lines = (struct pl_lines){.hosts_bps = INFINITY};
    if (!json_is_object(object)) {
        json_decref(object);
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': %.100s", path, object ? "want an object" : where.text);
    }
    struct nc_error why;
    int result = pl_lines_parse(lines, object, &why);
    json_decref(object);
    return result < 0 ? nc_fail(error, why.status, "'%.200s': %s", path, why.text) : 0;
}

void pl_lines_free(struct pl_lines *lines)
{
    for (unsigned way = 0; way < 2; way++)
        free(lines->way[way].steps.at);
    *lines = (struct pl_lines){.hosts_bps = INFINITY};
}

/* The number of the step that holds at t_ns. */
static size_t place_of(const struct pl_line *line, int64_t t_ns)
{
    size_t low = 0, high = line->steps.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (line->steps.at[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

const struct pl_line_step *pl_line_at(const struct pl_line *line, int64_t t_ns)
{
    return &line->steps.at[place_of(line, t_ns)];
}

bool pl_line_queues_behind(const struct pl_line *line)
{
    for (size_t i = 0; i < line->steps.n; i++)
        if (line->steps.at[i].queues_behind)
            return true;
    return false;
}

/* Packets per second of one size. */
static double packets_per_s(const struct pl_line_step *step, uint32_t ip_bytes)
{
    return fmin(step->rate_bps / (8.0 * (ip_bytes + step->overhead_bytes)), step->packets_per_s);
}

double pl_line_packet_ns(const struct pl_line *line, int64_t t_ns, uint32_t ip_bytes)
{
    double packets = packets_per_s(pl_line_at(line, t_ns), ip_bytes);
    return packets > 0 && isfinite(packets) ? 1e9 / packets : 0;
}

double pl_line_policed(const struct pl_line *line, bool ecn, uint32_t payload, uint32_t headers)
{
    if (line->policed_bps <= 0 || (ecn && line->police_marks))
        return INFINITY;
    return line->policed_bps * payload / (payload + headers + line->steps.at[0].overhead_bytes);
}

struct pl_line_rates pl_line_carries(const struct pl_line *line, int64_t t0_ns, int64_t t1_ns, uint32_t payload,
                                     uint32_t headers)
{
    struct pl_line_rates found = {.least_bps = INFINITY};
    double bits = 0;
    for (size_t i = place_of(line, t0_ns); i < line->steps.n && (i == 0 || line->steps.at[i].t_ns < t1_ns); i++) {
        int64_t from_ns = i && line->steps.at[i].t_ns > t0_ns ? line->steps.at[i].t_ns : t0_ns;
        int64_t to_ns =
            i + 1 < line->steps.n && line->steps.at[i + 1].t_ns < t1_ns ? line->steps.at[i + 1].t_ns : t1_ns;
        double bps = 8.0 * payload * packets_per_s(&line->steps.at[i], payload + headers);
        if (to_ns <= from_ns)
            continue;
        found.least_bps = fmin(found.least_bps, bps);
        found.most_bps = fmax(found.most_bps, bps);
        bits += bps * (double)(to_ns - from_ns);
    }
    if (found.most_bps > 0 || isfinite(found.least_bps))
        found.mean_bps = t1_ns > t0_ns ? bits / (double)(t1_ns - t0_ns) : found.most_bps;
    else /* the span is empty */
        found.least_bps = found.mean_bps = found.most_bps =
            8.0 * payload * packets_per_s(pl_line_at(line, t0_ns), payload + headers);
    return found;
}
