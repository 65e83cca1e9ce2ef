#include "box.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"

enum { A, B };

/* Beyond this the emulation is not what was asked for. */
#define LATENESS_LIMIT_NS NC_NS_PER_MS

struct box {
    struct box_settings settings;
    struct port ports[PORTS];
    struct direction directions[PORTS]; /* [A]: what comes in at a and leaves at b */
    struct recorder *recorder; /* NULL: none */
    struct lane lanes[PORTS];
    unsigned lanes_n;
    struct nc_clock_pair started;
};

static void pause_lanes(struct box *box)
{
    for (unsigned i = 0; i < box->lanes_n; i++)
        lane_pause(&box->lanes[i]);
}

static void resume_lanes(struct box *box)
{
    for (unsigned i = 0; i < box->lanes_n; i++)
        lane_resume(&box->lanes[i]);
}

/* Whether what the path holds fits into memory: before the first packet, not when it is too late. */
static int check_memory(const struct box_settings *settings, const struct params *params, const struct models *models,
                        char *why, size_t why_size)
{
    struct models_held held = models_held(params, models);
    if (!models_limit_rate(models) || held.bytes <= settings->memory_bytes)
        return 0;
    char rate[40], delay[40], jitter[40], want[40], have[40];
    nc_quantity_format(NC_UNIT_RATE, held.rate_bps, rate, sizeof rate);
    nc_quantity_format(NC_UNIT_DURATION, params->delay_ns, delay, sizeof delay);
    nc_quantity_format(NC_UNIT_DURATION, held.jitter_ns, jitter, sizeof jitter);
    nc_quantity_format(NC_UNIT_BYTES, (held.bytes | ((1 << 20) - 1)) + 1, want, sizeof want); /* in MB */
    nc_quantity_format(NC_UNIT_BYTES, settings->memory_bytes, have, sizeof have);
    snprintf(why, why_size, "--delay %s%s%s at --rate%s %s holds %s, more than --memory %s; raise --memory or lower either",
             delay, held.jitter_ns ? " and --jitter's " : "", held.jitter_ns ? jitter : "",
             models->rate.kind == RATE_CONSTANT ? "" : "-trace's", rate, want, have);
    return -1;
}

/* Both directions' models, checked; 0, or -1 with a reason and nothing to free. `now`: what holds at present, or NULL. */
static int build_models(const struct box_settings *settings, const struct direction now[PORTS],
                        const struct params params[PORTS], struct models models[PORTS], char *why, size_t why_size)
{
    for (int d = 0; d < PORTS; d++) {
        int failed = now ? models_rebuild(&params[d], &now[d].params, &now[d].models, &models[d], why, why_size)
                         : models_build(&params[d], &models[d], why, why_size);
        if (!failed && check_memory(settings, &params[d], &models[d], why, why_size) < 0) {
            models_free(&models[d]);
            failed = -1;
        }
        if (failed) {
            if (d == B)
                models_free(&models[A]);
            return -1;
        }
    }
    return 0;
}

static json_t *parameters_json(const struct box *box)
{
    return json_pack("{s:o, s:o}", "ab", params_json(&box->directions[A].params), "ba",
                     params_json(&box->directions[B].params));
}

static int open_recorder(struct box *box, char *why, size_t why_size)
{
    char names[PORTS][sizeof box->ports[0].name + sizeof box->ports[0].netns + 1];
    const char *const ports[PORTS] = {names[A], names[B]};
    if (!box->settings.recorder.path)
        return 0;
    for (int p = 0; p < PORTS; p++)
        snprintf(names[p], sizeof names[p], "%s%s%s", box->ports[p].name, box->ports[p].netns[0] ? "@" : "",
                 box->ports[p].netns);
    json_t *parameters = parameters_json(box);
    char *text = json_dumps(parameters, JSON_COMPACT);
    box->recorder =
        recorder_open(&box->settings.recorder, ports, text ? text : "", nc_clock_pair_read(), why, why_size);
    free(text);
    json_decref(parameters);
    for (unsigned d = 0; box->recorder && d < PORTS; d++)
        box->directions[d].record = recorder_ring(box->recorder, d);
    return box->recorder ? 0 : -1;
}

