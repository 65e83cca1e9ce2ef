/* pktlogger capture: its options, its capture points and its events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "capture.h"
#include "command.h"
#include "file_set.h"
#include "given.h"

struct settings {
    struct nc_strings interfaces, files, snaps;
    const char *filter, *comment;
    uint64_t snap_bytes, buffer_bytes, ring_bytes, duration_ns, packets;
    struct pl_rotation rotation;
    bool no_data, comments, one_thread, uncached, human, json, parent_death;
};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    NC_SECTION("what to capture"),
    NC_LIST("interface", interfaces, "NAME[@NETNS]", "capture point; may be repeated, each with its own --write",
            .letter = 'i'),
    NC_LIST("write", files, "FILE", "pcapng file; the first -w belongs to the first -i, and so on", .letter = 'w'),
    NC_STRING("filter", filter, "EXPR", "only packets that match, in the language of pcap-filter(7)", .letter = 'f'),
    NC_QUANTITY("snap", snap_bytes, NC_UNIT_BYTES, "128B", 64, 262144,
                "bytes kept of each packet; 128 holds all headers", .letter = 's'),
    NC_LIST("snap-of", snaps, "EXPR=SIZE",
            "other snap length for packets that match, in the language of pcap-filter(7); the first match counts"),
    NC_FLAG("no-data", no_data, "keep all headers of TCP packets and no data; --snap is for other packets"),
    NC_STRING("comment", comment, "TEXT", "comment written into every file"),
    NC_FLAG("comments", comments, "each line of standard input is a comment of the next packet at every point"),
    NC_SECTION("limits"),
    PL_OPTION_DURATION(duration_ns, "stop after this time"),
    NC_QUANTITY("packets", packets, NC_UNIT_COUNT, NULL, 0, 0, "stop after this many packets of all points together",
                .letter = 'c'),
    NC_QUANTITY("buffer", buffer_bytes, NC_UNIT_BYTES, "64MB", 1 << 20, UINT64_C(2047) << 20,
                "kernel ring of each point", .letter = 'B'),
    NC_QUANTITY("ring", ring_bytes, NC_UNIT_BYTES, "64MB", 4 << 20, UINT64_C(1) << 36,
                "ring that bridges a stalled disk, rounded up to 2^n"),
    NC_FLAG("one-thread", one_thread,
            "no --ring: the capturing thread also writes; for disks that never stall, or one processor"),
    NC_FLAG("uncached", uncached, "wait for the disk and keep nothing of the files in memory"),
    NC_SECTION("files"),
    NC_QUANTITY("rotate-size", rotation.bytes, NC_UNIT_BYTES, NULL, 64 << 10, UINT64_C(1) << 50,
                "begin a new file at this size, before compression"),
    NC_QUANTITY("rotate-time", rotation.interval_ns, NC_UNIT_DURATION, NULL, 10 * NC_NS_PER_MS, 1000000 * NC_NS_PER_S,
                "begin a new file every time this has passed since the start"),
    NC_QUANTITY("files", rotation.files, NC_UNIT_COUNT, NULL, 1, PL_FILES_MAX,
                "with rotation: keep only this many files of each point, the newest"),
    NC_SECTION("output"),
    PL_OPTIONS_HUMAN_JSON(human, json),
    PL_OPTION_PARENT_DEATH(parent_death),
};
/* clang-format on */
enum { OPTIONS_N = sizeof options / sizeof *options };
static const struct nc_usage usage = {
    .synopsis = "pktlogger capture -i NAME[@NETNS] -w FILE [-i … -w …] [options]",
    .purpose = "Captures packets at several interfaces of several namespaces into nanosecond pcapng files.",
    .epilog = "NETNS is a process id, an absolute path, or a name of 'ip netns'. SIGINT or SIGTERM ends the capture in "
              "order.\n"
              "example: pktlogger capture -i eth0@snd -w snd.pcapng -i eth0@rcv -w rcv.pcapng",
};

