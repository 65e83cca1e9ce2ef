/* pktlogger push: sends packets at times of a schedule. */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "nc_jsonl.h"
#include "nc_options.h"
#include "nc_program.h"
#include "nc_zone.h"
#include "command.h"
#include "departures.h"
#include "given.h"
#include "mapping.h"
#include "probe.h"
#include "push_output.h"
#include "pusher.h"

enum { LEAD_NS = 5000000 };
#define FRAME_LONGEST 262144

struct settings {
    const char *size, *departures, *replay, *interface;
    int protocol, schedule;
    uint64_t port, pps, burst, flows, packets, duration_ns, seed, spin_ns, priority;
    bool txtime, human, json, parent_death;
};

static const char *const protocols[] = {"udp", "tcp", NULL};
enum { CONSTANT, POISSON, BURST }; /* indexes in `schedules` */
static const char *const schedules[] = {"constant", "poisson", "burst", NULL};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    NC_QUANTITY("port", port, NC_UNIT_COUNT, "5003", 1, 65535, "port of the sink", .letter = 'p'),
    NC_CHOICE("protocol", protocol, protocols, "udp",
              "UDP datagrams, or segments with TCP headers that belong to no connection"),
    NC_QUANTITY("pps", pps, NC_UNIT_COUNT, "1000", 0, 100000000,
                "packets a second; 0: as many as this machine can send", .letter = 'r'),
    NC_CHOICE("schedule", schedule, schedules, "constant", "equal gaps, exponential gaps, or bursts"),
    NC_QUANTITY("burst", burst, NC_UNIT_COUNT, "16", 1, 1000000, "packets per burst"),
    NC_STRING("departures", departures, "FILE", "file with the times of sending, one line per packet, as in 12.5ms"),
    NC_STRING("size", size, "SIZE[:WEIGHT],...", "bytes of an IP packet, or a mix of sizes", .letter = 's',
              .default_text = "1442"),
    NC_QUANTITY("flows", flows, NC_UNIT_COUNT, "1", 1, PL_PROBE_FLOWS_MAX, "flows, which take turns"),
    NC_QUANTITY("packets", packets, NC_UNIT_COUNT, NULL, 0, 0, "stop after this many packets", .letter = 'c'),
    PL_OPTION_DURATION(duration_ns, "stop after this time"),
    NC_QUANTITY("seed", seed, NC_UNIT_COUNT, "1", 0, 0, "seed of the exponential gaps"),
    NC_QUANTITY("spin", spin_ns, NC_UNIT_DURATION, "100us", 0, 10000000,
                "poll the clock for this long before a packet is due; 0 in virtual time"),
    NC_QUANTITY("priority", priority, NC_UNIT_COUNT, NULL, 0, 99, "real-time priority (SCHED_RR); 0 for none"),
    NC_FLAG("txtime", txtime, "let the queueing discipline send at the exact time (SO_TXTIME); needs fq"),
    NC_STRING("replay", replay, "FILE",
              "send the frames of this capture again, at their times unless --pps or --departures is given"),
    NC_STRING("interface", interface, "NAME[@NETNS]", "with --replay: where the frames leave", .letter = 'i'),
    PL_OPTIONS_HUMAN_JSON(human, json),
    PL_OPTION_PARENT_DEATH(parent_death),
};
/* clang-format on */
enum { OPTIONS_N = sizeof options / sizeof *options };
static const struct nc_usage usage = {
    .synopsis = "pktlogger push HOST [options]\n       pktlogger push --replay FILE -i NAME[@NETNS]",
    .purpose = "Sends packets at exact times: UDP, TCP-shaped, or the frames of a capture.",
    .epilog = "`pktlogger sink` at HOST says what became of them. FORMAT.md, section 9, has the packets' format.",
};

/* A run of the command. */
struct run {
    const struct settings *settings;
    bool pps_given, human;
    struct pl_pusher pusher;
    struct pl_departures departures;
    struct pl_replay_frames frames;
    struct pl_mapping capture;
    struct pl_port_settings port;
};

