/* A folder from elsewhere, as `pktlogger analyse --box` reads it. The first octet chooses the file that the rest of the
 * input replaces; 0: the rows of the table, with a fixed number of octets for each column. All other files are as
 * `pktlogger record -o` writes them. The two captures that are joined with the record have one connection with ten
 * parts, of which the fourth is lost and sent again. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nc_bytes.h"
#include "nc_packet.h"
#include "analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    COLUMNS = PL_BOX_COLUMNS,
    FLOWS = COLUMNS,
    RECORD,
    FILES,
    PARTS = 10,
    PART_BYTES = 500,
    NPY_HEADER = 128,
    ISN = 7000
};
#define T0_NS (INT64_C(1700000000) * 1000000000)
#define MS INT64_C(1000000)

/* In the order of a row. */
/* clang-format off */
static const struct { const char *name, *descr; size_t size; } columns[COLUMNS] = {
    {"copy", "|u1", 1},        {"fate", "|u1", 1},         {"dir", "|u1", 1},  {"t_arrival_ns", "<i8", 8},
    {"t_queue_exit_ns", "<i8", 8}, {"t_release_ns", "<i8", 8}, {"t_drop_ns", "<i8", 8}, {"flow", "<u4", 4},
    {"seq", "<u8", 8},         {"ack", "<u8", 8},          {"len", "<u4", 4},  {"edits", "|u1", 1},
    {"t_departure_ns", "<i8", 8}, {"direction", "|u1", 1},
};
/* clang-format on */
struct __attribute__((packed)) row {
    uint8_t copy, fate, dir;
    int64_t t_arrival_ns, t_queue_exit_ns, t_release_ns, t_drop_ns;
    uint32_t flow;
    uint64_t seq, ack;
    uint32_t len;
    uint8_t edits;
    int64_t t_departure_ns;
    uint8_t direction;
};
static const char flows_text[] = "{\"v\":1,\"flows\":[{\"ip_version\":4,\"sides\":["
                                 "{\"address\":\"10.0.0.1\",\"port\":40000,\"syn\":true,\"isn\":7000},"
                                 "{\"address\":\"10.0.0.2\",\"port\":5001,\"syn\":true,\"isn\":7000}]}]}";
static const char record_text[] =
    "{\"v\":1,\"fates\":[\"sent\",\"loss\",\"queue\",\"aqm\",\"pace\",\"memory\",\"write\",\"held\"],\"gaps\":[]}";

/* A folder whose files are in memory. */
struct folder {
    char path[64];
    int fds[FILES];
    int spoiled; /* number of the file that the input replaces; -1: columns */
};

static void put_file(const struct folder *folder, int file, const void *at, size_t n)
{
    assert(ftruncate(folder->fds[file], 0) == 0 && pwrite(folder->fds[file], at, n, 0) == (ssize_t)n);
}

