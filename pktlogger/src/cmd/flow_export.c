/* pktlogger export --pcap-per-flow: one capture becomes a folder with a file for each connection. */
#include "flow_export.h"

#include <stdio.h>

#include "nc_jsonl.h"
#include "command.h"
#include "flow_files.h"
#include "folder.h"
#include "spool.h"

static void print_end(const struct pl_index *index, const struct pl_flow_export *export, bool human)
{
    unsigned long long packets = index->counts.tcp, frames = index->counts.frames;
    pl_index_report(index, export->capture);
    if (human)
        printf("%llu TCP packets of %llu frames in %u files\n", packets, frames, index->flows.n);
    else
        nc_jsonl_event(stdout, "end",
                       json_pack("{s:o, s:I, s:I, s:I, s:b}", "output", nc_jsonl_text(export->folder), "flows",
                                 (json_int_t)index->flows.n, "packets", (json_int_t)packets, "frames",
                                 (json_int_t)frames, "truncated", (int)index->reader.truncated));
}

/* Fills the folder and gives it its name. An error leaves no folder. Returns the exit status. */
static int write_folder(struct pl_index *index, const struct pl_flow_export *export, bool human)
{
    struct pl_folder folder;
    struct nc_error error;
    if (pl_folder_begin(&folder, export->folder, &error) < 0)
        return pl_report(human, &error);
    if (pl_flow_files_write(index, folder.fd, (uint32_t)export->flows_max, &error) < 0) {
        pl_folder_abort(&folder);
        return pl_fail(human, error.status, "'%s': %s", export->capture, error.text);
    }
    if (pl_folder_commit(&folder, &error) < 0)
        return pl_report(human, &error);
    print_end(index, export, human);
    return NC_EXIT_OK;
}

int pl_export_flow_files(const struct pl_flow_export *export, bool human)
{
    struct pl_index index;
    struct nc_error error;
    char copy[PL_SPOOL_NAME];
    const char *file = pl_spooled(export->capture, copy, &error);
    if (!file)
        return pl_report(human, &error);
    bool opened = pl_index_open_file(&index, file, &error) == PL_OK;
    index.tunnels = export->tunnels;
    int status = opened ? write_folder(&index, export, human) : pl_report(human, &error);
    pl_index_free(&index);
    return status;
}
