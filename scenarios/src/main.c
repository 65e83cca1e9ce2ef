/* timer-witness: measures how late this machine's timers are during a measurement that depends on them. It sleeps at
 * the delay box's real-time priority and does nothing else, so anything that makes it late would make the box late
 * too. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "sleeper.h"

struct settings {
    uint64_t period_ns, priority, duration_ns;
    bool parent_death, human, json;
};

#define OFFSET(field) offsetof(struct settings, field)
static const struct nc_option table[] = {
    NC_QUANTITY("period", period_ns, NC_UNIT_DURATION, "4ms", 100 * NC_NS_PER_US, NC_NS_PER_S,
                "time from one wake-up to the next"),
    NC_QUANTITY("priority", priority, NC_UNIT_COUNT, "10", 0, 99,
                "real-time priority (SCHED_RR), the delay box's own by default; 0 for none"),
    NC_QUANTITY("duration", duration_ns, NC_UNIT_DURATION, "0s", 0, 0, "stop after this time; 0 for never"),
    NC_FLAG("parent-death", parent_death, "stop when the parent process ends"),
    NC_FLAG("human", human, "text on stdout (the default on a terminal)"),
    NC_FLAG("json", json, "JSON lines on stdout (the default elsewhere)"),
};
static const struct nc_usage usage = {
    .synopsis = "timer-witness [options]",
    .purpose = "Measures how late this machine's timers are, until a signal or for --duration.",
    .epilog = "example:\n  timer-witness --duration 10s",
};

/* Returns at SIGINT or SIGTERM, or after `duration_ns` (0: never). */
static void wait_for_end(int signal_fd, uint64_t duration_ns)
{
    const struct timespec wait = {(time_t)(duration_ns / NC_NS_PER_S), (long)(duration_ns % NC_NS_PER_S)};
    struct pollfd signals = {signal_fd, POLLIN, 0};
    while (ppoll(&signals, 1, duration_ns ? &wait : NULL, NULL) < 0 && errno == EINTR)
        continue;
}

static void print_ready(bool human)
{
    if (!human)
        nc_jsonl_event(stdout, "ready", NULL);
    else
        printf("sleeping; Ctrl-C ends it\n");
    fflush(stdout);
}

static void print_end(const struct sleeper *sleeper, bool human)
{
    const struct nc_spread *late = &sleeper->late;
    uint64_t p50_ns = nc_spread_percentile(late, 0.5), p99_ns = nc_spread_percentile(late, 0.99);
    if (human) {
        printf("%llu wake-ups at priority %llu, late by %.3f ms median, %.3f ms p99, %.3f ms at most\n",
               (unsigned long long)late->n, (unsigned long long)sleeper->priority, (double)p50_ns / 1e6,
               (double)p99_ns / 1e6, (double)late->max / 1e6);
        return;
    }
    nc_jsonl_event(stdout, "end",
                   json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "period_ns", (json_int_t)sleeper->period_ns, "priority",
                             (json_int_t)sleeper->priority, "count", (json_int_t)late->n, "p50_ns", (json_int_t)p50_ns,
                             "p99_ns", (json_int_t)p99_ns, "max_ns", (json_int_t)late->max));
}

static int run(int argc, char **argv)
{
    static struct sleeper sleeper;
    struct settings settings;
    int positional = nc_options_parse(table, sizeof table / sizeof *table, &usage, &settings, NULL, argc, argv);
    if (positional < argc)
        nc_die(NC_EXIT_USAGE, "'%s': not an option; see timer-witness --help", argv[positional]);
    if (settings.parent_death)
        nc_program_end_with_parent();
    int signal_fd = nc_program_open_signals();
    bool human = nc_program_is_human(settings.human, settings.json);
    sleeper.period_ns = settings.period_ns;
    sleeper.priority = settings.priority;
    int failed = sleeper_start(&sleeper);
    if (failed) {
        nc_log_error(stdout, NC_EXIT_MISSING, "cannot start a thread: %s", strerror(failed));
        return NC_EXIT_MISSING;
    }
    print_ready(human);
    wait_for_end(signal_fd, settings.duration_ns);
    sleeper_stop(&sleeper);
    print_end(&sleeper, human);
    return NC_EXIT_OK;
}

int main(int argc, char **argv)
{
    static const struct nc_program program = {
        .name = "timer-witness", .purpose = "Measures how late this machine's timers are.", .run = run};
    return nc_program_main(&program, argc, argv);
}
