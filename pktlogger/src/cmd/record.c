/* pktlogger record: turns the record of a delay box into captures at its ports and into a table of all wire packets. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "command.h"
#include "record_file.h"
#include "record_output.h"

/* How old the events may be that the box still writes. It corrects the time of an arrival for its own late wake-up, and
 * may be held up. Only the order within the captures depends on this value. */
#define LAG_NS NC_NS_PER_S

enum { WAIT_MS = 2, LIVE_CHECK_NS = 50 * 1000 * 1000 };

struct settings {
    struct pl_record_names names;
    uint64_t duration_ns;
    bool human, json, parent_death;
};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    NC_SECTION("results"),
    NC_STRING("port-a", names.file[0], "FILE", "pcapng of the packets at port a, in both directions"),
    NC_STRING("port-b", names.file[1], "FILE", "pcapng of the packets at port b, in both directions"),
    NC_STRING("write", names.file[2], "FILE", "pcapng of both ports; dropped packets have a comment", .letter = 'w'),
    PL_OPTION_FOLDER(names.folder,
                     "folder for columns, one row a wire packet: times, fate, sequence numbers; it is made, or must be "
                     "empty"),
    NC_SECTION("running"),
    PL_OPTION_DURATION(duration_ns, "stop after this time; default: when the box ends"),
    PL_OPTIONS_HUMAN_JSON(human, json),
    PL_OPTION_PARENT_DEATH(parent_death),
};
/* clang-format on */
static const struct nc_usage usage = {
    .synopsis = "pktlogger record FILE [--port-a FILE] [--port-b FILE] [-w FILE] [-o DIR]",
    .purpose =
        "Turns the record of 'comet-delay run --record FILE' into captures and columns, while the box runs or later.",
    .epilog = "SIGINT or SIGTERM ends it in order. A box that still runs then skips packets when FILE is full.\n"
              "example: pktlogger record /dev/shm/box --port-a a.pcapng --port-b b.pcapng -o packets",
};

/* Reads the available records of both directions once. Returns the number of slots read. */
static uint64_t read_both(struct pl_record_file *file, struct pl_replay *replay)
{
    uint64_t least_ns[2], all = 0, now_ns = nc_now_ns();
    for (unsigned d = 0; d < 2; d++) {
        uint64_t n = pl_record_file_read(file, d, replay);
        least_ns[d] = replay->direction[d].seen_ns;
        if (n == 0 && file->live && least_ns[d] + LAG_NS < now_ns)
            least_ns[d] = now_ns - LAG_NS; /* an idle direction will deliver nothing older than this */
        all += n;
    }
    pl_replay_emit(replay, least_ns);
    return all;
}

/* Reads until the box has ended and everything is read, or until a signal or the deadline. Returns true if the box is
 * still running. */
static bool follow(struct pl_record_file *file, struct pl_replay *replay, int signals, uint64_t deadline_ns)
{
    uint64_t looked_ns = 0;
    for (;;) {
        bool gone = !file->live; /* checked before this read, so that the read gets everything that the box wrote */
        uint64_t n = read_both(file, replay), now_ns = nc_now_ns();
        struct pollfd wait = {signals, POLLIN, 0};
        bool stop = poll(&wait, 1, n || gone ? 0 : WAIT_MS) > 0 || now_ns >= deadline_ns;
        if (replay->no_memory || file->damaged || stop || (gone && n == 0))
            return file->live && pl_record_file_live(file);
        if (file->live && now_ns - looked_ns > LIVE_CHECK_NS) {
            pl_record_file_live(file);
            looked_ns = now_ns;
        }
    }
}

static json_t *direction_json(const struct pl_record_file *file, const struct pl_replay *replay, unsigned direction)
{
    const struct pl_replay_direction *d = &replay->direction[direction];
    json_t *dropped = json_object();
    for (int f = FATE_LOSS; f < FATE_N; f++)
        json_object_set_new(dropped, fate_name((enum fate)f), json_integer((json_int_t)d->dropped[f]));
    return json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I}", "packets", (json_int_t)d->packets, "sent",
                     (json_int_t)d->sent, "duplicated", (json_int_t)d->copies, "dropped", dropped, "skipped_packets",
                     (json_int_t)pl_record_file_skipped(file, direction), "gaps", (json_int_t)d->gaps, "damaged",
                     (json_int_t)d->damaged, "unmatched", (json_int_t)d->unmatched);
}