/* Column `c` of the rows, as one file. */
static void put_column(const struct folder *folder, int c, const uint8_t *rows, size_t n)
{
    size_t offset = 0, bytes = NPY_HEADER + n * columns[c].size;
    for (int before = 0; before < c; before++)
        offset += columns[before].size;
    uint8_t *file = malloc(bytes + 1);
    assert(file);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used = snprintf((char *)file + 10, NPY_HEADER - 10,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", columns[c].descr, n);
    memset(file + 10 + used, ' ', (size_t)(NPY_HEADER - 10 - used - 1));
    file[NPY_HEADER - 1] = '\n';
    for (size_t i = 0; i < n; i++)
        memcpy(file + NPY_HEADER + i * columns[c].size, rows + i * sizeof(struct row) + offset, columns[c].size);
    put_file(folder, c, file, bytes);
    free(file);
}

/* The box's view of the connection in the captures: every part, and an acknowledgement of each. */
static void put_good(const struct folder *folder)
{
    assert(columns[COLUMNS - 1].name); /* every column that is read exists */
    struct row rows[2 * PARTS];
    for (uint32_t i = 0; i < 2 * PARTS; i++) {
        bool back = i % 2, lost = i == 6;
        int64_t t_ns = T0_NS + (10 + i / 2 + (back ? 12 : 2)) * MS;
        rows[i] = (struct row){.fate = lost ? 2 : 0,
                               .dir = back,
                               .direction = back,
                               .t_arrival_ns = t_ns,
                               .t_queue_exit_ns = lost ? -1 : t_ns + MS,
                               .t_release_ns = lost ? -1 : t_ns + 5 * MS,
                               .t_drop_ns = lost ? t_ns : -1,
                               .seq = back ? 1 : 1 + i / 2 * PART_BYTES,
                               .ack = back ? 1 + (i / 2 + 1) * PART_BYTES : 1,
                               .len = back ? 0 : PART_BYTES,
                               .edits = i == 8 ? 2 : 0, /* corrupted */
                               .t_departure_ns = lost ? -1 : t_ns + (i == 11 ? 2 : 5) * MS};
    }
    for (int c = 0; c < COLUMNS; c++)
        put_column(folder, c, (const uint8_t *)rows, 2 * PARTS);
    put_file(folder, FLOWS, flows_text, sizeof flows_text - 1);
    put_file(folder, RECORD, record_text, sizeof record_text - 1);
}

static struct folder folder = {.path = "/tmp/pktlogger-fuzz-XXXXXX"};

static void file_path(int file, char *path, size_t room)
{
    if (file < COLUMNS)
        snprintf(path, room, "%s/%s.npy", folder.path, columns[file].name);
    else
        snprintf(path, room, "%s/%s.json", folder.path, file == FLOWS ? "flows" : "record");
}

static void remove_folder(void)
{
    char path[128];
    for (int file = 0; file < FILES; file++) {
        file_path(file, path, sizeof path);
        unlink(path);
    }
    rmdir(folder.path);
}

static void make_folder(void)
{
    char path[128], target[64];
    assert(mkdtemp(folder.path) && atexit(remove_folder) == 0);
    for (int file = 0; file < FILES; file++) {
        folder.fds[file] = memfd_create("file", MFD_CLOEXEC);
        assert(folder.fds[file] >= 0);
        snprintf(target, sizeof target, "/proc/self/fd/%d", folder.fds[file]);
        file_path(file, path, sizeof path);
        assert(symlink(target, path) == 0);
    }
    put_good(&folder);
    folder.spoiled = -1;
}

/* Writes a packet of a classic capture with nanoseconds, without its payload. Returns the position after it. */
static uint8_t *put_packet(uint8_t *at, int64_t t_ns, bool back, uint32_t seq, uint32_t ack, uint8_t flags,
                           uint16_t payload)
{
    enum { HEAD = 40 };
    const uint32_t head[4] = {(uint32_t)(t_ns / 1000000000), (uint32_t)(t_ns % 1000000000), HEAD, HEAD + payload};
    memcpy(at, head, sizeof head);
    at += sizeof head;
    memset(at, 0, HEAD);
    at[0] = 0x45;
    nc_put16(at + 2, HEAD + payload);
    at[8] = 64;
    at[9] = 6;
    nc_put32(at + 12, back ? 0x0a000002 : 0x0a000001);
    nc_put32(at + 16, back ? 0x0a000001 : 0x0a000002);
    nc_put16(at + 20, back ? 5001 : 40000);
    nc_put16(at + 22, back ? 40000 : 5001);
    nc_put32(at + 24, ISN + seq);
    nc_put32(at + 28, flags & NC_TCP_ACK ? ISN + ack : 0);
    at[32] = 5 << 4;
    at[33] = flags;
    nc_put16(at + 34, 60000);
    return at + HEAD;
}

/* The connection at the sender's end, or at the receiver's end 10 ms away. */
static size_t put_capture(uint8_t *start, bool far)
{
    const uint32_t head[6] = {0xa1b23c4d, 4u << 16 | 2u, 0, 0, 65535, 101}; /* nanoseconds, version 2.4, raw IP */
    int64_t there = T0_NS + (far ? 10 : 0) * MS, back = T0_NS + (far ? 10 : 20) * MS;
    memcpy(start, head, sizeof head);
    uint8_t *at = put_packet(start + sizeof head, there, false, 0, 0, NC_TCP_SYN, 0);
    at = put_packet(at, back, true, 0, 1, NC_TCP_SYN | NC_TCP_ACK, 0);
    for (uint32_t i = 0; i < PARTS; i++) {
        if (!far || i != 3)
            at = put_packet(at, there + (10 + i) * MS, false, 1 + i * PART_BYTES, 1, NC_TCP_ACK, PART_BYTES);
        at = put_packet(at, back + (10 + i) * MS, true, 1, 1 + (i < 3 ? i + 1 : 3) * PART_BYTES, NC_TCP_ACK, 0);
    }
    at = put_packet(at, there + 900 * MS, false, 1 + 3 * PART_BYTES, 1, NC_TCP_ACK, PART_BYTES);
    at = put_packet(at, back + 900 * MS, true, 1, 1 + PARTS * PART_BYTES, NC_TCP_ACK, 0);
    return (size_t)(at - start);
}

static void make_captures(struct pl_source captures[PL_END_N])
{
    static uint8_t bytes[PL_END_N][4096];
    for (int end = 0; end < PL_END_N; end++) {
        captures[end] = (struct pl_source){.data = bytes[end], .len = put_capture(bytes[end], end)};
        assert(captures[end].len <= sizeof bytes[end]);
    }
}

static void spoil(const uint8_t *data, size_t size)
{
    int file = data[0] % (FILES + 1) - 1;
    if (folder.spoiled != file)
        put_good(&folder);
    folder.spoiled = file;
    if (file >= 0)
        put_file(&folder, file, data + 1, size - 1);
    else
        for (int c = 0; c < COLUMNS; c++)
            put_column(&folder, c, data + 1, (size - 1) / sizeof(struct row));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct pl_source captures[PL_END_N];
    struct pl_box box;
    struct nc_error error;
    if (size < 1)
        return 0;
    if (!captures[0].data) {
        make_folder();
        make_captures(captures);
    }
    spoil(data, size);
    if (pl_box_open(&box, folder.path, &error) < 0)
        assert(error.text[0] && !strchr(error.text, '\n'));
    else
        assert(analyse(captures, &box) == 1);
    pl_box_close(&box);
    return 0;
}
