/* pktlogger index: turns a capture into columns and flows.json. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nc_jsonl.h"
#include "nc_options.h"
#include "nc_program.h"
#include "command.h"
#include "folder.h"
#include "index.h"
#include "json.h"
#include "spool.h"
#include "table.h"

struct settings {
    const char *output;
    bool tunnels, human, json;
};

#define OFFSET(field) offsetof(struct settings, field)
static const struct nc_option options[] = {
    PL_OPTION_OUTPUT(output),
    PL_OPTION_TUNNELS(tunnels),
    PL_OPTIONS_HUMAN_JSON(human, json),
};
static const struct nc_usage usage = {
    .synopsis = "pktlogger index FILE -o DIR [--tunnels]",
    .purpose = "Writes every TCP packet of a pcapng or pcap file, or of a set of files, as a row of NumPy columns, and "
               "flows.json.",
    .epilog = "Columns and rules are in FORMAT.md and pktlogger(1).",
};

/* clang-format off */
static const struct pl_column columns[] = {
    PL_COLUMN(struct pl_row, frame, "<u8"),   PL_COLUMN(struct pl_row, t_ns, "<i8"),
    PL_COLUMN(struct pl_row, flow, "<u4"),    PL_COLUMN(struct pl_row, dir, "|u1"),
    PL_COLUMN(struct pl_row, seq, "<u8"),     PL_COLUMN(struct pl_row, ack, "<u8"),
    PL_COLUMN(struct pl_row, len, "<u4"),     PL_COLUMN(struct pl_row, wire_len, "<u4"),
    PL_COLUMN(struct pl_row, parts, "<u2"),   PL_COLUMN(struct pl_row, flags, "<u2"),
    PL_COLUMN(struct pl_row, window, "<u4"),  PL_COLUMN(struct pl_row, ip_id, "<u2"),
    PL_COLUMN(struct pl_row, tsval, "<u4"),   PL_COLUMN(struct pl_row, tsecr, "<u4"),
    PL_COLUMN(struct pl_row, sack_n, "|u1"),  PL_COLUMN_WIDE(struct pl_row, sack_left, "<u8", NC_SACK_MAX),
    PL_COLUMN_WIDE(struct pl_row, sack_right, "<u8", NC_SACK_MAX),
    PL_COLUMN(struct pl_row, ecn, "|u1"),     PL_COLUMN(struct pl_row, accecn, "|u1"),
    PL_COLUMN(struct pl_row, ee0b, "<u4"),    PL_COLUMN(struct pl_row, eceb, "<u4"),
    PL_COLUMN(struct pl_row, ee1b, "<u4"),
};
/* clang-format on */

static enum pl_row_status put_rows(struct pl_index *index, struct pl_table *table, struct nc_error *error)
{
    struct pl_row row;
    enum pl_row_status next;
    while ((next = pl_index_next(index, &row, error)) == PL_ROW)
        pl_table_put(table, &row);
    return next;
}

static json_t *summary(const struct pl_index *index)
{
    return json_pack("{s:I, s:I, s:I, s:b, s:o}", "packets", (json_int_t)index->counts.tcp, "frames",
                     (json_int_t)index->counts.frames, "flows", (json_int_t)index->flows.n, "truncated",
                     (int)index->reader.truncated, "drops", pl_json_drops(&index->reader));
}

static void print_end(const struct pl_index *index, const char *file, bool human)
{
    pl_index_report(index, file);
    if (human)
        printf("%llu TCP packets of %llu frames in %u flows\n", (unsigned long long)index->counts.tcp,
               (unsigned long long)index->counts.frames, index->flows.n);
    else
        nc_jsonl_event(stdout, "end", summary(index));
}

static int index_file(struct pl_index *index, const char *file, struct pl_folder *folder, bool human)
{
    struct nc_error error;
    struct pl_table *table = pl_table_create(folder->fd, ".", columns, sizeof columns / sizeof *columns);
    if (!table)
        return pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", folder->path, strerror(errno));
    bool whole = put_rows(index, table, &error) == PL_ROWS_END;
    int closed = pl_table_close(table), exit_status = NC_EXIT_OK;
    if (!whole)
        exit_status = pl_fail(human, error.status, "'%s': %s", file, error.text);
    else if (pl_index_undecoded(index)) {
        pl_index_report(index, file);
        exit_status = pl_fail(human, NC_EXIT_FAILED, "'%s': none of its %llu packets could be decoded", file,
                              (unsigned long long)index->counts.frames);
    } else if (closed < 0 || pl_json_write(folder->fd, "flows.json", pl_json_index(index)) < 0)
        exit_status = pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", folder->path, strerror(errno));
    else if (pl_folder_commit(folder, &error) < 0)
        exit_status = pl_report(human, &error);
    else
        print_end(index, file, human);
    return exit_status;
}

int pl_cmd_index(int argc, char **argv)
{
    struct settings settings;
    struct pl_index index;
    struct pl_folder folder;
    struct nc_error error;
    int first = nc_options_parse(options, sizeof options / sizeof *options, &usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    if (argc - first != 1 || !settings.output)
        return pl_fail(human, NC_EXIT_USAGE, "want one capture file and --output: pktlogger index FILE -o DIR");
    int status;
    char copy[PL_SPOOL_NAME];
    const char *file = pl_spooled(argv[first], copy, &error);
    if (!file)
        return pl_report(human, &error);
    bool opened = pl_index_open_file(&index, file, &error) == PL_OK;
    index.tunnels = settings.tunnels;
    if (!opened)
        status = pl_report(human, &error);
    else if (pl_folder_begin(&folder, settings.output, &error) < 0)
        status = pl_report(human, &error);
    else if ((status = index_file(&index, argv[first], &folder, human)) != NC_EXIT_OK)
        pl_folder_abort(&folder);
    pl_index_free(&index);
    return status;
}
