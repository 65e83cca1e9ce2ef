/* pktlogger analyse and export: they join two captures and write tables and a summary, graphs, or CSV. flow_export.c
 * exports a single capture. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "analyse.h"
#include "analyse_lists.h"
#include "analyse_many.h"
#include "analyse_text.h"
#include "apart.h"
#include "command.h"
#include "csv.h"
#include "flow_export.h"
#include "folder.h"
#include "given.h"
#include "json.h"
#include "limits.h"
#include "not_known.h"
#include "spool.h"
#include "stream.h"
#include "summary.h"
#include "tables.h"
#include "xplot.h"

struct settings {
    const char *sender, *receiver, *box, *line, *interface, *output, *flow_folder, *scales, *ruled_out, *samples,
        *clock, *outages;
    uint64_t burst_gap_ns, late_from_ns, opening_bytes, from_ns, to_ns, flows_max;
    bool tunnels, xplot, csv, human, json, always_data, sender_accepted, from_gateway, to_gateway;
};

#define LONGEST_NS (UINT64_C(1000000) * 1000000000)
#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
#define FILES_AND_FOLDER \
    NC_STRING("sender", sender, "FILE", "capture at the machine that sends the data"), \
    NC_STRING("receiver", receiver, "FILE", "capture at the machine that receives it"), \
    NC_STRING("box", box, "DIR", \
              "record of the delay box between them ('pktlogger record -o DIR'): the fate of each packet and its " \
              "cause"), \
    NC_STRING("line", line, "FILE", \
              "rate of the line over time, in both directions (FORMAT.md section 6, \"line\"); default: from the " \
              "record of --box"), \
    NC_STRING("scales", scales, "TIME,...", "lengths of the intervals of the table rates, up to four, as in 1ms,100ms", \
              .default_text = "100ms"), \
    NC_STRING("ruled-out", ruled_out, "CAUSE,...", \
              "causes of losses that the path cannot have, as in aqm,random_before; default: none"), \
    NC_STRING("samples", samples, "FILE", \
              "samples of the senders' sockets (FORMAT.md, Samples), which distinguish an idle program from a full " \
              "send buffer"), \
    NC_STRING("outages", outages, "BEGIN-END,...", \
              "when the path had outages, in nanoseconds of the captures' clock; -END if the beginning is not known; " \
              "default: not known, and an outage lasts while packets are lost"), \
    NC_QUANTITY("late-from", late_from_ns, NC_UNIT_DURATION, "1ms", 1000, LONGEST_NS, \
                "with --box: the least lateness that counts; choose more than the box's --granularity and --poll " \
                "cause"), \
    NC_STRING("clock", clock, "CLOCK", \
              "relation of the receiver's clock to the sender's: same, estimate, or OFFSET,PPM (how far it is ahead, " \
              "and its drift), as in -300ms,20", .default_text = "estimate"), \
    NC_FLAG("always-data", always_data, \
            "the senders' programs always have data to send, so that the application is never the limit"), \
    NC_FLAG("sender-accepted", sender_accepted, \
            "the sender's machine accepted the connections; needed only if every packet has the same time in both " \
            "captures"), \
    NC_FLAG("from-gateway", from_gateway, "the sender's machine is a gateway: it passes on data of other connections"), \
    NC_FLAG("to-gateway", to_gateway, \
            "the receiver's machine is a gateway: it passes the data on by other connections"), \
    NC_QUANTITY("opening", opening_bytes, NC_UNIT_BYTES, "32KB", PL_OPENING_BYTES, UINT64_C(1) << 40, \
                "with --always-data: octets that a program may send first while it waits for answers, as rttcp does " \
                "with --window (its opening_bytes)"), \
    NC_STRING("interface", interface, "IF[,IF]", \
              "use only packets of this interface (name or number in the file), as in eth0; after a comma: another one " \
              "for the receiver's capture"), \
        PL_OPTION_TUNNELS(tunnels), PL_OPTION_OUTPUT(output)

static const struct nc_option analyse_options[] = {
    FILES_AND_FOLDER,
    NC_QUANTITY("burst-gap", burst_gap_ns, NC_UNIT_DURATION, "100us", 0, 1000000000,
                "packets that the sender sends with gaps up to this are a burst"),
    PL_OPTIONS_HUMAN_JSON(human, json),
};
/* clang-format on */
static const struct nc_usage analyse_usage = {
    .synopsis = "pktlogger analyse [--sender FILE] [--receiver FILE] [--box DIR] [--line FILE] [--samples FILE] "
                "[--clock CLOCK] [--always-data] "
                "[--opening SIZE] [--tunnels] [--scales TIME,...] [--ruled-out CAUSE,...] [--outages BEGIN-END,...] "
                "[--burst-gap TIME] "
                "[-o DIR]",
    .purpose =
        "Joins the captures of both ends, or takes one end's as far as it goes: every transmission with its fate "
        "and kind, every stop with its cause.",
    .epilog = "Times are the sender's; the receiver's clock is compared with it. A box's record must use the sender's "
              "clock. Tables and rules are in FORMAT.md and pktlogger(1).",
};

