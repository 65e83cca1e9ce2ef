#include "box.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "direction_stats.h"
#include "kernel_home.h"
#include "lateness.h"
#include "nc_log.h"
#include "nc_range.h"
#include "verdict.h"

enum { A, B };

struct box {
    struct box_settings settings;
    struct port ports[PORTS];
    struct direction directions[PORTS]; /* [A]: packets that arrive at a and leave at b */
    struct record_file *record;         /* NULL: none */
    struct worker workers[PORTS];
    unsigned workers_n; /* 0: the kernel moves the packets */
    int kernel;         /* descriptor of the box in the kernel (kernel_home.h); -1: workers of this process move the
                         * packets */
    struct nc_clock_pair started;
};

static void pause_workers(struct box *box)
{
    for (unsigned i = 0; i < box->workers_n; i++)
        worker_pause(&box->workers[i]);
}

static void resume_workers(struct box *box)
{
    for (unsigned i = 0; i < box->workers_n; i++)
        worker_resume(&box->workers[i]);
}

/* Checks that the packets which the path can hold fit into memory. It is called before the first packet. */
static int check_memory(const struct box_settings *settings, const struct params *params, const struct models *models,
                        struct nc_error *error)
{
    struct models_held held = models_held(params, models);
    if (!models_limit_rate(models) || held.bytes <= settings->memory_bytes)
        return 0;
    char channels[40] = "", rate[40], delay[40], jitter[40], want[40], have[40];
    if (held.channels > 1)
        snprintf(channels, sizeof channels, " on %u channels", (unsigned)held.channels);
    nc_quantity_format(NC_UNIT_RATE, held.rate_bps, rate, sizeof rate);
    nc_quantity_format(NC_UNIT_DURATION, params->delay_ns, delay, sizeof delay);
    nc_quantity_format(NC_UNIT_DURATION, held.jitter_ns, jitter, sizeof jitter);
    nc_quantity_format(NC_UNIT_BYTES, (held.bytes | ((1 << 20) - 1)) + 1, want, sizeof want); /* in MB */
    nc_quantity_format(NC_UNIT_BYTES, settings->memory_bytes, have, sizeof have);
    return nc_fail(error, NC_EXIT_USAGE,
                   "--delay %s%s%s at --rate%s %s%s holds %s, more than --memory %s; raise --memory or lower either",
                   delay, held.jitter_ns ? " and --jitter's " : "", held.jitter_ns ? jitter : "",
                   models->rate.kind == RATE_CONSTANT ? "" : "-trace's", rate, channels, want, have);
}

/* Builds and checks the models of both directions. Returns 0, or -1 with a reason and nothing to free. `now`: the
 * current models, or NULL. */