static int init_directions(struct box *box, const struct params params[2], const struct models models[2], char *why,
                           size_t why_size)
{
    const struct box_settings *s = &box->settings;
    uint64_t now_ns = nc_now_ns();
    int failed = 0;
    for (unsigned d = 0; d < PORTS; d++) {
        if (!failed && direction_init(&box->directions[d], d, s->seed, s->granularity_ns, s->memory_bytes,
                                      models_held(&params[d], &models[d]).bytes) < 0) {
            snprintf(why, why_size, "--memory: cannot get it: %s", strerror(errno));
            failed = -1;
        }
        if (failed) {
            struct models unused = models[d];
            models_free(&unused);
        } else
            direction_set(&box->directions[d], &params[d], &models[d], now_ns);
    }
    return failed;
}

static int init_lanes(struct box *box, char *why, size_t why_size)
{
    unsigned n = (unsigned)box->settings.threads, each = PORTS / n;
    for (; box->lanes_n < n; box->lanes_n++)
        if (lane_init(&box->lanes[box->lanes_n], &box->settings.lane, box->ports, box->directions, box->lanes_n * each,
                      each) < 0) {
            snprintf(why, why_size, "cannot prepare a thread: %s", strerror(errno));
            return -1;
        }
    return 0;
}

static int open_ports(struct box *box, const char *const names[PORTS], char *why, size_t why_size)
{
    char warning[256];
    const struct port_settings settings = {.mtu = (unsigned)box->settings.mtu,
                                           .napi = (enum port_napi)box->settings.napi};
    for (int p = 0; p < PORTS; p++) {
        int status = port_open(&box->ports[p], names[p], &settings, why, why_size);
        if (status)
            return status;
    }
    if (port_mtu_warning(&box->ports[A], &box->ports[B], warning, sizeof warning))
        nc_log("%s", warning);
    return NC_EXIT_OK;
}

struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b,
                     const struct params params[2], int *status, char *why, size_t why_size)
{
    const char *const names[PORTS] = {port_a, port_b};
    struct models models[PORTS];
    *status = NC_EXIT_USAGE;
    if (build_models(settings, NULL, params, models, why, why_size) < 0)
        return NULL;
    *status = NC_EXIT_MISSING;
    struct box *box = calloc(1, sizeof *box);
    if (!box) {
        snprintf(why, why_size, "out of memory");
        models_free(&models[A]);
        models_free(&models[B]);
        return NULL;
    }
    box->settings = *settings;
    for (int p = 0; p < PORTS; p++)
        box->ports[p] = (struct port){.fd = -1, .napi_fd = -1, .counters = -1, .claim = -1};
    if (init_directions(box, params, models, why, why_size) < 0 || init_lanes(box, why, why_size) < 0 ||
        (*status = open_ports(box, names, why, why_size)) != NC_EXIT_OK) {
        box_close(box);
        return NULL;
    }
    if (open_recorder(box, why, why_size) < 0) {
        *status = NC_EXIT_USAGE;
        box_close(box);
        return NULL;
    }
    lane_calibrate(&box->lanes[0]);
    for (unsigned i = 1; i < box->lanes_n; i++)
        box->lanes[i].wake_latency_ns = box->lanes[0].wake_latency_ns;
    box->started = nc_clock_pair_read();
    return box;
}

void box_close(struct box *box)
{
    box_stop(box);
    for (unsigned i = 0; i < box->lanes_n; i++)
        lane_free(&box->lanes[i]);
    for (int d = 0; d < PORTS; d++) {
        port_close(&box->ports[d]);
        if (box->directions[d].store.memory)
            direction_free(&box->directions[d]);
    }
    recorder_close(box->recorder);
    free(box);
}

int box_start(struct box *box, char *why, size_t why_size)
{
    for (unsigned i = 0; i < box->lanes_n; i++) {
        int failed = lane_start(&box->lanes[i]);
        if (failed) {
            snprintf(why, why_size, "cannot start a thread: %s", strerror(failed));
            return -1;
        }
    }
    if (box->settings.lane.priority > 1)
        lane_raise_priority(1); /* this thread: behind those that move packets, before busy hosts */
    return 0;
}

