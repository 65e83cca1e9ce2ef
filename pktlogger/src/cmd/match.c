/* pktlogger match: finds strings and regular expressions in TCP streams, of captures or live at an interface. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "command.h"
#include "given.h"
#include "live_input.h"
#include "mapping.h"
#include "match_output.h"
#include "reader.h"
#include "spool.h"

struct settings {
    const char *rules, *interface, *filter;
    uint64_t duration_ns, packets, buffer_bytes;
    uint64_t stream_bytes, memory_bytes, connections;
    bool tunnels, human, json, parent_death;
};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    NC_STRING("rules", rules, "FILE", "file with one rule per line, as in: login string \"USER root\" nocase",
              .letter = 'r'),
    NC_STRING("interface", interface, "NAME[@NETNS]", "read live from this interface instead of files", .letter = 'i'),
    NC_STRING("filter", filter, "EXPR", "live: read only packets that match, in the language of pcap-filter(7)",
              .letter = 'f'),
    PL_OPTION_TUNNELS(tunnels),
    PL_OPTION_DURATION(duration_ns, "live: stop after this time"),
    NC_QUANTITY("packets", packets, NC_UNIT_COUNT, NULL, 0, 0, "live: stop after this many packets", .letter = 'c'),
    NC_QUANTITY("buffer", buffer_bytes, NC_UNIT_BYTES, "64MB", 1 << 20, 2047u << 20, "live: the kernel's ring",
                .letter = 'B'),
    NC_QUANTITY("stream-memory", stream_bytes, NC_UNIT_BYTES, "64MB", 64 << 10, UINT64_C(64) << 30,
                "memory for the bytes that a direction of a connection holds while earlier ones are missing"),
    NC_QUANTITY("memory", memory_bytes, NC_UNIT_BYTES, "512MB", 1 << 20, UINT64_C(1) << 40,
                "memory for all connections together, including the states of the pattern matcher"),
    NC_QUANTITY("connections", connections, NC_UNIT_COUNT, "65536", 16, 1 << 24,
                "connections followed at a time; a new one replaces the least recently used one"),
    PL_OPTIONS_HUMAN_JSON(human, json),
    PL_OPTION_PARENT_DEATH(parent_death),
};
/* clang-format on */
enum { OPTIONS_N = sizeof options / sizeof *options };
static const struct nc_usage usage = {
    .synopsis = "pktlogger match --rules FILE CAPTURE...\n       pktlogger match --rules FILE -i NAME[@NETNS]",
    .purpose = "Finds strings and regular expressions in TCP streams, put together from packets.",
    .epilog = "The syntax of rules and the fields of a hit are in FORMAT.md, section 8.",
};

/* A run of the command. */
struct run {
    const struct settings *settings;
    bool human;
    struct pl_rules rules;
    struct pl_patterns *patterns;
    struct pl_matcher *matcher;
    struct pl_match_input input;
    uint64_t frames;
};

static void on_hit(void *context, const struct pl_hit *hit)
{
    const struct run *run = context;
    pl_match_print_hit(stdout, run->human, hit);
}

/* Reads the frames of one capture. Frame numbers continue from file to file. */
static int read_frames(struct run *run, struct pl_reader *reader, const char *file, struct nc_error *error)
{
    struct pl_frame frame;
    enum pl_next next = PL_END;
    while (!ferror(stdout) && (next = pl_reader_next(reader, &frame)) == PL_FRAME) {
        struct pl_matcher_frame given = {.data = frame.data,
                                         .captured = frame.captured,
                                         .wire = frame.wire,
                                         .number = ++run->frames,
                                         .t_ns = frame.t_ns,
                                         .tunnels = run->settings->tunnels};
        if (frame.link == PL_LINK_UNKNOWN) {
            run->input.unknown_links++;
            continue;
        }
        given.link = (enum nc_link)frame.link;
        if (pl_matcher_frame(run->matcher, &given) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "'%.200s': out of memory, or the pattern matcher failed", file);
    }
    if (next == PL_CORRUPT)
        return nc_fail(error, NC_EXIT_FAILED, "'%.200s': damaged at %s; what came before was read", file, reader->why);
    pl_reader_report(reader, file);
    if (reader->frames && reader->unknown_links == reader->frames)
        return nc_fail(error, NC_EXIT_FAILED, "'%.200s': none of its %llu packets could be decoded", file,
                       (unsigned long long)reader->frames);
    run->input.truncated = run->input.truncated || reader->truncated;
    return 0;
}

static int read_file(struct run *run, const char *file, struct nc_error *error)
{
    struct pl_reader reader;
    char copy[PL_SPOOL_NAME];
    const char *opened = pl_spooled(file, copy, error);
    if (!opened)
        return -1;
    int status = pl_reader_open_file(&reader, opened, error);
    if (status == 0)
        status = read_frames(run, &reader, file, error);
    pl_reader_close(&reader);
    return status;
}

