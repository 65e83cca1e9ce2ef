/* The verbs that send requests, once or every second, to a running gateway. */
#include "client.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "metrics.h"
#include "nc_clock.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"

struct client_settings {
    const char *control;
    uint64_t interval_ns, count, within_ns;
};

#define OFFSET(field) offsetof(struct client_settings, field)
#define CONTROL_ROW NC_STRING("control", control, "SOCKET", "the gateway's control socket")
static const struct nc_option control_rows[] = {CONTROL_ROW};
static const struct nc_option watch_rows[] = {
    CONTROL_ROW,
    NC_QUANTITY("interval", interval_ns, NC_UNIT_DURATION, "1s", 10 * NC_NS_PER_MS, 3600 * NC_NS_PER_S,
                "time between two lines"),
    NC_QUANTITY("count", count, NC_UNIT_COUNT, "0", 0, 0, "lines to print before it ends; 0 for no end"),
};
static const struct nc_option drain_rows[] = {
    CONTROL_ROW,
    NC_QUANTITY("within", within_ns, NC_UNIT_DURATION, "10s", 0, 0,
                "time after which connections that are left are reset"),
};
#define COUNT_OF(array) (sizeof array / sizeof array[0])

static json_t *ask(const char *control, json_t *request)
{
    return nc_control_ask(control, request, "lft-gateway");
}

static int print(json_t *answer)
{
    json_dumpf(answer, stdout, isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT);
    putchar('\n');
    json_decref(answer);
    return fflush(stdout) ? NC_EXIT_FAILED : NC_EXIT_OK;
}

/* Parses the options of a verb that takes no arguments. */
static struct client_settings parse(const struct nc_option *rows, size_t n, const char *synopsis, const char *purpose,
                                    int argc, char **argv)
{
    const struct nc_usage usage = {.synopsis = synopsis, .purpose = purpose};
    struct client_settings settings;
    int used = nc_options_parse(rows, n, &usage, &settings, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "'%s': %s takes no arguments", argv[used], argv[0]);
    return settings;
}

int client_show(int argc, char **argv)
{
    struct client_settings settings = parse(control_rows, COUNT_OF(control_rows), "lft-gateway show --control SOCKET",
                                            "Prints the state of a running gateway.", argc, argv);
    return print(ask(settings.control, json_pack("{s:s}", "op", "show")));
}

int client_metrics(int argc, char **argv)
{
    struct client_settings settings =
        parse(control_rows, COUNT_OF(control_rows), "lft-gateway metrics --control SOCKET",
              "Prints the state of a running gateway as Prometheus text, once.", argc, argv);
    json_t *answer = ask(settings.control, json_pack("{s:s}", "op", "show"));
    metrics_print(stdout, answer);
    json_decref(answer);
    return fflush(stdout) ? NC_EXIT_FAILED : NC_EXIT_OK;
}

int client_set(int argc, char **argv)
{
    static const struct nc_usage usage = {.synopsis = "lft-gateway set --control SOCKET NAME=VALUE…",
                                          .purpose = "Changes rate, rate-mode, host-rate, redundancy or bypass of a "
                                                     "running gateway: all of them or, if one is wrong, none.",
                                          .epilog = "Example: rate=800Mbit redundancy=off"};
    struct client_settings settings;
    int at = nc_options_parse(control_rows, COUNT_OF(control_rows), &usage, &settings, NULL, argc, argv);
    json_t *values = nc_control_values(argc, argv, at, "rate=800Mbit");
    return print(ask(settings.control, json_pack("{s:s, s:o}", "op", "set", "values", values)));
}

int client_bypass(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "lft-gateway bypass --control SOCKET auto|on|off",
        .purpose = "Says when new connections bypass the tunnel: while it is down (auto), always (on), never (off)."};
    struct client_settings settings;
    int at = nc_options_parse(control_rows, COUNT_OF(control_rows), &usage, &settings, NULL, argc, argv);
    if (argc - at != 1)
        nc_die(NC_EXIT_USAGE, "bypass: want one of auto, on, off");
    return print(
        ask(settings.control, json_pack("{s:s, s:{s:o}}", "op", "set", "values", "bypass", nc_jsonl_text(argv[at]))));
}