void box_stop(struct box *box)
{
    for (unsigned i = 0; i < box->lanes_n; i++)
        lane_stop(&box->lanes[i]);
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    return &box->directions[direction].params; /* only box_set changes them */
}

int box_set(struct box *box, const struct params params[2], char *why, size_t why_size)
{
    struct models models[PORTS];
    if (build_models(&box->settings, box->directions, params, models, why, why_size) < 0)
        return -1;
    pause_lanes(box);
    uint64_t now_ns = nc_now_ns();
    for (int d = 0; d < PORTS; d++)
        direction_set(&box->directions[d], &params[d], &models[d], now_ns);
    resume_lanes(box);
    return 0;
}

static void add_reason(json_t *reasons, const char *direction, uint64_t n, const char *what)
{
    if (n)
        json_array_append_new(reasons, json_sprintf("%s: %llu %s", direction, (unsigned long long)n, what));
}

/* How late a packet may leave: what was asked for (granularity, poll), and no less than what does not show in an RTT. */
static uint64_t lateness_limit_ns(const struct box *box)
{
    uint64_t asked_ns = box->settings.granularity_ns + box->lanes[0].settings.poll_ns;
    return asked_ns > LATENESS_LIMIT_NS ? asked_ns : LATENESS_LIMIT_NS;
}

static json_t *verdict(const struct box *box, const uint64_t ring_drops[PORTS])
{
    static const char *const names[PORTS] = {"ab", "ba"};
    json_t *reasons = json_array();
    for (int d = 0; d < PORTS; d++) {
        const struct direction_stats *s = &box->directions[d].stats;
        add_reason(reasons, names[d], s->drops_memory, "packets dropped for want of memory");
        add_reason(reasons, names[d], s->drops_malformed, "malformed frames dropped");
        add_reason(reasons, names[d], s->drops_write, "packets that the far port did not take");
        add_reason(reasons, names[d], ring_drops[d], "packets dropped before the box could read them");
        if (box->recorder)
            add_reason(reasons, names[d], record_skipped(box->directions[d].record), "packets not in the record for want of room");
        if (box->lanes[box->lanes_n - 1].gone[d] || box->lanes[0].gone[d])
            json_array_append_new(reasons, json_sprintf("port %c: its interface was deleted", 'a' + d));
        uint64_t p99 = histogram_percentile(&s->lateness, 0.99);
        if (s->lateness.count && p99 > lateness_limit_ns(box))
            json_array_append_new(reasons, json_sprintf("%s: 1 %% of packets left more than %.3f ms late", names[d],
                                                        (double)p99 / 1e6));
    }
    return json_pack("{s:b, s:o}", "valid", json_array_size(reasons) == 0, "reasons", reasons);
}

json_t *box_json(struct box *box)
{
    const uint64_t ring_drops[PORTS] = {port_ring_drops(&box->ports[A]), port_ring_drops(&box->ports[B])};
    pause_lanes(box);
    uint64_t now_ns = nc_now_ns(), latency_ns = box->lanes[0].wake_latency_ns;
    if (box->lanes[box->lanes_n - 1].wake_latency_ns > latency_ns)
        latency_ns = box->lanes[box->lanes_n - 1].wake_latency_ns;
    json_t *statistics = json_pack("{s:o, s:o}", "ab", direction_json(&box->directions[A], ring_drops[A], now_ns), "ba",
                                   direction_json(&box->directions[B], ring_drops[B], now_ns));
    json_t *judged = verdict(box, ring_drops);
    resume_lanes(box);
    return json_pack("{s:o, s:o, s:o, s:I, s:I}", "parameters", parameters_json(box), "statistics", statistics, "verdict",
                     judged, "uptime_ns", (json_int_t)(now_ns - box->started.monotonic_ns), "wake_latency_ns",
                     (json_int_t)latency_ns);
}

json_t *box_ready_json(const struct box *box)
{
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:I, s:I}}", "a", "name", box->ports[A].name, "netns",
                     box->ports[A].netns, "b", "name", box->ports[B].name, "netns", box->ports[B].netns, "clock",
                     "monotonic_ns", (json_int_t)box->started.monotonic_ns, "realtime_ns",
                     (json_int_t)box->started.realtime_ns);
}