static bool on_live_packet(void *context, const struct pl_live_packet *packet)
{
    struct run *run = context;
    struct pl_matcher_frame frame = {packet->link,  packet->data, packet->captured,      packet->wire,
                                     ++run->frames, packet->t_ns, run->settings->tunnels};
    return pl_matcher_frame(run->matcher, &frame) == 0 && !ferror(stdout);
}

static void on_idle(void *context)
{
    (void)context;
    fflush(stdout);
}

static int read_live(struct run *run, struct nc_error *error)
{
    const struct settings *settings = run->settings;
    struct pl_live_settings wanted = {settings->interface, settings->filter, settings->buffer_bytes};
    struct pl_live_limits limits = {settings->duration_ns, settings->packets};
    struct pl_live *live = pl_live_open(&wanted, error);
    if (!live)
        return -1;
    if (!run->human)
        nc_jsonl_event(stdout, "ready",
                       json_pack("{s:s, s:I, s:s}", "interface", settings->interface, "rules", (json_int_t)run->rules.n,
                                 "engine", pl_patterns_engine()));
    else
        printf("reading %s for %zu rules\n", settings->interface, run->rules.n);
    fflush(stdout);
    int status = pl_live_run(live, &limits, on_live_packet, on_idle, run, error);
    if (ferror(stdout)) /* pl_finish_stdout reports it */
        status = 0;
    run->input.dropped = pl_live_drops(live);
    pl_live_close(live);
    return status;
}

static int load_rules(struct run *run, struct nc_error *error)
{
    struct pl_mapping mapping;
    const char *file = run->settings->rules;
    if (pl_map(file, &mapping, error) < 0)
        return -1;
    int status = pl_rules_read(&run->rules, file, mapping.data, mapping.len, error);
    pl_unmap(&mapping);
    if (status == 0)
        run->patterns = pl_patterns_compile(&run->rules, file, error);
    return run->patterns ? 0 : -1;
}

static int open_matcher(struct run *run, struct nc_error *error)
{
    const struct settings *settings = run->settings;
    struct pl_connections_limits limits = {settings->stream_bytes, settings->memory_bytes,
                                           (uint32_t)settings->connections};
    uint64_t seed;
    if (load_rules(run, error) < 0)
        return -1;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return nc_fail(error, NC_EXIT_MISSING, "no random numbers from the kernel");
    run->matcher = pl_matcher_new(&run->rules, run->patterns, &limits, seed, on_hit, run);
    return run->matcher ? 0 : nc_fail(error, NC_EXIT_MISSING, "out of memory");
}

static int match(struct run *run, char **files, int n)
{
    struct nc_error error;
    if (open_matcher(run, &error) < 0)
        return pl_report(run->human, &error);
    int status = run->settings->interface ? read_live(run, &error) : 0;
    for (int i = 0; i < n && status == 0 && !ferror(stdout); i++)
        status = read_file(run, files[i], &error);
    pl_matcher_finish(run->matcher);
    pl_match_print_end(run->human, run->matcher, &run->input);
    return status < 0 ? pl_report(run->human, &error) : NC_EXIT_OK;
}

static int check(const struct settings *settings, const struct pl_given *given, int files, bool human)
{
    static const char why[] = "without --interface";
    const struct pl_idle live[] = {
        {"filter", true, why}, {"duration", true, why}, {"packets", true, why}, {"buffer", true, why}};
    if (!settings->rules)
        return pl_fail(human, NC_EXIT_USAGE, "--rules is missing: name the file that says what to look for");
    if (!settings->interface == !files)
        return pl_fail(human, NC_EXIT_USAGE, "want capture files or --interface, one of the two");
    return settings->interface ? NC_EXIT_OK : pl_refuse_idle(given, live, sizeof live / sizeof *live, human);
}

int pl_cmd_match(int argc, char **argv)
{
    struct settings settings = {0};
    static char buffer[1 << 18];
    bool flags[OPTIONS_N];
    const struct pl_given given = {options, OPTIONS_N, flags};
    int first = nc_options_parse(options, OPTIONS_N, &usage, &settings, flags, argc, argv);
    struct run run = {.settings = &settings, .human = nc_program_is_human(settings.human, settings.json)};
    if (settings.parent_death)
        nc_program_end_with_parent();
    int status = check(&settings, &given, argc - first, run.human);
    if (status != NC_EXIT_OK)
        return status;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    status = match(&run, argv + first, argc - first);
    pl_matcher_free(run.matcher);
    pl_patterns_free(run.patterns);
    pl_rules_free(&run.rules);
    return status;
}