static int resolve(struct run *run, const char *host, struct nc_error *error)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found;
    snprintf(port, sizeof port, "%u", (unsigned)run->settings->port);
    int failed = getaddrinfo(host, port, &hints, &found);
    if (failed)
        return nc_fail(error, NC_EXIT_USAGE, "'%.100s': no such host: %s", host, gai_strerror(failed));
    memcpy(&run->port.to, found->ai_addr, found->ai_addrlen);
    run->port.to_len = found->ai_addrlen;
    bool no_zone = nc_wants_zone(found->ai_addr);
    freeaddrinfo(found);
    return no_zone ? nc_fail(error, NC_EXIT_USAGE, "'%.100s': " NC_ZONE_ADVICE, host) : 0;
}

static int read_departures(struct run *run, struct nc_error *error)
{
    struct pl_mapping mapping;
    const char *file = run->settings->departures;
    if (pl_map(file, &mapping, error) < 0)
        return -1;
    int status = pl_departures_read(&run->departures, file, mapping.data, mapping.len, error);
    pl_unmap(&mapping);
    return status;
}

static int set_schedule(struct run *run, struct nc_error *error)
{
    const struct settings *settings = run->settings;
    static const enum pl_schedule_kind kinds[] = {
        [CONSTANT] = PL_SCHEDULE_CONSTANT, [POISSON] = PL_SCHEDULE_POISSON, [BURST] = PL_SCHEDULE_BURST};
    struct pl_schedule *schedule = &run->pusher.schedule;
    *schedule = (struct pl_schedule){.kind = kinds[settings->schedule],
                                     .pps = settings->pps,
                                     .burst = settings->burst,
                                     .packets = settings->packets,
                                     .duration_ns = settings->duration_ns,
                                     .seed = settings->seed};
    if (settings->departures && read_departures(run, error) < 0)
        return -1;
    if (settings->replay && (!schedule->packets || schedule->packets > run->frames.n))
        schedule->packets = run->frames.n;
    if (!settings->departures && (!settings->replay || run->pps_given))
        return 0;
    schedule->kind = PL_SCHEDULE_TRACE;
    schedule->trace_ns = settings->departures ? run->departures.at_ns : run->frames.due_ns;
    schedule->trace_n = settings->departures ? run->departures.n : run->frames.n;
    return 0;
}

static int set_sizes(struct run *run, struct nc_error *error)
{
    bool v6 = run->port.to.ss_family == AF_INET6;
    uint32_t headers = (v6 ? 40 : 20) + (run->settings->protocol ? 20 : 8);
    if (pl_sizes_read(&run->pusher.sizes, run->settings->size, headers + PL_PROBE_LEN, v6 ? 65535 : 65500, error) < 0)
        return -1;
    run->port.largest = pl_sizes_largest(&run->pusher.sizes);
    return 0;
}

static int open_port(struct run *run, const char *host, struct nc_error *error)
{
    const struct settings *settings = run->settings;
    run->port.flows = (uint16_t)settings->flows;
    run->port.txtime = settings->txtime;
    run->port.interface = settings->interface;
    run->port.replayed = run->pusher.replayed = settings->replay ? &run->frames : NULL;
    run->pusher.sequences = calloc(settings->flows, sizeof *run->pusher.sequences);
    if (!run->pusher.sequences || getrandom(&run->port.session, sizeof run->port.session, 0) < 0)
        return nc_fail(error, NC_EXIT_MISSING, "out of memory or random numbers");
    if (settings->replay) {
        if (pl_map(settings->replay, &run->capture, error) < 0 ||
            pl_replay_frames_read(&run->frames, settings->replay, run->capture.data, run->capture.len, FRAME_LONGEST,
                                  error) < 0)
            return -1;
        run->pusher.port = pl_port_frames(&run->port, error);
    } else if (resolve(run, host, error) == 0 && set_sizes(run, error) == 0)
        run->pusher.port = settings->protocol ? pl_port_tcp(&run->port, error) : pl_port_udp(&run->port, error);
    return run->pusher.port ? 0 : -1;
}

