/* pktlogger analyse and export: they join two captures and write tables and a summary, or graphs. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "command.h"
#include "folder.h"
#include "json.h"
#include "mapping.h"
#include "summary.h"
#include "table.h"
#include "xplot.h"

struct settings {
    const char *sender, *receiver, *box, *output;
    bool xplot, human, json;
};

#define AT(field) offsetof(struct settings, field)
#define FILES_AND_FOLDER                                                                                               \
    {.name = "sender",                                                                                                 \
     .kind = NC_OPT_STRING,                                                                                            \
     .metavar = "FILE",                                                                                                \
     .offset = AT(sender),                                                                                             \
     .help = "capture at the machine that sends the data"},                                                            \
        {.name = "receiver",                                                                                           \
         .kind = NC_OPT_STRING,                                                                                        \
         .metavar = "FILE",                                                                                            \
         .offset = AT(receiver),                                                                                       \
         .help = "capture at the machine that receives it"},                                                           \
        {.name = "box",                                                                                                \
         .kind = NC_OPT_STRING,                                                                                        \
         .metavar = "DIR",                                                                                             \
         .offset = AT(box),                                                                                            \
         .help = "record of the delay box between them ('pktlogger record -o DIR'): the fate of each packet and its "  \
                 "cause"},                                                                                             \
        PL_OPTION_OUTPUT(AT(output))

static const struct nc_option analyse_options[] = {FILES_AND_FOLDER, PL_OPTIONS_HUMAN_JSON(AT(human), AT(json))};
static const struct nc_usage analyse_usage = {
    .synopsis = "pktlogger analyse --sender FILE --receiver FILE [--box DIR] -o DIR",
    .purpose = "Joins the captures of both ends: every transmission with its fate and kind, every stop with its cause.",
    .epilog = "All captures must use one machine's clock. Tables and rules are in FORMAT.md and pktlogger(1).",
};

/* clang-format off */
static const struct nc_option export_options[] = {
    FILES_AND_FOLDER,
    {.name = "xplot", .kind = NC_OPT_FLAG, .offset = AT(xplot),
     .help = "a time-sequence graph for each flow, N.xpl"},
    PL_OPTIONS_HUMAN_JSON(AT(human), AT(json)),
};
/* clang-format on */
static const struct nc_usage export_usage = {
    .synopsis = "pktlogger export --xplot --sender FILE --receiver FILE [--box DIR] -o DIR",
    .purpose = "Writes the joined captures as graphs for other programs.",
};

enum { SEGMENT_BOX_COLUMNS = 4, ACK_BOX_COLUMNS = 3 }; /* the last columns, written only with --box */

static const struct pl_column segment_columns[] = {
    PL_COLUMN(struct pl_segment, flow, "<u4"),          PL_COLUMN(struct pl_segment, seq, "<u8"),
    PL_COLUMN(struct pl_segment, len, "<u4"),           PL_COLUMN(struct pl_segment, t_sent_ns, "<i8"),
    PL_COLUMN(struct pl_segment, t_received_ns, "<i8"), PL_COLUMN(struct pl_segment, transmission, "<u2"),
    PL_COLUMN(struct pl_segment, kind, "|u1"),          PL_COLUMN(struct pl_segment, delay_ns, "<i8"),
    PL_COLUMN(struct pl_segment, sender_frame, "<u8"),  PL_COLUMN(struct pl_segment, receiver_frame, "<u8"),
    PL_COLUMN(struct pl_segment, box_fate, "|u1"),      PL_COLUMN(struct pl_segment, t_box_in_ns, "<i8"),
    PL_COLUMN(struct pl_segment, t_box_exit_ns, "<i8"), PL_COLUMN(struct pl_segment, t_box_out_ns, "<i8"),
};
/* clang-format off */
static const struct pl_column ack_columns[] = {
    PL_COLUMN(struct pl_ack, flow, "<u4"),          PL_COLUMN(struct pl_ack, ack, "<u8"),
    PL_COLUMN(struct pl_ack, t_sent_ns, "<i8"),     PL_COLUMN(struct pl_ack, t_received_ns, "<i8"),
    PL_COLUMN(struct pl_ack, window, "<u4"),        PL_COLUMN(struct pl_ack, box_fate, "|u1"),
    PL_COLUMN(struct pl_ack, t_box_in_ns, "<i8"),   PL_COLUMN(struct pl_ack, t_box_out_ns, "<i8"),
};
/* clang-format on */
/* clang-format off */
static const struct pl_column event_columns[] = {
    PL_COLUMN(struct pl_event, flow, "<u4"), PL_COLUMN(struct pl_event, t0_ns, "<i8"),
    PL_COLUMN(struct pl_event, t1_ns, "<i8"), PL_COLUMN(struct pl_event, kind, "|u1"),
    PL_COLUMN(struct pl_event, seq, "<u8"),  PL_COLUMN(struct pl_event, bytes, "<u8"),
    PL_COLUMN(struct pl_event, packets, "<u4"),
};
/* clang-format on */