/* clang-format off */
static const struct nc_option export_options[] = {
    FILES_AND_FOLDER,
    NC_FLAG("xplot", xplot, "a time-sequence graph for each flow, N.xpl"),
    NC_FLAG("csv", csv,
            "the tables of analyse as flows.csv, segments.csv, acks.csv, events.csv, limits.csv, losses.csv, "
            "rates.csv"),
    NC_QUANTITY("from", from_ns, NC_UNIT_DURATION, NULL, 0, LONGEST_NS,
                "from this time on, since the flow's first data"),
    NC_QUANTITY("to", to_ns, NC_UNIT_DURATION, NULL, 0, LONGEST_NS, "up to this time; default: all"),
    NC_STRING("pcap-per-flow", flow_folder, "DIR",
              "divide the capture FILE: a pcapng for each TCP connection in this folder; it is made, or must be empty"),
    NC_QUANTITY("max-flows", flows_max, NC_UNIT_COUNT, "10000", 1, 1000000,
                "with --pcap-per-flow: a capture with more connections is refused"),
    PL_OPTIONS_HUMAN_JSON(human, json),
};
/* clang-format on */
enum {
    ANALYSE_OPTIONS_N = sizeof analyse_options / sizeof *analyse_options,
    EXPORT_OPTIONS_N = sizeof export_options / sizeof *export_options
};
_Static_assert(ANALYSE_OPTIONS_N < EXPORT_OPTIONS_N, "start has room for the flags of either");
static const struct nc_usage export_usage = {
    .synopsis = "pktlogger export {--xplot | --csv} [--from TIME] [--to TIME] --sender FILE --receiver FILE [--box "
                "DIR] -o DIR\n"
                "pktlogger export --pcap-per-flow DIR [--max-flows N] [--tunnels] FILE",
    .purpose = "Writes the joined captures as graphs or tables for other programs, or one capture as a file a flow.",
};

/* Which exports go where. */
struct export {
    int dir_fd;
    bool xplot, csv;
    struct pl_time_range range;
};

/* Draws every transfer. Returns 0, or -1 with a reason. */
static int draw(const struct export *export, const struct pl_analysis *analysis, const struct pl_tables *tables,
                struct nc_error *error)
{
    for (uint32_t i = 0; i < analysis->n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%u.xpl", i);
        FILE *file = pl_stream_create(export->dir_fd, name);
        if (file)
            pl_xplot_write(file, &analysis->transfers[i], tables, &export->range);
        if (!file || pl_stream_close(file) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "%s: %s", name, strerror(errno));
    }
    return 0;
}

