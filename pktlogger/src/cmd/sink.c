/* pktlogger sink: receives what `pktlogger push` sends, and says what the path did to it. */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_options.h"
#include "nc_program.h"
#include "nc_range.h"
#include "nc_zone.h"
#include "command.h"
#include "sink_output.h"
#include "sink_socket.h"

enum { WAIT_MS = 100 };

struct settings {
    const char *listen;
    int protocol;
    uint64_t port, duration_ns, linger_ns, buffer_bytes;
    bool human, json, parent_death;
};

static const char *const protocols[] = {"udp", "tcp", NULL};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    NC_STRING("listen", listen, "ADDRESS", "address to receive at; :: is IPv6 and IPv4", .default_text = "::"),
    NC_QUANTITY("port", port, NC_UNIT_COUNT, "5003", 1, 65535, "port to receive at", .letter = 'p'),
    NC_CHOICE("protocol", protocol, protocols, "udp", "the same as --protocol of push"),
    PL_OPTION_DURATION(duration_ns, "stop after this time; default: when every flow has ended"),
    NC_QUANTITY("linger", linger_ns, NC_UNIT_DURATION, "300ms", 0, 3600000000000,
                "how long late packets still count after every flow has ended"),
    NC_QUANTITY("buffer", buffer_bytes, NC_UNIT_BYTES, "64MB", 64 << 10, 1023 << 20, "the socket's receive buffer",
                .letter = 'B'),
    PL_OPTIONS_HUMAN_JSON(human, json),
    PL_OPTION_PARENT_DEATH(parent_death),
};
/* clang-format on */
static const struct nc_usage usage = {
    .synopsis = "pktlogger sink [options]",
    .purpose = "Receives the packets of `pktlogger push`: loss, duplicates, reordering, delay, jitter.",
    .epilog = "Definitions and fields are in FORMAT.md, section 10.",
};

static int resolve(const struct settings *settings, struct pl_sink_settings *wanted, struct nc_error *error)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE | AI_NUMERICHOST}, *found;
    snprintf(port, sizeof port, "%u", (unsigned)settings->port);
    int failed = getaddrinfo(settings->listen, port, &hints, &found);
    if (failed)
        return nc_fail(error, NC_EXIT_USAGE, "--listen '%.100s': want an address of this host: %s", settings->listen,
                       gai_strerror(failed));
    memcpy(&wanted->at, found->ai_addr, found->ai_addrlen);
    bool no_zone = nc_wants_zone(found->ai_addr);
    freeaddrinfo(found);
    return no_zone ? nc_fail(error, NC_EXIT_USAGE, "--listen '%.100s': " NC_ZONE_ADVICE, settings->listen) : 0;
}

/* When the sink stops: at the time set by --duration, or `linger` after the moment when every flow had ended. */
static uint64_t deadline_of(const struct settings *settings, uint64_t start_ns, uint64_t ended_ns)
{
    uint64_t latest = settings->duration_ns ? start_ns + settings->duration_ns : UINT64_MAX;
    return ended_ns ? nc_min(latest, ended_ns + settings->linger_ns) : latest;
}

static int receive(const struct settings *settings, struct pl_sink_socket *sink, struct pl_arrivals *arrivals,
                   int signal_fd, struct nc_error *error)
{
    uint64_t start_ns = nc_now_ns(), ended_ns = 0;
    struct pollfd fds[1 + PL_SINK_FDS] = {{.fd = signal_fd, .events = POLLIN}};
    pl_sink_poll(sink, fds + 1);
    for (uint64_t now; (now = nc_now_ns()) < deadline_of(settings, start_ns, ended_ns);) {
        uint64_t left_ms = (deadline_of(settings, start_ns, ended_ns) - now) / NC_NS_PER_MS + 1;
        poll(fds, 1 + PL_SINK_FDS, (int)nc_min(left_ms, WAIT_MS));
        int taken = pl_sink_take(sink, arrivals, error);
        if (taken < 0)
            return -1;
        if (fds[0].revents)
            break;
        if (!ended_ns && arrivals->flows_n && arrivals->ended_n == arrivals->flows_n && pl_arrivals_ended(arrivals))
            ended_ns = nc_now_ns();
    }
    return 0;
}

static int run_sink(const struct settings *settings, struct pl_arrivals *arrivals, bool human)
{
    struct nc_error error;
    struct pl_sink_settings wanted = {.tcp = settings->protocol, .buffer_bytes = settings->buffer_bytes};
    int signal_fd = nc_program_open_signals();
    struct pl_sink_socket *sink = resolve(settings, &wanted, &error) == 0 ? pl_sink_open(&wanted, &error) : NULL;
    if (!sink)
        return pl_report(human, &error);
    if (!human)
        nc_jsonl_event(stdout, "ready",
                       json_pack("{s:s, s:I}", "listen", settings->listen, "port", (json_int_t)settings->port));
    int status = receive(settings, sink, arrivals, signal_fd, &error);
    uint64_t drops = pl_sink_drops(sink);
    pl_sink_close(sink);
    nc_program_close_signals(signal_fd);
    if (status < 0)
        return pl_report(human, &error);
    pl_sink_print_end(human, arrivals, drops);
    if (arrivals->packets == 0)
        return pl_fail(human, NC_EXIT_FAILED, "no packet of pktlogger push came");
    return NC_EXIT_OK;
}

int pl_cmd_sink(int argc, char **argv)
{
    struct settings settings = {0};
    struct pl_arrivals *arrivals = calloc(1, sizeof *arrivals);
    int first = nc_options_parse(options, sizeof options / sizeof *options, &usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    int status;
    if (settings.parent_death)
        nc_program_end_with_parent();
    if (first < argc)
        status = pl_fail(human, NC_EXIT_USAGE, "'%s': not expected; the address goes into --listen", argv[first]);
    else if (!arrivals || pl_arrivals_init(arrivals) < 0)
        status = pl_fail(human, NC_EXIT_MISSING, "out of memory");
    else
        status = run_sink(&settings, arrivals, human);
    if (arrivals)
        pl_arrivals_free(arrivals);
    free(arrivals);
    return status;
}
