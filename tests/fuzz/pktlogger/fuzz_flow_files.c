/* Any bytes as a capture that is divided into a file for each flow. No file may be outside the folder. Together the
 * files must have the TCP packets of the capture, and each must be readable to its end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_files.h"
#include "folder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FLOWS_MAX = 64 };

static void check(bool good)
{
    if (!good)
        abort();
}

static uint64_t frames_of(const char *path)
{
    struct pl_reader reader;
    struct pl_frame frame;
    struct nc_error error;
    enum pl_next next;
    check(pl_reader_open_file(&reader, path, &error) == 0);
    while ((next = pl_reader_next(&reader, &frame)) == PL_FRAME)
        ;
    check(next == PL_END && !reader.truncated);
    pl_reader_close(&reader);
    return frame.number;
}

static void check_files(const struct pl_index *index, const char *folder)
{
    uint64_t packets = 0;
    for (uint32_t i = 0; i < index->flows.n; i++) {
        char name[PL_FLOW_FILE_NAME], path[4096];
        pl_flow_file_name(name, i, &index->flows.at[i]);
        check(!strchr(name, '/') && strlen(name) < PL_FLOW_FILE_NAME - 1);
        snprintf(path, sizeof path, "%.3000s/%s", folder, name);
        packets += frames_of(path);
    }
    check(packets == index->counts.tcp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pl_folder folder = {.temporary = "/dev/shm/pktlogger-fuzz-XXXXXX"};
    struct pl_index index;
    struct nc_error error;
    if (pl_index_open(&index, data, size, &error) == PL_OK) {
        check(mkdtemp(folder.temporary));
        folder.fd = open(folder.temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        check(folder.fd >= 0);
        if (pl_flow_files_write(&index, folder.fd, FLOWS_MAX, &error) == 0)
            check_files(&index, folder.temporary);
        pl_folder_abort(&folder);
    }
    pl_index_free(&index);
    return 0;
}