static json_t *clock_json(void)
{
    struct nc_clock_pair pair = nc_clock_pair_read();
    return json_pack("{s:I, s:I}", "monotonic_ns", (json_int_t)pair.monotonic_ns, "realtime_ns",
                     (json_int_t)pair.realtime_ns);
}

static void print_ready(bool human, const struct pl_point *points, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        if (human)
            printf("capturing on %s%s%s into %s\n", points[i].interface, points[i].netns ? "@" : "",
                   points[i].netns ? points[i].netns : "", points[i].output.path);
        json_array_append_new(list, json_pack("{s:o, s:s, s:s?}", "file", nc_jsonl_text(points[i].output.path),
                                              "interface", points[i].interface, "netns", points[i].netns));
    }
    if (!human)
        nc_jsonl_event(stdout, "ready", json_pack("{s:O, s:o}", "points", list, "clock", clock_json()));
    json_decref(list);
    fflush(stdout);
}

/* Finishes the files of a point and returns their description; NULL when there are none. */
static json_t *finish_point(const struct pl_capture *capture, struct pl_point *point, bool human, bool *failed)
{
    struct pl_output *output = &point->output;
    struct pl_drop_counts drops = pl_point_drops(point);
    int64_t start_ns, end_ns;
    pl_capture_span(capture, &start_ns, &end_ns);
    *failed = pl_output_finish(output, end_ns, &drops) < 0;
    if (*failed && !output->writer.kept && !output->packets)
        return NULL;
    if (human)
        printf("%s: %llu packets, %llu bytes; dropped: kernel %llu, interface %llu, ring %llu%s%s\n", output->path,
               (unsigned long long)output->packets, (unsigned long long)output->bytes, (unsigned long long)drops.kernel,
               (unsigned long long)drops.interface, (unsigned long long)drops.ring,
               point->lost[0] ? "; ended early: " : "", point->lost);
    return json_pack("{s:o, s:s, s:s?, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "file", nc_jsonl_text(output->path),
                     "interface", point->interface, "netns", point->netns, "files",
                     (json_int_t)(output->number ? output->number : 1), "packets", (json_int_t)output->packets, "bytes",
                     (json_int_t)output->bytes, "dropped_kernel", (json_int_t)drops.kernel, "dropped_interface",
                     (json_int_t)drops.interface, "dropped_ring", (json_int_t)drops.ring, "ended_early",
                     point->lost[0] ? point->lost : NULL);
}

/* Finishes every file, also when another one fails. */
static int finish(const struct pl_capture *capture, struct pl_point *points, size_t n, bool human)
{
    struct nc_error error = {.status = NC_EXIT_OK};
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        bool failed;
        json_t *point = finish_point(capture, &points[i], human, &failed);
        if (point)
            json_array_append_new(list, point);
        const struct pl_writer *writer = &points[i].output.writer;
        if (failed && writer->kept)
            nc_fail(&error, NC_EXIT_FAILED, "'%.200s': cannot write it: %s; it holds the %llu packets before that",
                    writer->path, strerror(writer->error), (unsigned long long)writer->packets);
        else if (failed)
            nc_fail(&error, NC_EXIT_FAILED, "'%.200s': cannot write it: %s; nothing of it was kept", writer->path,
                    strerror(writer->error));
        if (points[i].lost[0])
            nc_fail(&error, NC_EXIT_FAILED, "%s: the capture ended early: %.150s; '%.200s' holds what came before",
                    points[i].interface, points[i].lost, writer->path);
    }
    if (!human)
        nc_jsonl_event(stdout, "end", json_pack("{s:O, s:o}", "points", list, "clock", clock_json()));
    json_decref(list);
    return error.status ? pl_report(human, &error) : NC_EXIT_OK;
}

