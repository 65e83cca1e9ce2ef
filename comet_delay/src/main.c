/* comet-delay: `run`, and the table of verbs. */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "box.h"
#include "client.h"
#include "control_thread.h"
#include "human.h"
#include "metrics.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_keeper.h"
#include "nc_log.h"
#include "nc_program.h"
#include "settings.h"
#include "watch.h"

/* --check: builds the models of both directions and prints them in full. */
static int check(const struct settings *settings, const struct params params[2])
{
    static const char *const names[2] = {"ab", "ba"};
    json_t *meaning = json_object();
    for (int d = 0; d < 2; d++) {
        struct nc_error error;
        struct models models;
        if (models_build(&params[d], &models, &error) < 0)
            nc_die(error.status, "%s", error.text);
        json_object_set_new(meaning, names[d], models_json(&models));
        models_free(&models);
    }
    if (nc_program_is_human(settings->human, settings->json)) {
        human_models(stdout, meaning);
        json_decref(meaning);
    } else
        nc_jsonl_event(stdout, "models", meaning);
    return NC_EXIT_OK;
}

/* The keeper's act: removes the control socket from a directory that root owns. */
static int keep(void *context, uint32_t what, uint64_t value, struct nc_error *error)
{
    const struct settings *settings = context;
    (void)what;
    (void)value;
    (void)error;
    return unlink(settings->control);
}

/* `set` may name files with traces and tables while the box runs, so they stay readable. Threads started later set
 * their priority. */
static int confine(const struct settings *settings, json_t **sandbox, struct nc_error *error)
{
    static const char *const anywhere[] = {"/", NULL}, *const calls[] = {"sched_setscheduler", NULL};
    const struct nc_sandbox limits = {.capabilities = settings->box.worker.priority ? UINT64_C(1) << CAP_SYS_NICE : 0,
                                      .reads = anywhere,
                                      .calls = calls};
    return nc_sandbox_enter(&limits, &settings->sandbox, sandbox, error);
}

/* Opens the control socket if one is configured, runs the box, prints `ready` and `end`. */
static int operate(struct box *box, const struct settings *settings, const struct params params[2], int signal_fd,
                   struct nc_keeper *keeper, struct nc_error *error)
{
    json_t *sandbox = NULL;
    bool human = nc_program_is_human(settings->human, settings->json);
    int control_fd =
        settings->control ? nc_control_listen(settings->control, CONTROL_THREAD_CLIENTS_MAX, "box", error) : -1;
    if ((settings->control && control_fd < 0) || confine(settings, &sandbox, error) < 0 || box_start(box, error) < 0) {
        json_decref(sandbox);
        return -1;
    }
    json_t *ready = box_ready_json(box);
    json_object_set_new(ready, "sandbox", sandbox);
    json_object_set_new(ready, "control", nc_jsonl_text(settings->control ? settings->control : ""));
    if (human) {
        human_ready(stdout, params);
        json_decref(ready);
    } else
        nc_jsonl_event(stdout, "ready", ready);
    control_thread_run(box, control_fd, signal_fd, settings->box.duration_ns);
    box_stop(box);
    nc_program_close_signals(signal_fd);
    json_t *end = box_json(box);
    if (human)
        human_state(stdout, end);
    else
        nc_jsonl_event(stdout, "end", json_incref(end));
    json_decref(end);
    if (control_fd >= 0) {
        close(control_fd);
        if (unlink(settings->control) < 0)
            nc_keeper_ask(keeper, 0, 0, error);
    }
    return 0;
}

static int run(int argc, char **argv)
{
    struct settings settings;
    struct params params[2];
    struct nc_error error;
    settings_parse(argc, argv, &settings, params);
    if (settings.check)
        return check(&settings, params);
    if (!settings.port_a || !settings.port_b)
        nc_die(NC_EXIT_USAGE, "--%s: missing; want tap:NAME[@NETNS] or if:NAME[@NETNS]", settings.port_a ? "b" : "a");
    if (settings.parent_death)
        nc_program_end_with_parent();
    prctl(PR_SET_TIMERSLACK, 1);
    int signal_fd = nc_program_open_signals();
    /* before the box allocates memory: a fork would copy its page tables */
    struct nc_keeper *keeper = settings.control ? nc_keeper_open(keep, &settings, 0, &error) : NULL;
    struct box *box = box_open(&settings.box, settings.port_a, settings.port_b, params, &error);
    bool failed = !box || operate(box, &settings, params, signal_fd, keeper, &error) < 0;
    if (failed)
        nc_log_error(stdout, error.status, "%s", error.text);
    if (box)
        box_close(box);
    nc_keeper_close(keeper);
    return failed ? error.status : NC_EXIT_OK;
}

int main(int argc, char **argv)
{
    static const struct nc_verb verbs[] = {
        {"run", "be the box", run},
        {"show", "parameters and statistics of a running box", client_show},
        {"set", "change parameters of a running box", client_set},
        {"watch", "a running box, interval by interval", watch_main},
        {"metrics", "statistics of a running box as Prometheus text", metrics_main},
    };
    static const struct nc_program program = {
        .name = "comet-delay",
        .purpose = "A delay box for long fat pipes: right for every wire packet, fast with super-packets.",
        .verbs = verbs,
        .verbs_n = sizeof verbs / sizeof verbs[0]};
    return nc_program_main(&program, argc, argv);
}
