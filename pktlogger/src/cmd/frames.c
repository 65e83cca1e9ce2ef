/* pktlogger frames: writes time, bytes and source of every frame of a capture, whatever it contains. An encrypted
 * tunnel shows no more than these. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nc_jsonl.h"
#include "nc_log.h"
#include "nc_options.h"
#include "nc_program.h"
#include "command.h"
#include "folder.h"
#include "json.h"
#include "reader.h"
#include "spool.h"
#include "table.h"

enum { SOURCES_MAX = 255, NO_SOURCE = 255, MTU_MIN = 576, MTU_MAX = 65535 };

struct settings {
    const char *output;
    uint64_t mtu_bytes;
    bool human, json;
};

#define OFFSET(field) offsetof(struct settings, field)
/* clang-format off */
static const struct nc_option options[] = {
    PL_OPTION_OUTPUT(output),
    NC_QUANTITY("mtu", mtu_bytes, NC_UNIT_BYTES, NULL, MTU_MIN, MTU_MAX,
                "MTU of the link; a longer UDP or TCP frame counts as several wire packets"),
    PL_OPTIONS_HUMAN_JSON(human, json),
};
/* clang-format on */
static const struct nc_usage usage = {
    .synopsis = "pktlogger frames FILE -o DIR [--mtu SIZE]",
    .purpose = "Writes every frame of a pcapng or pcap file as a row of NumPy columns: time, bytes, kind, source.",
    .epilog = "Columns are in FORMAT.md, section 7.",
};

enum kind { KIND_TCP, KIND_UDP, KIND_ESP, KIND_IP_OTHER, KIND_NOT_IP, KIND_UNDECODED, KIND_N };
/* clang-format off */
static const char *const kind_names[KIND_N] = {
    [KIND_TCP] = "tcp", [KIND_UDP] = "udp", [KIND_ESP] = "esp", [KIND_IP_OTHER] = "ip_other", [KIND_NOT_IP] = "not_ip",
    [KIND_UNDECODED] = "undecoded",
};
/* clang-format on */

struct row {
    uint64_t frame;
    int64_t t_ns;
    uint32_t bytes;
    uint16_t parts;
    uint8_t kind, source;
};

/* clang-format off */
static const struct pl_column columns[] = {
    PL_COLUMN(struct row, frame, "<u8"), PL_COLUMN(struct row, t_ns, "<i8"),  PL_COLUMN(struct row, bytes, "<u4"),
    PL_COLUMN(struct row, parts, "<u2"), PL_COLUMN(struct row, kind, "|u1"), PL_COLUMN(struct row, source, "|u1"),
};
/* clang-format on */

struct sources {
    struct {
        uint8_t version, address[16];
    } at[SOURCES_MAX];
    unsigned n;
};

static enum kind kind_of(enum nc_decoded decoded, const struct nc_packet *packet)
{
    if (!packet->ip_version)
        return decoded == NC_DECODED ? KIND_NOT_IP : KIND_UNDECODED;
    return packet->l4 == NC_L4_TCP   ? KIND_TCP
           : packet->l4 == NC_L4_UDP ? KIND_UDP
           : packet->l4 == NC_L4_ESP ? KIND_ESP
                                     : KIND_IP_OTHER;
}

/* The number of the source address, in order of appearance. */
static uint8_t source_of(struct sources *sources, const struct nc_packet *packet)
{
    if (!packet->ip_version)
        return NO_SOURCE;
    for (unsigned i = 0; i < sources->n; i++)
        if (sources->at[i].version == packet->ip_version && memcmp(sources->at[i].address, packet->src, 16) == 0)
            return (uint8_t)i;
    if (sources->n == SOURCES_MAX)
        return NO_SOURCE;
    sources->at[sources->n].version = packet->ip_version;
    memcpy(sources->at[sources->n].address, packet->src, 16);
    return (uint8_t)sources->n++;
}

/* The number of wire packets in a super-packet. Segmentation offload repeats the headers in front of each part. */
static void take_apart(struct row *row, const struct nc_packet *packet, uint32_t wire, uint64_t mtu_bytes)
{
    bool split = packet->l4 == NC_L4_TCP || packet->l4 == NC_L4_UDP;
    uint64_t headers = packet->payload_offset, room = mtu_bytes + packet->l3_offset;
    if (!mtu_bytes || !split || headers >= room || wire <= room || wire <= headers)
        return;
    uint64_t each = room - headers, parts = (wire - headers + each - 1) / each;
    row->parts = (uint16_t)parts; /* at most 2^32 / (576 − headers): frames are 64 KB and less */
    row->bytes = (uint32_t)(wire + (parts - 1) * headers);
}