static int write_csv(const struct export *export, const struct pl_analysis *analysis, const struct pl_tables *tables,
                     struct nc_error *error)
{
    json_t *summary = pl_summary(analysis);
    int result = pl_csv_write(export->dir_fd, analysis, tables, summary, &export->range, error);
    json_decref(summary);
    return result;
}

/* Writes tables and a summary into the folder of dir_fd, and the exports into the folder of `export` if that is
 * given. */
static int write_results(struct pl_analysis *analysis, int dir_fd, const struct export *export, struct nc_error *error)
{
    struct pl_tables tables;
    int result = pl_tables_create(&tables, dir_fd, pl_analysis_count(analysis, PL_SENDER_ALONE), analysis->box);
    if (result < 0)
        nc_fail(error, NC_EXIT_FAILED, "%s", strerror(errno));
    else
        result = pl_analysis_run(analysis, &tables, error) == PL_OK ? 0 : -1;
    if (result == 0) {
        if (pl_tables_close(&tables) < 0)
            result = nc_fail(error, NC_EXIT_FAILED, "%s", strerror(errno));
        else if (!export && pl_json_write(dir_fd, "summary.json", pl_summary(analysis)) < 0)
            result = nc_fail(error, NC_EXIT_FAILED, "summary.json: %s", strerror(errno));
        if (result == 0 && export && export->xplot)
            result = draw(export, analysis, &tables, error);
        if (result == 0 && export && export->csv)
            result = write_csv(export, analysis, &tables, error);
    }
    pl_tables_free(&tables);
    return result;
}

/* Exports from tables in a temporary folder, which is removed afterwards. */
static int write_export(struct pl_analysis *analysis, const struct pl_folder *folder, const struct settings *settings,
                        struct nc_error *error)
{
    static const char name[] = "tables";
    int fd = mkdirat(folder->fd, name, 0777) == 0 ? openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return nc_fail(error, NC_EXIT_FAILED, "%s", strerror(errno));
    struct export export = {
        folder->fd, settings->xplot, settings->csv, {(int64_t)settings->from_ns, (int64_t)settings->to_ns}};
    int result = write_results(analysis, fd, &export, error);
    close(fd);
    pl_folder_remove(folder, name);
    return result;
}

/* Prints the verdict on the largest connection first; for many connections, then what they share. */
static void print_text(const struct pl_analysis *analysis)
{
    if (analysis->n <= PL_MANY)
        pl_analyse_print_verdict(&analysis->transfers[pl_analyse_main(analysis)]);
    else
        pl_analyse_print_many(analysis);
    pl_analyse_print_ends(analysis);
    if (analysis->ends == PL_BOTH_ENDS)
        pl_clock_print(&analysis->clock, analysis->surveys[PL_SENDER].index.counts.first_ns);
    for (uint32_t i = 0; analysis->n <= PL_MANY && i < analysis->n; i++)
        pl_analyse_print(&analysis->transfers[i]);
    if (analysis->ends == PL_BOTH_ENDS)
        pl_analyse_print_left_out(analysis);
}

enum { MOSTLY = 10 }; /* the other direction is mentioned if it carried this many times as much */

/* Reports that the captures were, or may have been, given in the wrong order. */
static void say_swapped(const struct settings *settings, const struct pl_analysis *analysis, bool human)
{
    char text[1024] = "";
    const char *first = settings->sender ? settings->sender : settings->receiver;
    if (analysis->swapped && analysis->ends != PL_BOTH_ENDS)
        snprintf(text, sizeof text,
                 "'%s' was taken at the %s of the data, by its handshake: there the near end answers at once, and the "
                 "other one a round trip later. So it is analysed as --%s.",
                 first, pl_ends_name(analysis->ends), pl_ends_name(analysis->ends));
    else if (analysis->swapped)
        snprintf(text, sizeof text,
                 "No data leave the machine of '%s', and some come to it: the captures were given the wrong way round. "
                 "They are analysed as --sender '%s' --receiver '%s'.",
                 settings->sender, settings->receiver, settings->sender);
    else if (analysis->bytes[1] / MOSTLY > analysis->bytes[0])
        snprintf(text, sizeof text,
                 "%" PRIu64 " of %" PRIu64 " bytes go to the machine of '%s'; --sender '%s' --receiver '%s' analyses "
                 "these.",
                 analysis->bytes[1], analysis->bytes[0] + analysis->bytes[1], settings->sender, settings->receiver,
                 settings->sender);
    if (human && *text)
        printf("%s\n", text);
    else if (*text)
        nc_log("%s", text);
}