/* Where the transfers are written: tables and a summary, or graphs. */
struct output {
    struct pl_folder folder;
    bool human, boxed;
    struct pl_table *segments, *acks, *events;
    json_t *flows;
};

static int put_tables(void *context, const struct pl_transfer *t)
{
    struct output *output = context;
    for (size_t i = 0; i < t->segments.n; i++)
        pl_table_put(output->segments, &t->segments.at[i]);
    for (size_t i = 0; i < t->acks.n; i++)
        pl_table_put(output->acks, &t->acks.at[i]);
    for (size_t i = 0; i < t->events.n; i++)
        pl_table_put(output->events, &t->events.at[i]);
    json_array_append_new(output->flows, pl_summary_flow(t));
    if (output->human)
        printf("flow %u: %llu bytes in %.3f s, %llu lost, %llu retransmitted, %llu time-outs, s = %.3f\n", t->number,
               (unsigned long long)t->bytes, (double)(t->last_ns - t->first_ns) / 1e9, (unsigned long long)t->lost,
               (unsigned long long)t->retransmitted, (unsigned long long)t->timeouts,
               pl_stopped_share(t) < 0 ? 0 : pl_stopped_share(t));
    for (size_t i = 0; output->human && i < t->stops.n; i++)
        printf("  stopped %.3f s at %.3f s: %s\n", (double)(t->stops.at[i].t1_ns - t->stops.at[i].t0_ns) / 1e9,
               (double)(t->stops.at[i].t0_ns - t->first_ns) / 1e9, t->stops.at[i].text);
    return 0;
}

static int put_xplot(void *context, const struct pl_transfer *t)
{
    struct output *output = context;
    char name[32];
    snprintf(name, sizeof name, "%u.xpl", t->number);
    int fd = openat(output->folder.fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file)
        return -1;
    pl_xplot_write(file, t);
    int failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}

#define CREATE(output, name, columns, less)                                                                            \
    pl_table_create((output)->folder.fd, name, columns,                                                                \
                    sizeof columns / sizeof *columns - ((output)->boxed ? 0 : (less)))

static int open_tables(struct output *output)
{
    output->flows = json_array();
    output->segments = CREATE(output, "segments", segment_columns, SEGMENT_BOX_COLUMNS);
    output->acks = output->segments ? CREATE(output, "acks", ack_columns, ACK_BOX_COLUMNS) : NULL;
    output->events = output->acks ? CREATE(output, "events", event_columns, 0) : NULL;
    return output->events ? 0 : -1;
}

/* Closes all tables. errno is that of the first failure. */
static int close_tables(struct output *output)
{
    struct pl_table *tables[] = {output->segments, output->acks, output->events};
    int error = 0;
    for (int i = 0; i < 3; i++)
        if (tables[i] && pl_table_close(tables[i]) < 0 && !error)
            error = errno;
    errno = error;
    return error ? -1 : 0;
}

static enum pl_status write_tables(struct output *output, const struct pl_trace *sender,
                                   const struct pl_trace *receiver, const struct pl_box *box, struct pl_joined *joined)
{
    if (open_tables(output) < 0) {
        int saved = errno;
        close_tables(output);
        json_decref(output->flows);
        errno = saved;
        return PL_SINK_FAILED;
    }
    enum pl_status status = pl_analyse(sender, receiver, box, put_tables, output, joined);
    if (close_tables(output) < 0 && status == PL_OK)
        status = PL_SINK_FAILED;
    if (status != PL_OK) {
        json_decref(output->flows);
        return status;
    }
    return pl_json_write(output->folder.fd, "summary.json", pl_summary(output->flows, joined, sender, receiver, box)) <
                   0
               ? PL_SINK_FAILED
               : PL_OK;
}