static struct row row_of(const struct pl_frame *frame, struct sources *sources, uint64_t mtu_bytes)
{
    struct row row = {.frame = frame->number,
                      .t_ns = frame->t_ns,
                      .bytes = frame->wire,
                      .parts = 1,
                      .kind = KIND_UNDECODED,
                      .source = NO_SOURCE};
    struct nc_packet packet;
    if (frame->link == PL_LINK_UNKNOWN)
        return row;
    enum nc_decoded decoded =
        nc_packet_decode((enum nc_link)frame->link, frame->data, frame->captured, frame->wire, &packet);
    row.kind = (uint8_t)kind_of(decoded, &packet);
    row.source = source_of(sources, &packet);
    if (frame->wire <= UINT16_MAX + 256)
        take_apart(&row, &packet, frame->wire, mtu_bytes);
    return row;
}

static json_t *description(const struct sources *sources, const struct pl_reader *reader)
{
    json_t *kinds = json_array(), *addresses = json_array();
    char text[INET6_ADDRSTRLEN];
    for (int k = 0; k < KIND_N; k++)
        json_array_append_new(kinds, json_string(kind_names[k]));
    for (unsigned i = 0; i < sources->n; i++) {
        inet_ntop(sources->at[i].version == 4 ? AF_INET : AF_INET6, sources->at[i].address, text, sizeof text);
        json_array_append_new(addresses, json_string(text));
    }
    return json_pack("{s:i, s:o, s:o, s:b, s:o}", "v", 1, "kinds", kinds, "sources", addresses, "truncated",
                     (int)reader->truncated, "drops", pl_json_drops(reader));
}

/* Writes a row for every frame that has a time. Returns how the reading ended. */
static enum pl_next read_all(struct pl_reader *reader, struct pl_table *table, struct sources *sources,
                             uint64_t mtu_bytes)
{
    struct pl_frame frame;
    enum pl_next next;
    while ((next = pl_reader_next(reader, &frame)) == PL_FRAME) {
        struct row row = row_of(&frame, sources, mtu_bytes);
        if (frame.t_ns >= 0)
            pl_table_put(table, &row);
    }
    return next;
}

static int write_rows(const struct settings *settings, struct pl_reader *reader, const char *file,
                      struct pl_folder *folder, bool human)
{
    struct nc_error error;
    struct sources sources = {.n = 0};
    struct pl_table *table = pl_table_create(folder->fd, ".", columns, sizeof columns / sizeof *columns);
    if (!table)
        return pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", folder->path, strerror(errno));
    enum pl_next next = read_all(reader, table, &sources, settings->mtu_bytes);
    if (pl_table_close(table) < 0 || pl_json_write(folder->fd, "frames.json", description(&sources, reader)) < 0)
        return pl_fail(human, NC_EXIT_FAILED, "--output '%s': %s", folder->path, strerror(errno));
    if (next == PL_CORRUPT)
        return pl_fail(human, NC_EXIT_FAILED, "'%s': damaged at %s", file, reader->why);
    pl_reader_report(reader, file);
    if (reader->frames && reader->unknown_links == reader->frames)
        return pl_fail(human, NC_EXIT_FAILED, "'%s': none of its %llu packets could be decoded", file,
                       (unsigned long long)reader->frames);
    if (pl_folder_commit(folder, &error) < 0)
        return pl_report(human, &error);
    if (human)
        printf("%llu frames from %u addresses\n", (unsigned long long)reader->frames, sources.n);
    else
        nc_jsonl_event(stdout, "end",
                       json_pack("{s:I, s:i}", "frames", (json_int_t)reader->frames, "sources", (int)sources.n));
    return NC_EXIT_OK;
}

static int read_file(const struct settings *settings, const char *file, bool human)
{
    struct pl_folder folder;
    struct pl_reader reader;
    struct nc_error error;
    int status;
    char copy[PL_SPOOL_NAME];
    const char *opened = pl_spooled(file, copy, &error);
    if (!opened)
        return pl_report(human, &error);
    if (pl_reader_open_file(&reader, opened, &error) < 0)
        status = pl_report(human, &error);
    else if (pl_folder_begin(&folder, settings->output, &error) < 0)
        status = pl_report(human, &error);
    else if ((status = write_rows(settings, &reader, file, &folder, human)) != NC_EXIT_OK)
        pl_folder_abort(&folder);
    pl_reader_close(&reader);
    return status;
}

int pl_cmd_frames(int argc, char **argv)
{
    struct settings settings = {0};
    int first = nc_options_parse(options, sizeof options / sizeof *options, &usage, &settings, NULL, argc, argv);
    bool human = nc_program_is_human(settings.human, settings.json);
    if (argc - first != 1 || !settings.output)
        return pl_fail(human, NC_EXIT_USAGE, "want one capture file and --output: pktlogger frames FILE -o DIR");
    return read_file(&settings, argv[first], human);
}