static int build_models(const struct box_settings *settings, const struct direction now[PORTS],
                        const struct params params[PORTS], struct models models[PORTS], struct nc_error *error)
{
    for (int d = 0; d < PORTS; d++) {
        int failed = now ? models_rebuild(&params[d], &now[d].params, &now[d].models, &models[d], error)
                         : models_build(&params[d], &models[d], error);
        if (!failed && check_memory(settings, &params[d], &models[d], error) < 0) {
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

static int open_record(struct box *box, struct nc_error *error)
{
    char names[PORTS][sizeof box->ports[0].name + sizeof box->ports[0].netns + 1];
    const char *const ports[PORTS] = {names[A], names[B]};
    if (!box->settings.record.path)
        return 0;
    for (int p = 0; p < PORTS; p++)
        snprintf(names[p], sizeof names[p], "%s%s%s", box->ports[p].name, box->ports[p].netns[0] ? "@" : "",
                 box->ports[p].netns);
    json_t *parameters = parameters_json(box);
    char *text = json_dumps(parameters, JSON_COMPACT);
    box->record = record_file_open(&box->settings.record, ports, text ? text : "", nc_clock_pair_read(), error);
    free(text);
    json_decref(parameters);
    for (unsigned d = 0; box->record && d < PORTS; d++) {
        box->directions[d].recorder = record_file_recorder(box->record, d);
        if (box->kernel < 0)
            direction_tell_line(&box->directions[d], box->started.monotonic_ns);
    }
    return box->record ? 0 : -1;
}

static int init_directions(struct box *box, const struct params params[2], const struct models models[2],
                           struct nc_error *error)
{
    const struct box_settings *s = &box->settings;
    uint64_t now_ns = box->started.monotonic_ns;
    int failed = 0;
    for (unsigned d = 0; d < PORTS; d++) {
        if (!failed && direction_init(&box->directions[d], d, s->seed, s->granularity_ns, s->memory_bytes,
                                      models_held(&params[d], &models[d]).bytes) < 0) {
            nc_fail(error, NC_EXIT_MISSING, "--memory: cannot get it: %s", strerror(errno));
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

static int init_workers(struct box *box, struct nc_error *error)
{
    unsigned n = (unsigned)box->settings.threads, each = PORTS / n;
    for (; box->workers_n < n; box->workers_n++)
        if (worker_init(&box->workers[box->workers_n], &box->settings.worker, box->ports, box->directions,
                        box->workers_n * each, each) < 0)
            return nc_fail(error, NC_EXIT_MISSING, "cannot prepare a thread: %s", strerror(errno));
    return 0;
}

static int open_ports(struct box *box, const char *const names[PORTS], struct nc_error *error)
{
    char warning[256];
    struct port_settings settings = {
        .mtu = (unsigned)box->settings.mtu, .napi = (enum port_napi)box->settings.napi, .kernel_file = box->kernel};
    for (int p = 0; p < PORTS; p++) {
        settings.leaves = !p;
        if (port_open(&box->ports[p], names[p], &settings, error) < 0)
            return -1;
    }
    if (port_mtu_warning(&box->ports[A], &box->ports[B], warning, sizeof warning))
        nc_log("%s", warning);
    return 0;
}

/* Stores the parameters and passes them to the kernel. It takes ownership of the models even when it fails. */
static int open_in_kernel(struct box *box, const char *const names[PORTS], const struct params params[PORTS],
                          const struct models models[PORTS], struct nc_error *error)
{
    for (int d = 0; d < PORTS; d++) {
        box->directions[d].params = params[d];
        box->directions[d].models = models[d];
    }
    const struct params *const asked[PORTS] = {&params[A], &params[B]};
    const struct models *const meant[PORTS] = {&models[A], &models[B]};
    const struct kernel_home_settings settings = {.seed = box->settings.seed,
                                                  .granularity_ns = box->settings.granularity_ns,
                                                  .memory_bytes = box->settings.memory_bytes};
    box->kernel = kernel_home_open(error);
    return box->kernel < 0 || open_ports(box, names, error) < 0 || open_record(box, error) < 0 ||
           kernel_home_start(box->kernel, &settings, box->record, error) < 0 ||
           kernel_home_set(box->kernel, asked, meant, box->started.monotonic_ns, error) < 0;
}

struct box *box_open(const struct box_settings *settings, const char *port_a, const char *port_b,
                     const struct params params[2], struct nc_error *error)
{
    const char *const names[PORTS] = {port_a, port_b};
    struct models models[PORTS];
    if (build_models(settings, NULL, params, models, error) < 0)
        return NULL;
    struct box *box = calloc(1, sizeof *box);
    if (!box) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        models_free(&models[A]);
        models_free(&models[B]);
        return NULL;
    }
    box->settings = *settings;
    box->kernel = -1;
    box->started = nc_clock_pair_read(); /* read before the memory is touched: time 0 of the schedules, which `ready`
                                          * prints */
    for (int p = 0; p < PORTS; p++)
        box->ports[p] = (struct port){.fd = -1, .napi_fd = -1, .counters = -1, .claim = -1};
    bool in_kernel = settings->home == BOX_HOME_KERNEL;
    int failed = in_kernel ? open_in_kernel(box, names, params, models, error)
                           : init_directions(box, params, models, error) < 0 || init_workers(box, error) < 0 ||
                                 open_ports(box, names, error) < 0 || open_record(box, error) < 0;
    if (failed) {
        box_close(box);
        return NULL;
    }
    if (in_kernel)
        return box;
    worker_calibrate(&box->workers[0]);
    for (unsigned i = 1; i < box->workers_n; i++)
        box->workers[i].latency = box->workers[0].latency;
    return box;
}

void box_close(struct box *box)
{
    box_stop(box);
    for (unsigned i = 0; i < box->workers_n; i++)
        worker_free(&box->workers[i]);
    for (int d = 0; d < PORTS; d++) {
        port_close(&box->ports[d]);
        if (box->directions[d].pool.memory)
            direction_free(&box->directions[d]);
        else
            models_free(&box->directions[d].models);
    }
    if (box->kernel >= 0)
        close(box->kernel); /* it publishes the rest of the record */
    record_file_close(box->record);
    free(box);
}

int box_start(struct box *box, struct nc_error *error)
{
    for (unsigned i = 0; i < box->workers_n; i++) {
        int failed = worker_start(&box->workers[i]);
        if (failed)
            return nc_fail(error, NC_EXIT_MISSING, "cannot start a thread: %s", strerror(failed));
    }
    if (box->settings.worker.priority > 1 && box->workers_n)
        worker_raise_priority(1); /* this thread's priority: below the threads that move packets, above busy hosts */
    return 0;
}

void box_stop(struct box *box)
{
    for (unsigned i = 0; i < box->workers_n; i++)
        worker_stop(&box->workers[i]);
}

const struct params *box_params(const struct box *box, unsigned direction)
{
    return &box->directions[direction].params; /* only box_set changes them */
}

static int set_in_kernel(struct box *box, const struct params params[PORTS], struct models models[PORTS],
                         struct nc_error *error)
{
    const struct params *const asked[PORTS] = {&params[A], &params[B]};
    const struct models *const meant[PORTS] = {&models[A], &models[B]};
    int failed = kernel_home_set(box->kernel, asked, meant, 0, error);
    for (int d = 0; d < PORTS; d++) {
        struct direction *direction = &box->directions[d];
        models_free(failed ? &models[d] : &direction->models);
        if (failed)
            continue;
        direction->params = params[d];
        direction->models = models[d];
    }
    return failed;
}

int box_set(struct box *box, const struct params params[2], struct nc_error *error)
{
    struct models models[PORTS];
    if (build_models(&box->settings, box->directions, params, models, error) < 0)
        return -1;
    if (box->kernel >= 0)
        return set_in_kernel(box, params, models, error);
    pause_workers(box);
    uint64_t now_ns = nc_now_ns();
    for (int d = 0; d < PORTS; d++)
        direction_set(&box->directions[d], &params[d], &models[d], now_ns);
    resume_workers(box);
    return 0;
}

static uint64_t limit_ns(const struct box *box)
{
    const struct box_settings *s = &box->settings;
    return lateness_limit_ns(s->lateness_limit_ns, s->granularity_ns, box->workers[0].settings.poll_ns);
}

static json_t *verdict(const struct box *box, const struct direction_view views[PORTS],
                       const uint64_t ring_drops[PORTS])
{
    struct verdict_of of[PORTS];
    for (int d = 0; d < PORTS; d++) {
        const struct direction_stats *s = &views[d].stats;
        of[d] = (struct verdict_of){.dropped_memory = s->drops[FATE_MEMORY],
                                    .malformed = s->drops_malformed,
                                    .not_taken = s->drops[FATE_WRITE],
                                    .dropped_unread = ring_drops[d],
                                    .unrecorded = box->record ? recorder_skipped(box->directions[d].recorder) : 0,
                                    .port_gone = box->workers[0].gone[d] || box->workers[1].gone[d],
                                    .lateness = &s->lateness};
    }
    return verdict_json(of, limit_ns(box));
}

/* The current counts of both directions. */
static uint64_t look(struct box *box, struct direction_view views[PORTS])
{
    uint64_t now_ns = 0;
    if (box->kernel >= 0) {
        kernel_home_view(box->kernel, views, &now_ns);
        return now_ns;
    }
    pause_workers(box);
    now_ns = nc_now_ns();
    for (int d = 0; d < PORTS; d++)
        direction_view(&box->directions[d], now_ns, &views[d]);
    resume_workers(box);
    return now_ns;
}

json_t *box_json(struct box *box)
{
    const uint64_t ring_drops[PORTS] = {port_ring_drops(&box->ports[A]), port_ring_drops(&box->ports[B])};
    struct direction_view views[PORTS] = {0};
    uint64_t now_ns = look(box, views);
    uint64_t latency_ns = nc_max(box->workers[0].latency.median_ns, box->workers[1].latency.median_ns);
    json_t *statistics =
        json_pack("{s:o, s:o}", "ab", direction_stats_json(&views[A], box->directions[A].recorder, ring_drops[A]), "ba",
                  direction_stats_json(&views[B], box->directions[B].recorder, ring_drops[B]));
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:s}", "parameters", parameters_json(box), "statistics",
                     statistics, "verdict", verdict(box, views, ring_drops), "lateness_limit_ns",
                     (json_int_t)limit_ns(box), "uptime_ns", (json_int_t)(now_ns - box->started.monotonic_ns),
                     "wake_latency_ns", (json_int_t)latency_ns, "home", box->kernel < 0 ? "user" : "kernel");
}

json_t *box_ready_json(const struct box *box)
{
    return json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:I, s:I}}", "a", "name", box->ports[A].name, "netns",
                     box->ports[A].netns, "b", "name", box->ports[B].name, "netns", box->ports[B].netns, "clock",
                     "monotonic_ns", (json_int_t)box->started.monotonic_ns, "realtime_ns",
                     (json_int_t)box->started.realtime_ns);
}