int client_stop(int argc, char **argv)
{
    struct client_settings settings = parse(control_rows, COUNT_OF(control_rows), "lft-gateway stop --control SOCKET",
                                            "Ends a running gateway at once; its connections are reset.", argc, argv);
    return print(ask(settings.control, json_pack("{s:s}", "op", "stop")));
}

int client_drain(int argc, char **argv)
{
    char text[40];
    struct client_settings settings = parse(
        drain_rows, COUNT_OF(drain_rows), "lft-gateway drain --control SOCKET [--within 10s]",
        "Ends a running gateway once its connections have ended; meanwhile new ones are routed as normal.", argc, argv);
    return print(
        ask(settings.control, json_pack("{s:s, s:s}", "op", "stop", "within",
                                        nc_quantity_format(NC_UNIT_DURATION, settings.within_ns, text, sizeof text))));
}

/* Returns by how much each integer of a section has grown since the previous state. */
static json_t *difference(const json_t *before, const json_t *after)
{
    json_t *out = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)after, key, value)
    {
        if (json_is_integer(value))
            json_object_set_new(
                out, key, json_integer(json_integer_value(value) - json_integer_value(json_object_get(before, key))));
    }
    return out;
}

static json_t *interval(const json_t *before, const json_t *now)
{
    static const char *const sections[] = {"relay", "session", "io"};
    json_t *out = json_object();
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        json_object_set_new(out, sections[i],
                            difference(json_object_get(before, sections[i]), json_object_get(now, sections[i])));
    json_object_set(out, "tunnel", json_object_get(json_object_get(now, "tunnel"), "status"));
    json_object_set(out, "bypassed", json_object_get(now, "bypassed"));
    json_object_set(out, "uptime_ns", json_object_get(now, "uptime_ns"));
    json_object_set_new(out, "interval_ns",
                        json_integer(json_integer_value(json_object_get(now, "uptime_ns")) -
                                     json_integer_value(json_object_get(before, "uptime_ns"))));
    json_object_set_new(out, "cpu_ns",
                        json_integer(json_integer_value(json_object_get(now, "cpu_ns")) -
                                     json_integer_value(json_object_get(before, "cpu_ns"))));
    return out;
}

int client_watch(int argc, char **argv)
{
    struct client_settings settings = parse(
        watch_rows, COUNT_OF(watch_rows), "lft-gateway watch --control SOCKET [--interval 1s] [--count N]",
        "Prints what a running gateway does: a JSON line an interval, with the growth of its counters.", argc, argv);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct pollfd signals = {signalfd(-1, &set, SFD_CLOEXEC), POLLIN, 0};
    json_t *before = ask(settings.control, json_pack("{s:s}", "op", "show"));
    uint64_t printed = 0, next_ns = nc_now_ns();
    while (!settings.count || printed < settings.count) {
        struct nc_error error;
        uint64_t now_ns = nc_now_ns();
        next_ns = next_ns + settings.interval_ns > now_ns ? next_ns + settings.interval_ns : now_ns;
        struct timespec wait = {(time_t)((next_ns - now_ns) / NC_NS_PER_S), (long)((next_ns - now_ns) % NC_NS_PER_S)};
        if (ppoll(&signals, 1, &wait, NULL) > 0)
            break;
        json_t *now = nc_control_request(settings.control, json_pack("{s:s}", "op", "show"), "lft-gateway", &error);
        if (!now)
            break;
        nc_jsonl_event(stdout, "interval", interval(before, now));
        json_decref(before);
        before = now;
        printed++;
    }
    json_decref(before);
    nc_jsonl_event(stdout, "end", json_pack("{s:I}", "intervals", (json_int_t)printed));
    return NC_EXIT_OK;
}
