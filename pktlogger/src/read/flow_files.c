/* Implements flow_files.h. */
#include "flow_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bytes.h"
#include "pcapng.h"
#include "vector.h"

/* Packets that wait to be written to a flow's file; and the section head of which that file already has a part. */
struct waiting {
    uint8_t *at;
    size_t n, room;
    bool begun;
    uint64_t section;
    size_t head_bytes;
};

struct files {
    PL_VECTOR(struct waiting) flows;
    size_t held;
    int dir_fd;
};

void pl_flow_file_name(char name[PL_FLOW_FILE_NAME], uint32_t number, const struct pl_flow *flow)
{
    char text[2][INET6_ADDRSTRLEN];
    for (int i = 0; i < 2; i++) {
        inet_ntop(flow->ip_version == 4 ? AF_INET : AF_INET6, flow->side[i].address, text[i], sizeof text[i]);
        for (char *at = text[i]; *at; at++)
            *at = *at == ':' ? '-' : *at;
    }
    snprintf(name, PL_FLOW_FILE_NAME, "%u_%s_%u_%s_%u.pcapng", number, text[0], flow->side[0].port, text[1],
             flow->side[1].port);
}

static int put(struct files *files, struct waiting *flow, const void *bytes, size_t n)
{
    if (!n)
        return 0;
    if (n > flow->room - flow->n) {
        size_t room = (flow->n + n) * 2;
        uint8_t *grown = realloc(flow->at, room);
        if (!grown)
            return -1;
        flow->at = grown;
        flow->room = room;
    }
    memcpy(flow->at + flow->n, bytes, n);
    flow->n += n;
    files->held += n;
    return 0;
}

/* Section header and interface of a classic file, in this machine's byte order. */
static int put_classic_head(struct files *files, struct waiting *flow, const struct pl_interface *interface)
{
    const uint32_t section[] = {PL_BLOCK_SECTION, 28, PL_BYTE_ORDER_MAGIC, 1, UINT32_MAX, UINT32_MAX, 28};
    const uint32_t head[] = {PL_BLOCK_INTERFACE, 32, interface->linktype, interface->snap_bytes};
    const uint16_t option[] = {PL_OPT_IF_TSRESOL, 1};
    const uint8_t resolution[4] = {interface->tsresol};
    const uint32_t tail[] = {PL_OPT_END, 32};
    return put(files, flow, section, sizeof section) || put(files, flow, head, sizeof head) ||
                   put(files, flow, option, sizeof option) || put(files, flow, resolution, sizeof resolution) ||
                   put(files, flow, tail, sizeof tail)
               ? -1
               : 0;
}

/* A classic record as an Enhanced Packet Block. */
static int put_record(struct files *files, struct waiting *flow, const struct pl_reader *reader, uint8_t tsresol)
{
    const uint8_t *record = reader->block, zeros[4] = {0};
    uint32_t captured = pl_get32(record + 8, reader->swapped), wire = pl_get32(record + 12, reader->swapped);
    uint64_t per_second = tsresol == 9 ? 1000000000u : 1000000u;
    uint64_t ticks = pl_get32(record, reader->swapped) * per_second + pl_get32(record + 4, reader->swapped);
    uint32_t padding = -captured & 3, total = 32 + captured + padding;
    const uint32_t head[] = {
        PL_BLOCK_ENHANCED, total, 0, (uint32_t)(ticks >> 32), (uint32_t)ticks, captured, wire,
    };
    return put(files, flow, head, sizeof head) || put(files, flow, record + 16, captured) ||
                   put(files, flow, zeros, padding) || put(files, flow, &total, sizeof total)
               ? -1
               : 0;
}

static int put_classic(struct files *files, struct waiting *flow, const struct pl_reader *reader)
{
    const struct pl_interface *interface = &reader->interfaces[0];
    if ((!flow->begun || flow->section != reader->sections) && put_classic_head(files, flow, interface) < 0)
        return -1;
    flow->begun = true;
    flow->section = reader->sections;
    return put_record(files, flow, reader, interface->tsresol);
}

/* Appends the packet's block, and before it those parts of the section's head that the file lacks. */
static int put_block(struct files *files, struct waiting *flow, const struct pl_reader *reader)
{
    if (!flow->begun || flow->section != reader->sections)
        flow->head_bytes = 0;
    if (put(files, flow, reader->head + flow->head_bytes, reader->head_bytes - flow->head_bytes) < 0)
        return -1;
    flow->begun = true;
    flow->section = reader->sections;
    flow->head_bytes = reader->head_bytes;
    return put(files, flow, reader->block, (size_t)(reader->at - reader->block));
}

static int write_whole(int fd, const uint8_t *at, size_t n)
{
    while (n) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Appends the waiting packets to the flow's file. Returns 0, or -1 with a reason. */
static int flush_flow(struct files *files, uint32_t number, const struct pl_flow *flow, struct nc_error *error)
{
    struct waiting *waiting = &files->flows.at[number];
    char name[PL_FLOW_FILE_NAME];
    if (!waiting->n)
        return 0;
    pl_flow_file_name(name, number, flow);
    int fd = openat(files->dir_fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666), failed = 0;
    if (fd < 0 || write_whole(fd, waiting->at, waiting->n) < 0)
        failed = errno;
    if (fd >= 0 && close(fd) < 0 && !failed)
        failed = errno;
    free(waiting->at);
    waiting->at = NULL;
    waiting->n = waiting->room = 0;
    return failed ? nc_fail(error, NC_EXIT_FAILED, "cannot write %s: %s", name, strerror(failed)) : 0;
}

static int flush_all(struct files *files, const struct pl_flows *flows, struct nc_error *error)
{
    for (uint32_t i = 0; i < files->flows.n; i++)
        if (flush_flow(files, i, &flows->at[i], error) < 0)
            return -1;
    files->held = 0;
    return 0;
}

/* Queues the packet that the index has just read. */
static int take(struct files *files, const struct pl_index *index, uint32_t number, struct nc_error *error)
{
    const struct pl_reader *reader = &index->reader;
    while (files->flows.n <= number)
        if (PL_APPEND(&files->flows, (struct waiting){.n = 0}) < 0)
            return nc_fail(error, NC_EXIT_FAILED, "out of memory");
    struct waiting *flow = &files->flows.at[number];
    if ((reader->classic ? put_classic(files, flow, reader) : put_block(files, flow, reader)) < 0)
        return nc_fail(error, NC_EXIT_FAILED, "out of memory");
    return files->held > PL_FLOW_FILES_HELD ? flush_all(files, &index->flows, error) : 0;
}

int pl_flow_files_write(struct pl_index *index, int dir_fd, uint32_t flows_max, struct nc_error *error)
{
    struct files files = {.dir_fd = dir_fd};
    struct pl_row row;
    enum pl_row_status next;
    int result = 0;
    index->reader.keep_head = true;
    index->keep_copies = true;
    while (result == 0 && (next = pl_index_next(index, &row, error)) != PL_ROWS_END) {
        if (next == PL_ROWS_FAILED)
            result = -1;
        else if (row.flow >= flows_max)
            result = nc_fail(error, NC_EXIT_FAILED, "more than %u flows; allow more with --max-flows", flows_max);
        else
            result = take(&files, index, row.flow, error);
    }
    if (result == 0)
        result = flush_all(&files, &index->flows, error);
    for (size_t i = 0; i < files.flows.n; i++)
        free(files.flows.at[i].at);
    free(files.flows.at);
    return result;
}