static void print_end(const struct settings *settings, const struct pl_analysis *analysis, bool human)
{
    say_swapped(settings, analysis, human);
    if (human) {
        print_text(analysis);
        return;
    }
    nc_jsonl_event(stdout, "end",
                   json_pack("{s:o, s:s, s:I, s:{s:I, s:I}}", "output", nc_jsonl_text(settings->output), "ends",
                             pl_ends_name(analysis->ends), "flows", (json_int_t)analysis->n, "unmatched_flows",
                             "sender", (json_int_t)analysis->unmatched[PL_SENDER], "receiver",
                             (json_int_t)analysis->unmatched[PL_RECEIVER]));
}

static int report_apart(const struct settings *settings, const struct pl_analysis *analysis, bool human)
{
    const char *const names[PL_END_N] = {settings->sender, settings->receiver};
    char why[600];
    if (analysis->ends != PL_BOTH_ENDS) {
        int end = analysis->ends == PL_SENDER_ALONE ? PL_SENDER : PL_RECEIVER;
        pl_apart_say_empty(&analysis->surveys[end].index, names[end], why, sizeof why);
        return pl_fail(human, NC_EXIT_FAILED, "%s", why);
    }
    pl_apart_say(analysis, names, why, sizeof why);
    return pl_fail(human, NC_EXIT_FAILED, "'%s' and '%s' have no connection in common: %s", settings->sender,
                   settings->receiver, why);
}

static int analyse(const struct settings *settings, struct pl_analysis *analysis, bool human)
{
    struct pl_folder folder;
    struct nc_error error;
    if (analysis->n == 0)
        return report_apart(settings, analysis, human);
    if ((settings->output ? pl_folder_begin(&folder, settings->output, &error)
                          : pl_folder_begin_unkept(&folder, &error)) < 0)
        return pl_report(human, &error);
    int result = settings->xplot || settings->csv ? write_export(analysis, &folder, settings, &error)
                                                  : write_results(analysis, folder.fd, NULL, &error);
    if (result < 0 && analysis->reversed) {
        pl_folder_abort(&folder);
        return pl_fail(human, NC_EXIT_USAGE,
                       "packets arrive before they are sent, in both directions: the captures are the wrong way round; "
                       "give --sender '%s' --receiver '%s'",
                       settings->receiver, settings->sender);
    }
    if (result < 0) {
        pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", folder.path, error.text);
        pl_folder_abort(&folder);
        return NC_EXIT_FAILED;
    }
    if (!settings->output)
        pl_folder_abort(&folder);
    else if (pl_folder_commit(&folder, &error) < 0)
        return pl_report(human, &error);
    print_end(settings, analysis, human);
    return NC_EXIT_OK;
}

/* Reads "eth0" or "eth0,eth1" into `text`, which must outlive the result. Returns 0, or -1 with a reason. */
static int choose_interfaces(const char *given, struct pl_source captures[PL_END_N], char *text, size_t size,
                             struct nc_error *error)
{
    if (!given)
        return 0;
    int n = snprintf(text, size, "%s", given);
    char *comma = strchr(text, ',');
    captures[PL_SENDER].interface = captures[PL_RECEIVER].interface = text;
    if (comma) {
        *comma = 0;
        captures[PL_RECEIVER].interface = comma + 1;
    }
    if (n < 0 || (size_t)n >= size || !*text || !*captures[PL_RECEIVER].interface)
        return nc_fail(error, NC_EXIT_USAGE, "--interface '%.60s': want a name or number, or two with a comma between",
                       given);
    return 0;
}

