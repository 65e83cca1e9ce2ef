/* comet-delay: a subcommand a function, a table of them. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "box.h"
#include "client.h"
#include "control.h"
#include "human.h"
#include "metrics.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "serve.h"
#include "settings.h"
#include "watch.h"

/* SIGINT and SIGTERM as a descriptor; a second one ends the process at once, because the first restores the default. */
static int block_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void unblock_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN); /* the one that stopped the box is still pending */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* --check: the models of both directions, built and thrown away. */
static int check(const struct params params[2])
{
    for (int d = 0; d < 2; d++) {
        char why[512];
        struct models models;
        if (models_build(&params[d], &models, why, sizeof why) < 0)
            nc_die(NC_EXIT_USAGE, "%s", why);
        models_free(&models);
    }
    return NC_EXIT_OK;
}

/* Opens the control socket if there is to be one, runs the box, prints `ready` and `end`. */
static int operate(struct box *box, const struct settings *settings, const struct params params[2], int signal_fd)
{
    char why[512];
    bool human = settings->human || (!settings->json && isatty(STDOUT_FILENO));
    int control_fd = settings->control ? nc_control_listen(settings->control, CONTROL_CLIENTS_MAX, "box", why, sizeof why) : -1;
    if (settings->control && control_fd < 0) {
        nc_jsonl_error(stdout, NC_EXIT_USAGE, "%s", why);
        return NC_EXIT_USAGE;
    }
    if (box_start(box, why, sizeof why) < 0) {
        nc_jsonl_error(stdout, NC_EXIT_MISSING, "%s", why);
        return NC_EXIT_MISSING;
    }
    json_t *ready = box_ready_json(box);
    json_object_set_new(ready, "control", nc_jsonl_text(settings->control ? settings->control : ""));
    if (human) {
        human_ready(stdout, params);
        json_decref(ready);
    } else
        nc_jsonl_event(stdout, "ready", ready);
    serve(box, control_fd, signal_fd, settings->box.duration_ns);
    box_stop(box);
    unblock_signals();
    json_t *end = box_json(box);
    if (human)
        human_state(stdout, end);
    else
        nc_jsonl_event(stdout, "end", json_incref(end));
    json_decref(end);
    if (control_fd >= 0) {
        close(control_fd);
        unlink(settings->control);
    }
    return NC_EXIT_OK;
}

static int run(int argc, char **argv)
{
    struct settings settings;
    struct params params[2];
    char why[512];
    int status;
    settings_parse(argc, argv, &settings, params);
    if (settings.check)
        return check(params);
    if (!settings.port_a || !settings.port_b)
        nc_die(NC_EXIT_USAGE, "--%s: missing; want tap:NAME[@NETNS] or if:NAME[@NETNS]", settings.port_a ? "b" : "a");
    if (settings.parent_death)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1);
    int signal_fd = block_signals();
    struct box *box =
        box_open(&settings.box, settings.port_a, settings.port_b, params, &status, why, sizeof why);
    if (!box) {
        nc_jsonl_error(stdout, status, "%s", why);
        return status;
    }
    status = operate(box, &settings, params, signal_fd);
    box_close(box);
    return status;
}

static const struct {
    const char *name, *purpose;
    int (*main)(int argc, char **argv);
} verbs[] = {
    {"run", "be the box", run},
    {"show", "parameters and statistics of a running box", client_show},
    {"set", "change parameters of a running box", client_set},
    {"watch", "a running box, interval by interval", watch_main},
    {"metrics", "statistics of a running box as Prometheus text", metrics_main},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verb, verbs[i].name) == 0)
            return verbs[i].main(argc - 1, argv + 1);
    if (strcmp(verb, "--help") != 0 && strcmp(verb, "-h") != 0)
        nc_die(NC_EXIT_USAGE, "'%s': want one of run, show, set, watch, metrics; see comet-delay --help", verb);
    printf("usage: comet-delay VERB [options]\n\nA delay box for long fat pipes: right for every wire packet, fast with super-packets.\n\n");
    for (int i = 0; i < VERBS; i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].purpose);
    printf("\nEach verb has its own --help.\n");
    return NC_EXIT_OK;
}
