/* Asks for the state once per interval and prints the difference. The box does not know watchers: each is a client that
 * subtracts, so several (up to the 8 clients of the socket) may watch with different intervals. On a terminal each
 * block overwrites the previous one: the cursor moves up by the lines printed, and the screen is cleared from there.
 * Rejected: the alternate screen, whose last contents would disappear when watching ends. */
#include "watch.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "human.h"
#include "interval.h"
#include "nc_clock.h"
#include "nc_control.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_program.h"

struct watch_settings {
    const char *control;
    uint64_t interval_ns, count;
    bool human, json;
};

#define OFFSET(field) offsetof(struct watch_settings, field)
static const struct nc_option rows[] = {
    CLIENT_CONTROL_ROW,
    NC_QUANTITY("interval", interval_ns, NC_UNIT_DURATION, "1s", 10 * NC_NS_PER_MS, 3600 * NC_NS_PER_S,
                "time between two reports"),
    NC_QUANTITY("count", count, NC_UNIT_COUNT, "0", 0, 0, "end after this many intervals; 0 for never"),
    NC_FLAG("human", human, "text on stdout (the default on a terminal, where it is redrawn in place)"),
    NC_FLAG("json", json, "a JSON line an interval on stdout (the default elsewhere)"),
};

static long long at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* Prints " NAME COUNT" for every count above 0. Returns whether there was any. */
static bool print_counts(FILE *out, const json_t *counts)
{
    const char *name;
    json_t *count;
    bool any = false;
    json_object_foreach((json_t *)counts, name, count)
    {
        if (!json_integer_value(count))
            continue;
        fprintf(out, " %s %lld", name, (long long)json_integer_value(count));
        any = true;
    }
    return any;
}

/* Drops by cause, then the model's other changes to packets. */
static void print_fates(FILE *out, const json_t *d)
{
    static const char *const others[] = {"duplicated", "corrupted", "forged", "reordered", "marked"};
    fprintf(out, "drops");
    if (!print_counts(out, json_object_get(d, "drops")))
        fprintf(out, " none");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (at(d, others[i]))
            fprintf(out, "  %s %lld", others[i], at(d, others[i]));
    fprintf(out, "\n");
}

static void print_direction(FILE *out, const char *label, const json_t *d)
{
    const json_t *late = json_object_get(d, "lateness");
    fprintf(out, "%s %10.3f %9lld %11.3f %9lld %11.1f %10.2f\n", label, (double)at(d, "in_bps") / 1e6,
            at(d, "in_packets_per_s"), (double)at(d, "out_bps") / 1e6, at(d, "out_packets_per_s"),
            (double)at(d, "queue_bytes") / 1024, (double)at(d, "held_bytes") / (1 << 20));
    fprintf(out, "       late us ");
    if (at(late, "count"))
        fprintf(out, "p50 %.1f p90 %.1f p99 %.1f max %.1f", (double)at(late, "p50_ns") / 1e3,
                (double)at(late, "p90_ns") / 1e3, (double)at(late, "p99_ns") / 1e3, (double)at(late, "max_ns") / 1e3);
    else
        fprintf(out, "-");
    fprintf(out, "   ");
    print_fates(out, d);
    fprintf(out, "       model  ");
    human_achieved(out, json_object_get(d, "achieved"), NULL);
    fprintf(out, "\n");
}

static void print_block(FILE *out, const json_t *interval)
{
    fprintf(out, "comet-delay up %.1f s, interval %.3f s%s\n", (double)at(interval, "uptime_ns") / 1e9,
            (double)at(interval, "interval_ns") / 1e9,
            json_is_true(json_object_get(interval, "valid")) ? "" : ", NOT VALID (see comet-delay show)");
    fprintf(out, "       in Mbit/s    pkt/s  out Mbit/s     pkt/s    queue KB    held MB\n");
    print_direction(out, "a to b", json_object_get(interval, "ab"));
    print_direction(out, "b to a", json_object_get(interval, "ba"));
}

/* Prints an interval and releases it. */
static void print_interval(const struct watch_settings *settings, json_t *interval, bool first)
{
    bool terminal = isatty(STDOUT_FILENO);
    if (!nc_program_is_human(settings->human, settings->json)) {
        nc_jsonl_event(stdout, "interval", interval);
        return;
    }
    if (terminal) /* without wrapping: a wrapped line would count as two for the next cursor movement */
        printf("\033[?7l%s", first ? "" : "\033[8A\r\033[J");
    else if (!first)
        putchar('\n');
    print_block(stdout, interval);
    if (terminal)
        printf("\033[?7h");
    fflush(stdout);
    json_decref(interval);
}

/* Waits until `until_ns`. Returns true when a signal arrives before. */
static bool wait_or_end(int signal_fd, uint64_t until_ns)
{
    uint64_t now_ns = nc_now_ns(), wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    struct timespec timeout = {(time_t)(wait_ns / NC_NS_PER_S), (long)(wait_ns % NC_NS_PER_S)};
    struct pollfd fd = {signal_fd, POLLIN, 0};
    return ppoll(&fd, 1, &timeout, NULL) > 0;
}

/* Watches until the count is reached, a signal arrives, or the box has gone. Returns the number of intervals
 * printed. */
static uint64_t watch(const struct watch_settings *settings, json_t *before, bool *gone)
{
    int signal_fd = nc_program_open_signals();
    uint64_t printed = 0, next_ns = nc_now_ns();
    while ((!settings->count || printed < settings->count) &&
           !wait_or_end(signal_fd, next_ns += settings->interval_ns)) {
        struct nc_error error;
        json_t *now = nc_control_request(settings->control, json_pack("{s:s}", "op", "show"), "comet-delay", &error);
        *gone = !now;
        if (*gone) {
            nc_log("the box has gone: %s", error.text);
            break;
        }
        json_t *interval = interval_json(before, now);
        json_decref(before);
        before = now;
        if (interval)
            print_interval(settings, interval, printed++ == 0);
        if (next_ns + settings->interval_ns < nc_now_ns())
            next_ns = nc_now_ns(); /* the box was slow to answer: do not catch up by a burst of short intervals */
    }
    json_decref(before);
    nc_program_close_signals(signal_fd);
    return printed;
}

int watch_main(int argc, char **argv)
{
    static const struct nc_usage usage = {
        .synopsis = "comet-delay watch --control SOCKET [--interval 1s] [--count N]",
        .purpose = "A running box, interval by interval: rates, drops, queue and lateness of each interval alone.",
        .epilog = "It ends with the box, at Ctrl-C, or after --count intervals."};
    struct watch_settings settings;
    int used = nc_options_parse(rows, sizeof rows / sizeof rows[0], &usage, &settings, NULL, argc, argv);
    if (used < argc)
        nc_die(NC_EXIT_USAGE, "'%s': watch takes no arguments", argv[used]);
    bool gone = false;
    uint64_t printed = watch(&settings, client_state(settings.control), &gone);
    if (!nc_program_is_human(settings.human, settings.json))
        nc_jsonl_event(stdout, "end", json_pack("{s:I, s:b}", "intervals", (json_int_t)printed, "gone", gone));
    return gone && settings.count ? NC_EXIT_FAILED : NC_EXIT_OK;
}