static int run_joined(const struct settings *settings, const struct pl_box *box, const struct pl_lists *lists,
                      bool human)
{
    struct pl_analysis analysis;
    struct nc_error error;
    char copies[PL_END_N][PL_SPOOL_NAME];
    const char *const given[PL_END_N] = {settings->sender, settings->receiver};
    struct pl_source captures[PL_END_N] = {{.tunnels = settings->tunnels}, {.tunnels = settings->tunnels}};
    char interfaces[2 * PL_INTERFACE_NAME];
    if (choose_interfaces(settings->interface, captures, interfaces, sizeof interfaces, &error) < 0)
        return pl_report(human, &error);
    captures[PL_SENDER].accepted = settings->sender_accepted;
    for (int i = 0; i < PL_END_N; i++)
        if (given[i] && !(captures[i].path = pl_spooled(given[i], copies[i], &error)))
            return pl_report(human, &error);
    int end, status;
    pl_keep_freed_memory();
    enum pl_status surveyed = pl_analysis_survey(&analysis, captures, box, &lists->clock, &end, &error);
    if (surveyed == PL_NOT_A_CAPTURE)
        status = pl_report(human, &error);
    else if (surveyed != PL_OK)
        status = pl_fail(human, error.status, "'%s': %s", captures[end].path, error.text);
    else {
        for (end = 0; end < PL_END_N; end++)
            if (pl_has_end(&analysis, end))
                pl_index_report(&analysis.surveys[end].index, analysis.captures[end].path);
        analysis.pace = lists->pace;
        analysis.ruled_out = lists->ruled_out;
        analysis.outages = (struct pl_outages){.down_ns = lists->down_ns, .up_ns = lists->up_ns, .n = lists->outage_n};
        analysis.samples = settings->samples ? &lists->samples : NULL;
        analysis.lines = settings->line ? &lists->lines : NULL;
        analysis.from_gateway = settings->from_gateway;
        analysis.to_gateway = settings->to_gateway;
        analysis.always_data = settings->always_data;
        analysis.opening_bytes = settings->opening_bytes;
        analysis.late_from_ns = (int64_t)settings->late_from_ns;
        status = analyse(settings, &analysis, human);
    }
    pl_analysis_free(&analysis);
    return status;
}

static int run(const struct settings *settings, bool human)
{
    struct pl_box box = {.flow_n = 0};
    struct nc_error error;
    int status = NC_EXIT_OK;
    struct pl_lists lists = {.pace.burst_gap_ns = (int64_t)settings->burst_gap_ns};
    if (pl_lists_read(&lists, settings->scales, settings->ruled_out, settings->outages, &error) < 0 ||
        pl_clock_parse(&lists.clock, settings->clock, &error) < 0)
        return pl_report(human, &error);
    if (settings->box && pl_box_open(&box, settings->box, &error) < 0)
        status = pl_fail(human, error.status, "--box %s", error.text);
    else if (settings->samples && pl_send_samples_read(&lists.samples, settings->samples, &error) < 0)
        status = pl_fail(human, error.status, "--samples %s", error.text);
    else if (settings->line && pl_lines_read(&lists.lines, settings->line, &error) < 0)
        status = pl_fail(human, error.status, "--line %s", error.text);
    if (status == NC_EXIT_OK)
        status = run_joined(settings, settings->box ? &box : NULL, &lists, human);
    pl_box_close(&box);
    pl_send_samples_free(&lists.samples);
    pl_lines_free(&lists.lines);
    return status;
}