static int open_points(const struct settings *settings, struct pl_point *points, bool human)
{
    struct pl_snap_rule rules[PL_SNAP_RULES_MAX];
    struct nc_error error;
    for (size_t i = 0; i < settings->snaps.n; i++)
        if (pl_snap_rule_parse(settings->snaps.at[i], &rules[i], &error) < 0)
            return pl_report(human, &error);
    struct pl_point_settings common = {
        .filter = settings->filter,
        .comment = settings->comment,
        .snap = {(uint32_t)settings->snap_bytes, settings->no_data, rules, settings->snaps.n},
        .buffer_bytes = settings->buffer_bytes,
        .rotation = settings->rotation,
        .uncached = settings->uncached,
    };
    for (size_t i = 0; i < settings->interfaces.n; i++)
        if (pl_point_open(&points[i], settings->interfaces.at[i], settings->files.at[i], &common, &error) < 0)
            return pl_report(human, &error);
    return NC_EXIT_OK;
}

static int check(const struct settings *settings, const struct pl_given *given, bool human)
{
    const struct pl_idle idle[] = {
        {"files", !pl_rotates(&settings->rotation), "without --rotate-size or --rotate-time"},
        {"ring", settings->one_thread, "with --one-thread"},
    };
    if (settings->interfaces.n == 0)
        return pl_fail(human, NC_EXIT_USAGE, "--interface is missing: name at least one, as in -i eth0 -w eth0.pcapng");
    if (settings->interfaces.n != settings->files.n)
        return pl_fail(human, NC_EXIT_USAGE, "--interface is given %zu times and --write %zu times: give one file each",
                       settings->interfaces.n, settings->files.n);
    for (size_t i = 0; i < settings->files.n; i++) {
        const char *ending = pl_packed_ending(settings->files.at[i]);
        if (*ending && !pl_is_zstd_name(settings->files.at[i]))
            return pl_fail(human, NC_EXIT_USAGE, "--write '%s': %s is not written; name it .zst, or compress it later",
                           settings->files.at[i], ending);
    }
    for (size_t i = 0; i < settings->files.n; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(settings->files.at[i], settings->files.at[j]) == 0)
                return pl_fail(human, NC_EXIT_USAGE, "--write '%s': given twice; give each interface its own file",
                               settings->files.at[i]);
    return pl_refuse_idle(given, idle, sizeof idle / sizeof *idle, human);
}

static int capture_points(const struct settings *settings, struct pl_point *points, bool human)
{
    struct nc_error error;
    size_t n = settings->interfaces.n;
    struct pl_capture *capture = pl_capture_new(points, n, settings->one_thread ? 0 : settings->ring_bytes, &error);
    if (!capture)
        return pl_report(human, &error);
    int status = open_points(settings, points, human);
    if (status == NC_EXIT_OK) {
        struct pl_capture_limits limits = {settings->duration_ns, settings->packets};
        print_ready(human, points, n);
        pl_capture_comments(capture, settings->comments ? STDIN_FILENO : -1);
        pl_capture_run(capture, &limits); /* a failed write is reported when the file is finished */
        status = finish(capture, points, n, human);
    }
    pl_capture_free(capture);
    return status;
}

int pl_cmd_capture(int argc, char **argv)
{
    struct settings settings;
    struct pl_point points[PL_POINTS_MAX];
    bool flags[OPTIONS_N];
    const struct pl_given given = {options, OPTIONS_N, flags};
    int first = nc_options_parse(options, OPTIONS_N, &usage, &settings, flags, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    if (settings.parent_death)
        nc_program_end_with_parent();
    if (first < argc)
        return pl_fail(human, NC_EXIT_USAGE, "'%s': not expected; filters go into --filter", argv[first]);
    int status = check(&settings, &given, human);
    if (status != NC_EXIT_OK)
        return status;
    for (size_t i = 0; i < PL_POINTS_MAX; i++)
        points[i] = (struct pl_point){.netns_fd = -1, .output.writer.fd = -1};
    status = capture_points(&settings, points, human);
    for (size_t i = 0; i < settings.interfaces.n; i++)
        pl_point_close(&points[i]);
    return status;
}

_Static_assert(NC_STRINGS_MAX <= PL_POINTS_MAX, "every --interface has a place");
_Static_assert(NC_STRINGS_MAX <= PL_SNAP_RULES_MAX, "every --snap-of has a place");