static void print_ready(bool human, const struct pl_record_file *file)
{
    if (human)
        printf("reading '%s': %s and %s%s\n", file->path, file->head->port[0], file->head->port[1],
               file->live ? "" : "; its box has ended");
    else
        nc_jsonl_event(stdout, "ready",
                       json_pack("{s:o, s:[o, o], s:b, s:{s:I, s:I}}", "file", nc_jsonl_text(file->path), "ports",
                                 nc_jsonl_text(file->head->port[0]), nc_jsonl_text(file->head->port[1]), "live",
                                 (int)file->live, "clock", "monotonic_ns", (json_int_t)file->head->monotonic_ns,
                                 "realtime_ns", (json_int_t)file->head->realtime_ns));
    fflush(stdout);
}

static void print_end(bool human, const struct pl_record_file *file, const struct pl_replay *replay, uint64_t held,
                      const char *box)
{
    if (!human) {
        nc_jsonl_event(stdout, "end",
                       json_pack("{s:o, s:o, s:I, s:s}", "ab", direction_json(file, replay, 0), "ba",
                                 direction_json(file, replay, 1), "held", (json_int_t)held, "box", box));
        return;
    }
    for (unsigned d = 0; d < 2; d++)
        printf("%s: %" PRIu64 " packets in, %" PRIu64 " out; not in the record: %" PRIu64 "\n", d ? "ba" : "ab",
               replay->direction[d].packets, replay->direction[d].sent, pl_record_file_skipped(file, d));
    printf("%" PRIu64 " still in the box; the box %s\n", held, box);
}

static int record_file(const struct settings *settings, struct pl_record_file *file, bool human)
{
    struct pl_record_output output;
    struct pl_replay replay;
    struct nc_error error;
    if (pl_record_output_open(&output, &settings->names, file->head, &error) < 0) {
        pl_record_output_abort(&output);
        return pl_report(human, &error);
    }
    struct pl_replay_sink sink = pl_record_output_sink(&output);
    pl_replay_init(&replay, &sink);
    int signals = nc_program_open_signals();
    print_ready(human, file);
    uint64_t deadline_ns = settings->duration_ns ? nc_now_ns() + settings->duration_ns : UINT64_MAX;
    bool running = follow(file, &replay, signals, deadline_ns);
    nc_program_close_signals(signals); /* from here on a signal ends the process */
    const uint64_t all[2] = {UINT64_MAX, UINT64_MAX};
    pl_replay_emit(&replay, all);
    const char *box = running ? "runs" : atomic_load(&file->head->ended) ? "ended" : "died";
    const uint64_t skipped[2] = {pl_record_file_skipped(file, 0), pl_record_file_skipped(file, 1)};
    uint64_t held = output.held;
    int status = NC_EXIT_OK;
    if (replay.no_memory || output.no_memory) {
        pl_record_output_abort(&output);
        status = pl_fail(human, NC_EXIT_FAILED, "out of memory; nothing was kept");
    } else if (pl_record_output_finish(&output, skipped, &error) < 0)
        status = pl_report(human, &error);
    else {
        if (strcmp(box, "died") == 0)
            nc_log("'%s': its box did not end in order; all that it had recorded was read", file->path);
        print_end(human, file, &replay, held, box);
        if (file->damaged)
            status = pl_fail(human, NC_EXIT_FAILED,
                             "'%.200s': damaged: its cursors contradict each other; all before was read", file->path);
    }
    pl_replay_free(&replay);
    return status;
}

int pl_cmd_record(int argc, char **argv)
{
    struct settings settings;
    struct pl_record_file file;
    struct nc_error error;
    int first = nc_options_parse(options, sizeof options / sizeof *options, &usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    const struct pl_record_names *names = &settings.names;
    if (argc - first != 1 || !(names->file[0] || names->file[1] || names->file[2] || names->folder))
        return pl_fail(
            human, NC_EXIT_USAGE,
            "want one record and a result: pktlogger record FILE [--port-a FILE] [--port-b FILE] [-w FILE] [-o DIR]");
    for (int i = 0; i < PL_RECORD_FILES; i++)
        for (int j = 0; j < i; j++)
            if (names->file[i] && names->file[j] && strcmp(names->file[i], names->file[j]) == 0)
                return pl_fail(human, NC_EXIT_USAGE, "'%.200s': given twice; give each result its own file",
                               names->file[i]);
    if (settings.parent_death)
        nc_program_end_with_parent();
    if (pl_record_file_open(&file, argv[first], &error) < 0)
        return pl_report(human, &error);
    int status = record_file(&settings, &file, human);
    pl_record_file_close(&file);
    return status;
}