/* Some options of `export` have no effect on a single capture, and others have none on joined captures. */
static int check_idle(const struct settings *settings, const struct pl_given *given, bool export, bool human)
{
    static const char with[] = "with --pcap-per-flow, which takes one capture";
    static const char alone[] = "with one capture alone", receiver[] = "with the receiver's capture alone";
    const bool one = settings->flow_folder, single = !settings->sender || !settings->receiver;
    const bool far = !settings->sender;
    const struct pl_idle rows[] = {
        {"sender", one, with},
        {"receiver", one, with},
        {"box", one, with},
        {"output", one, with},
        {"xplot", one, with},
        {"csv", one, with},
        {"from", one, with},
        {"to", one, with},
        {"max-flows", !one, "without --pcap-per-flow"},
        {"scales", one, with},
        {"ruled-out", one, with},
        {"scales", export && !settings->csv, "without --csv"},
        {"late-from", one, with},
        {"late-from", !settings->box, "without --box"},
        {"samples", one, with},
        {"line", one, with},
        {"always-data", one, with},
        {"from-gateway", one, with},
        {"to-gateway", one, with},
        {"clock", one, with},
        {"box", single, alone},
        {"clock", single, alone},
        {"interface", one, with},
        {"ruled-out", single, alone},
        {"samples", far, receiver},
        {"line", far, receiver},
        {"always-data", far, receiver},
        {"outages", far, receiver},
        {"burst-gap", far, receiver},
    };
    return pl_refuse_idle(given, rows, sizeof rows / sizeof *rows, human);
}

static int start_flow_export(const struct settings *settings, int files, char **file, bool human)
{
    if (files != 1)
        return pl_fail(human, NC_EXIT_USAGE,
                       "--pcap-per-flow '%s': %d capture files; want one: pktlogger export --pcap-per-flow DIR FILE",
                       settings->flow_folder, files);
    struct pl_flow_export export = {*file, settings->flow_folder, settings->flows_max, settings->tunnels};
    return pl_export_flow_files(&export, human);
}

/* Checks that a folder and enough captures are given. One capture is enough for `analyse`, and text output needs no
 * folder. */
static const char *missing_of(const struct settings *settings, bool export, bool human)
{
    if (export && (!settings->sender || !settings->receiver))
        return settings->sender ? "--receiver" : "--sender";
    if (!settings->sender && !settings->receiver)
        return "--sender or --receiver, or both,";
    return settings->output || (human && !export) ? NULL : "--output";
}

static int start(const struct nc_option *options, size_t n, const struct nc_usage *usage, bool want_format, int argc,
                 char **argv)
{
    struct settings settings = {0};
    bool flags[EXPORT_OPTIONS_N];
    const struct pl_given given = {options, n, flags};
    int first = nc_options_parse(options, n, usage, &settings, flags, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    int status = check_idle(&settings, &given, want_format, human);
    if (status != NC_EXIT_OK)
        return status;
    if (settings.flow_folder)
        return start_flow_export(&settings, argc - first, argv + first, human);
    if (first < argc)
        return pl_fail(human, NC_EXIT_USAGE, "'%s': not expected; files go into --sender and --receiver", argv[first]);
    const char *missing = missing_of(&settings, want_format, human);
    if (missing)
        return pl_fail(human, NC_EXIT_USAGE, "%s is missing; %.*s", missing, (int)strcspn(usage->synopsis, "\n"),
                       usage->synopsis);
    if (settings.to_ns && settings.to_ns <= settings.from_ns)
        return pl_fail(human, NC_EXIT_USAGE, "--to %.9g s is not behind --from %.9g s", (double)settings.to_ns / 1e9,
                       (double)settings.from_ns / 1e9);
    if (want_format && !settings.xplot && !settings.csv)
        return pl_fail(human, NC_EXIT_USAGE, "no format chosen; allowed are --xplot, --csv and --pcap-per-flow");
    return run(&settings, human);
}

int pl_cmd_analyse(int argc, char **argv)
{
    return start(analyse_options, ANALYSE_OPTIONS_N, &analyse_usage, false, argc, argv);
}

int pl_cmd_export(int argc, char **argv)
{
    return start(export_options, EXPORT_OPTIONS_N, &export_usage, true, argc, argv);
}