/* Loads one capture. Returns an exit status. */
static int load(const char *path, struct pl_mapping *mapping, struct pl_trace *trace, bool human)
{
    struct nc_error error;
    if (pl_trace_load(trace, mapping->data, mapping->len, &error) != PL_OK)
        return pl_fail(human, error.status, "'%s': %s", path, error.text);
    if (trace->index.reader.truncated)
        nc_log("'%s': ends inside a packet; all before it was read", path);
    return NC_EXIT_OK;
}

static int join(const struct settings *settings, const struct pl_trace *sender, const struct pl_trace *receiver,
                const struct pl_box *box, bool human)
{
    struct output output = {.human = human, .boxed = box};
    struct pl_joined joined;
    struct nc_error error;
    if (pl_folder_begin(&output.folder, settings->output, &error) < 0)
        return pl_report(human, &error);
    enum pl_status status = settings->xplot ? pl_analyse(sender, receiver, box, put_xplot, &output, &joined)
                                            : write_tables(&output, sender, receiver, box, &joined);
    if (status != PL_OK) {
        const char *reason = status == PL_NO_MEMORY ? "out of memory" : strerror(errno);
        pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", settings->output, reason);
        pl_folder_abort(&output.folder);
        return NC_EXIT_FAILED;
    }
    if (joined.flows == 0) {
        pl_folder_abort(&output.folder);
        return pl_fail(human, NC_EXIT_FAILED, "'%s' and '%s' have no connection in common", settings->sender,
                       settings->receiver);
    }
    if (pl_folder_commit(&output.folder, &error) < 0)
        return pl_report(human, &error);
    if (!human)
        nc_jsonl_event(stdout, "end",
                       json_pack("{s:o, s:I, s:{s:I, s:I}}", "output", nc_jsonl_text(settings->output), "flows",
                                 (json_int_t)joined.flows, "unmatched_flows", "sender",
                                 (json_int_t)joined.unmatched_sender, "receiver",
                                 (json_int_t)joined.unmatched_receiver));
    return NC_EXIT_OK;
}

static int run(const struct settings *settings, bool human)
{
    const char *paths[2] = {settings->sender, settings->receiver};
    struct pl_mapping mappings[2] = {{.data = NULL}, {.data = NULL}};
    struct pl_trace traces[2] = {{.n = 0}, {.n = 0}};
    struct pl_box box = {.flow_n = 0};
    struct nc_error error;
    int status = NC_EXIT_OK;
    for (int i = 0; i < 2 && status == NC_EXIT_OK; i++)
        status = pl_map(paths[i], &mappings[i], &error) < 0 ? pl_report(human, &error)
                                                            : load(paths[i], &mappings[i], &traces[i], human);
    if (status == NC_EXIT_OK && settings->box && pl_box_open(&box, settings->box, &error) < 0)
        status = pl_fail(human, error.status, "--box %s", error.text);
    if (status == NC_EXIT_OK)
        status = join(settings, &traces[0], &traces[1], settings->box ? &box : NULL, human);
    pl_box_close(&box);
    for (int i = 0; i < 2; i++) {
        pl_trace_free(&traces[i]);
        pl_unmap(&mappings[i]);
    }
    return status;
}

static int start(const struct nc_option *options, size_t n, const struct nc_usage *usage, bool want_format, int argc,
                 char **argv)
{
    struct settings settings = {0};
    int first = nc_options_parse(options, n, usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    if (first < argc)
        return pl_fail(human, NC_EXIT_USAGE, "'%s': not expected; files go into --sender and --receiver", argv[first]);
    if (!settings.sender || !settings.receiver || !settings.output)
        return pl_fail(human, NC_EXIT_USAGE, "--%s is missing; %s",
                       !settings.sender     ? "sender"
                       : !settings.receiver ? "receiver"
                                            : "output",
                       usage->synopsis);
    if (want_format && !settings.xplot)
        return pl_fail(human, NC_EXIT_USAGE, "no format chosen; allowed is --xplot");
    return run(&settings, human);
}

int pl_cmd_analyse(int argc, char **argv)
{
    return start(analyse_options, sizeof analyse_options / sizeof *analyse_options, &analyse_usage, false, argc, argv);
}

int pl_cmd_export(int argc, char **argv)
{
    return start(export_options, sizeof export_options / sizeof *export_options, &export_usage, true, argc, argv);
}
