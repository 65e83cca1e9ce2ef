/* comet-delay: a subcommand a function, a table of them. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "box.h"
#include "control.h"
#include "human.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "settings.h"

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

/* Late is wrong: busy hosts beside the box must not keep it from the processor. */
static void raise_priority(int level)
{
    struct sched_param priority = {.sched_priority = level};
    if (level && sched_setscheduler(0, SCHED_RR, &priority) < 0)
        nc_log("--priority %d: %s; going on without, look at the lateness", level, strerror(errno));
}

static int run(int argc, char **argv)
{
    struct settings settings;
    struct params params[2];
    char why[512];
    int status;
    settings_parse(argc, argv, &settings, params);
    if (!settings.port_a || !settings.port_b)
        nc_die(NC_EXIT_USAGE, "--%s: missing; want tap:NAME[@NETNS]", settings.port_a ? "b" : "a");
    if (settings.parent_death)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_TIMERSLACK, 1);
    bool human = settings.human || (!settings.json && isatty(STDOUT_FILENO));
    int signal_fd = block_signals();
    struct box *box =
        box_open(&settings.box, settings.port_a, settings.port_b, settings.control, params, &status, why, sizeof why);
    if (!box) {
        nc_jsonl_error(stdout, status, "%s", why);
        return status;
    }
    raise_priority((int)settings.priority);
    if (human)
        human_ready(stdout, params);
    else
        nc_jsonl_event(stdout, "ready", box_ready_json(box));
    box_run(box, signal_fd);
    unblock_signals();
    json_t *end = box_json(box);
    if (human)
        human_state(stdout, end);
    else
        nc_jsonl_event(stdout, "end", json_incref(end));
    json_decref(end);
    box_close(box);
    return NC_EXIT_OK;
}

struct client_settings {
    const char *control;
    bool human, json;
};

static const struct nc_option client_rows[] = {
    {.name = "control", .kind = NC_OPT_STRING, .metavar = "SOCKET", .help = "the box's control socket",
     .offset = offsetof(struct client_settings, control)},
    {.name = "human", .kind = NC_OPT_FLAG, .help = "text on stdout (the default on a terminal)",
     .offset = offsetof(struct client_settings, human)},
    {.name = "json", .kind = NC_OPT_FLAG, .help = "one JSON object on stdout (the default elsewhere)",
     .offset = offsetof(struct client_settings, json)},
};

/* Sends the request and prints the answer. */
static int ask(const struct client_settings *settings, json_t *request)
{
    char why[512] = "";
    if (!settings->control)
        nc_die(NC_EXIT_USAGE, "--control: missing; want the socket that comet-delay run was given");
    json_t *answer = control_request(settings->control, request, why, sizeof why);
    if (!answer)
        nc_die(NC_EXIT_FAILED, "%s", why);
    if (!json_is_true(json_object_get(answer, "ok")))
        nc_die(NC_EXIT_USAGE, "%s", json_string_value(json_object_get(answer, "error")));
    if (settings->human || (!settings->json && isatty(STDOUT_FILENO)))
        human_state(stdout, answer);
    else {
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(answer);
    return NC_EXIT_OK;
}

static int parse_client(int argc, char **argv, const struct nc_usage *usage, struct client_settings *settings)
{
    return nc_options_parse(client_rows, sizeof client_rows / sizeof client_rows[0], usage, settings, NULL, argc, argv);
}

static int show(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "comet-delay show --control SOCKET",
                                          .purpose = "Parameters, statistics and verdict of a running box."};
    struct client_settings settings;
    int at = parse_client(argc, argv, &usage, &settings);
    if (at < argc)
        nc_die(NC_EXIT_USAGE, "'%s': show takes no arguments", argv[at]);
    return ask(&settings, json_pack("{s:s}", "op", "show"));
}

static int set(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "comet-delay set --control SOCKET NAME=VALUE…",
        .purpose = "Changes parameters of a running box, all at once or, if one is wrong, none.",
        .epilog = "NAME is a path option of comet-delay run: loss=0.1% ab-rate=45Mbit ba-delay=10ms"};
    struct client_settings settings;
    int at = parse_client(argc, argv, &usage, &settings);
    json_t *values = json_object();
    if (at == argc)
        nc_die(NC_EXIT_USAGE, "set: nothing to set; want NAME=VALUE, for example rate=45Mbit");
    for (; at < argc; at++) {
        char *equals = strchr(argv[at], '=');
        if (!equals)
            nc_die(NC_EXIT_USAGE, "'%s': want NAME=VALUE, for example rate=45Mbit", argv[at]);
        *equals = '\0';
        json_object_set_new(values, argv[at], json_string(equals + 1));
    }
    return ask(&settings, json_pack("{s:s, s:o}", "op", "set", "values", values));
}

static const struct {
    const char *name, *purpose;
    int (*main)(int argc, char **argv);
} verbs[] = {
    {"run", "be the box", run},
    {"show", "parameters and statistics of a running box", show},
    {"set", "change parameters of a running box", set},
};
enum { VERBS = sizeof verbs / sizeof verbs[0] };

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    for (int i = 0; i < VERBS; i++)
        if (strcmp(verb, verbs[i].name) == 0)
            return verbs[i].main(argc - 1, argv + 1);
    if (strcmp(verb, "--help") != 0 && strcmp(verb, "-h") != 0)
        nc_die(NC_EXIT_USAGE, "'%s': want one of run, show, set; see comet-delay --help", verb);
    printf("usage: comet-delay VERB [options]\n\nA delay box for long fat pipes: right for every wire packet, fast with super-packets.\n\n");
    for (int i = 0; i < VERBS; i++)
        printf("  %-6s %s\n", verbs[i].name, verbs[i].purpose);
    printf("\nEach verb has its own --help.\n");
    return NC_EXIT_OK;
}