static int push(struct run *run, const char *host)
{
    struct nc_error error;
    int signal_fd = nc_program_open_signals();
    run->pusher.spin_ns = run->settings->spin_ns;
    run->pusher.priority = (int)run->settings->priority;
    run->pusher.lead_ns = run->settings->txtime ? LEAD_NS : 0;
    if (open_port(run, host, &error) < 0 || set_schedule(run, &error) < 0)
        return pl_report(run->human, &error);
    pl_push_print_ready(run->human, &run->pusher);
    int status = pl_pusher_run(&run->pusher, signal_fd, &error);
    nc_program_close_signals(signal_fd);
    if (status < 0)
        return pl_report(run->human, &error);
    pl_push_print_end(run->human, &run->pusher);
    return NC_EXIT_OK;
}

/* Refuses options whose values come from the schedule or from the replayed capture. */
static int check_idle(const struct run *run, const struct pl_given *given)
{
    const struct settings *settings = run->settings;
    bool times = settings->departures, replay = settings->replay;
    const struct pl_idle rows[] = {
        {"pps", times, "with --departures"},
        {"schedule", times, "with --departures"},
        {"schedule", settings->pps == 0, "with --pps 0"},
        {"schedule", replay && !run->pps_given, "without --pps"},
        {"burst", settings->schedule != BURST, "without --schedule burst"},
        {"seed", settings->schedule != POISSON, "without --schedule poisson"},
        {"port", replay, "with --replay"},
        {"protocol", replay, "with --replay"},
        {"size", replay, "with --replay"},
        {"flows", replay, "with --replay"},
    };
    return pl_refuse_idle(given, rows, sizeof rows / sizeof *rows, run->human);
}

static int check(const struct run *run, const struct pl_given *given, int hosts)
{
    const struct settings *settings = run->settings;
    if (hosts != (settings->replay ? 0 : 1))
        return pl_fail(run->human, NC_EXIT_USAGE, "want the host of the sink, or --replay FILE; one of the two");
    if (!settings->replay != !settings->interface)
        return pl_fail(run->human, NC_EXIT_USAGE, "--replay and --interface belong together; give both or neither");
    if (settings->txtime && (settings->replay || settings->protocol || settings->pps == 0))
        return pl_fail(run->human, NC_EXIT_USAGE, "--txtime is for UDP at a rate; leave it out");
    if (!settings->replay && !settings->departures && !settings->packets && !settings->duration_ns)
        return pl_fail(run->human, NC_EXIT_USAGE, "give --packets or --duration; nothing else ends the packets");
    return check_idle(run, given);
}

int pl_cmd_push(int argc, char **argv)
{
    struct settings settings = {0};
    bool flags[OPTIONS_N];
    const struct pl_given given = {options, OPTIONS_N, flags};
    int first = nc_options_parse(options, OPTIONS_N, &usage, &settings, flags, argc, argv);
    struct run *run = calloc(1, sizeof *run);
    if (!run)
        return pl_fail(false, NC_EXIT_MISSING, "out of memory");
    run->settings = &settings;
    run->human = nc_program_is_human(settings.human, settings.json);
    run->pps_given = pl_is_given(&given, "pps");
    if (settings.parent_death)
        nc_program_end_with_parent();
    int status = check(run, &given, argc - first);
    if (status == NC_EXIT_OK)
        status = push(run, first < argc ? argv[first] : NULL);
    if (run->pusher.port)
        run->pusher.port->ops->close(run->pusher.port);
    pl_replay_frames_free(&run->frames);
    pl_departures_free(&run->departures);
    pl_unmap(&run->capture);
    free(run->pusher.sequences);
    free(run);
    return status;
}
