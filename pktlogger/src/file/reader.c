/* Implements reader.h, which has the invariants. The bounds of a block are checked once, where its length is read;
 * its parser then gets [body, body + len). If the file ends within a block, this counts as the end and not as an error,
 * because a crashed capture leaves such a file. */
#include "reader.h"

#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign.h"
#include "nc_log.h"

enum { CLASSIC_HEADER = 24, CLASSIC_RECORD = 16, BLOCK_FRAME = 12, SECTION_HEADER = 28 };
enum { CLASSIC_MICRO = 0xa1b2c3d4u, CLASSIC_NANO = 0xa1b23c4du, CLASSIC_MODIFIED = 0xa1b2cd34u };
enum { RECORD_MODIFIED = 24, RECORD_LONGEST = 28, RECORD_BYTES_MAX = 262144 };

unsigned pl_link_of(uint32_t linktype)
{
    switch (linktype) {
    case PL_LINKTYPE_ETHERNET:
        return NC_LINK_ETHERNET;
    case PL_LINKTYPE_RAW:
    case PL_LINKTYPE_RAW_BSD:
    case PL_LINKTYPE_RAW_OPENBSD:
    case PL_LINKTYPE_IPV4:
    case PL_LINKTYPE_IPV6:
        return NC_LINK_RAW_IP;
    case PL_LINKTYPE_LINUX_SLL:
        return NC_LINK_SLL;
    case PL_LINKTYPE_LINUX_SLL2:
        return NC_LINK_SLL2;
    case PL_LINKTYPE_NULL:
    case PL_LINKTYPE_LOOP:
        return NC_LINK_LOOPBACK;
    case PL_LINKTYPE_PPP:
    case PL_LINKTYPE_PPP_HDLC:
    case PL_LINKTYPE_C_HDLC:
        return NC_LINK_PPP;
    case PL_LINKTYPE_PPP_ETHER:
        return NC_LINK_PPP_ETHER;
    case PL_LINKTYPE_ERF:
        return NC_LINK_ERF;
    default:
        return PL_LINK_UNKNOWN;
    }
}

static int corrupt(struct pl_reader *reader, const char *what)
{
    unsigned long long offset = reader->passed + (uint64_t)(reader->at - reader->start);
    if (reader->input && pl_input_files(reader->input) > 1)
        snprintf(reader->why, sizeof reader->why, "byte %llu of '%.300s': %s", offset, pl_input_file(reader->input),
                 what);
    else
        snprintf(reader->why, sizeof reader->why, "byte %llu: %s", offset, what);
    return -1;
}

static size_t remaining(const struct pl_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static bool more(struct pl_reader *reader, size_t need)
{
    if (!reader->input)
        return false;
    reader->passed += (uint64_t)(reader->at - reader->start);
    bool enough = pl_input_more(reader->input, &reader->at, &reader->end, need);
    reader->start = reader->at;
    return enough;
}

/* True when the window has the next `need` bytes. Extends the window if necessary. */
static inline bool have(struct pl_reader *reader, size_t need)
{
    return remaining(reader) >= need || more(reader, need);
}

static void begin_section(struct pl_reader *reader)
{
    reader->earlier = pl_reader_drops(reader);
    reader->earlier_interfaces += reader->interface_n;
    reader->interface_n = 0;
    reader->sections++;
}

static struct pl_interface *add_interface(struct pl_reader *reader)
{
    if (reader->interface_n == reader->interface_room) {
        size_t room = reader->interface_room ? reader->interface_room * 2 : 4;
        struct pl_interface *grown = realloc(reader->interfaces, room * sizeof *grown);
        if (!grown)
            return NULL;
        reader->interfaces = grown;
        reader->interface_room = room;
    }
    struct pl_interface *added = &reader->interfaces[reader->interface_n++];
    *added = (struct pl_interface){.link = PL_LINK_UNKNOWN, .tsresol = 6};
    return added;
}

static struct pl_interface *interface_of(struct pl_reader *reader, uint32_t id)
{
    return id < reader->interface_n ? &reader->interfaces[id] : NULL;
}

/* One option of a block. */
struct option {
    uint16_t code, len;
    const uint8_t *value;
};
/* Takes the option at *at; false at the end of the list, or if the option does not fit. */
static bool next_option(const struct pl_reader *reader, const uint8_t **at, const uint8_t *end, struct option *option)
{
    if (end - *at < 4)
        return false;
    option->code = pl_get16(*at, reader->swapped);
    option->len = pl_get16(*at + 2, reader->swapped);
    option->value = *at + 4;
    size_t padded = ((size_t)option->len + 3) & ~(size_t)3;
    if (option->code == PL_OPT_END || (size_t)(end - option->value) < padded)
        return false;
    *at = option->value + padded;
    return true;
}

/* Reads a 64-bit value of an option, in the file's byte order. (Times in blocks differ: they are two 32-bit halves, the
 * high one first.) */
static uint64_t get64(const struct pl_reader *reader, const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return reader->swapped ? __builtin_bswap64(value) : value;
}

static uint64_t get_halves(const struct pl_reader *reader, const uint8_t *at)
{
    return (uint64_t)pl_get32(at, reader->swapped) << 32 | pl_get32(at + 4, reader->swapped);
}

static int parse_interface(struct pl_reader *reader, const uint8_t *body, size_t len)
{
    if (len < 8)
        return corrupt(reader, "interface description block too short");
    if (reader->interface_n == PL_SECTION_INTERFACES_MAX)
        return corrupt(reader, "more than 4,096 interfaces in one section");
    struct pl_interface *interface = add_interface(reader);
    if (!interface)
        return corrupt(reader, "out of memory for interfaces");
    interface->linktype = pl_get16(body, reader->swapped);
    interface->link = pl_link_of(interface->linktype);
    interface->snap_bytes = pl_get32(body + 4, reader->swapped);
    const uint8_t *at = body + 8;
    for (struct option option; next_option(reader, &at, body + len, &option);) {
        if (option.code == PL_OPT_IF_NAME)
            snprintf(interface->name, sizeof interface->name, "%.*s", (int)option.len, (const char *)option.value);
        else if (option.code == PL_OPT_IF_TSRESOL && option.len >= 1)
            interface->tsresol = option.value[0];
        else if (option.code == PL_OPT_IF_TSOFFSET && option.len >= 8)
            interface->tsoffset_s = (int64_t)get64(reader, option.value);
    }
    return 0;
}

static void parse_statistics(struct pl_reader *reader, const uint8_t *body, size_t len)
{
    struct pl_interface *interface = len >= 12 ? interface_of(reader, pl_get32(body, reader->swapped)) : NULL;
    if (!interface)
        return;
    interface->has_statistics = true;
    const uint8_t *at = body + 12;
    for (struct option option; next_option(reader, &at, body + len, &option);) {
        if (option.len < 8)
            continue;
        uint64_t value = get64(reader, option.value);
        switch (option.code) {
        case PL_OPT_ISB_ACCEPTED:
            interface->accepted = value;
            break;
        case PL_OPT_ISB_DROPPED_KERNEL:
            interface->dropped_kernel = value;
            break;
        case PL_OPT_ISB_DROPPED_INTERFACE:
            interface->dropped_interface = value;
            break;
        case PL_OPT_ISB_DELIVERED:
            interface->delivered = value;
            break;
        }
    }
}

static enum pl_next fill(struct pl_reader *reader, struct pl_frame *frame, const struct pl_interface *interface,
                         int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire)
{
    pl_reader_fill(reader, frame, (uint32_t)(interface - reader->interfaces), t_ns, data, captured, wire);
    return PL_FRAME;
}

/* Enhanced and obsolete Packet Blocks differ only in their first word. */
static enum pl_next parse_packet(struct pl_reader *reader, bool enhanced, const uint8_t *body, size_t len,
                                 struct pl_frame *frame)
{
    if (len < 20)
        return corrupt(reader, "packet block too short"), PL_CORRUPT;
    uint32_t id = enhanced ? pl_get32(body, reader->swapped) : pl_get16(body, reader->swapped);
    const struct pl_interface *interface = interface_of(reader, id);
    if (!interface)
        return corrupt(reader, "packet of an interface that was not described"), PL_CORRUPT;
    uint32_t captured = pl_get32(body + 12, reader->swapped);
    if (captured > len - 20)
        return corrupt(reader, "packet longer than its block"), PL_CORRUPT;
    int64_t t_ns = pl_ticks_to_ns(get_halves(reader, body + 4), interface->tsresol, interface->tsoffset_s);
    return fill(reader, frame, interface, t_ns, body + 20, captured, pl_get32(body + 16, reader->swapped));
}

static enum pl_next parse_simple(struct pl_reader *reader, const uint8_t *body, size_t len, struct pl_frame *frame)
{
    const struct pl_interface *interface = interface_of(reader, 0);
    if (len < 4 || !interface)
        return corrupt(reader, "simple packet block without interface or length"), PL_CORRUPT;
    uint32_t wire = pl_get32(body, reader->swapped), captured = wire;
    if (interface->snap_bytes && captured > interface->snap_bytes)
        captured = interface->snap_bytes;
    if (captured > len - 4)
        return corrupt(reader, "packet longer than its block"), PL_CORRUPT;
    return fill(reader, frame, interface, -1, body + 4, captured, wire);
}

/* Reads a section header, which sets the byte order for everything after it and for its own length. */
static int parse_section(struct pl_reader *reader)
{
    if (!have(reader, SECTION_HEADER))
        return corrupt(reader, "section header too short");
    uint32_t magic = pl_get32(reader->at + 8, false);
    if (magic != PL_BYTE_ORDER_MAGIC && magic != __builtin_bswap32(PL_BYTE_ORDER_MAGIC))
        return corrupt(reader, "section header without byte-order magic");
    reader->swapped = magic != PL_BYTE_ORDER_MAGIC;
    if (pl_get16(reader->at + 12, reader->swapped) != 1)
        return corrupt(reader, "pcapng major version is not 1");
    begin_section(reader);
    return 0;
}

/* Appends the block to the kept head if the caller wants the head and the block belongs to it. */
static int keep_head(struct pl_reader *reader, uint32_t type, uint32_t total)
{
    if (!reader->keep_head || (type != PL_BLOCK_SECTION && type != PL_BLOCK_INTERFACE))
        return 0;
    if (type == PL_BLOCK_SECTION && total < SECTION_HEADER)
        return corrupt(reader, "section header too short");
    size_t kept = type == PL_BLOCK_SECTION ? 0 : reader->head_bytes;
    if (kept + total > PL_HEAD_MAX)
        return corrupt(reader, "a section's header and interfaces are longer than 1 MiB");
    uint8_t *grown = realloc(reader->head, kept + total);
    if (!grown)
        return corrupt(reader, "out of memory for interfaces");
    memcpy(grown + kept, reader->at, total);
    if (type == PL_BLOCK_SECTION)
        memset(grown + 16, 0xff, 8); /* "length not given": the user of the head writes only a part of the section */
    reader->head = grown;
    reader->head_bytes = kept + total;
    return 0;
}

static enum pl_next next_block_frame(struct pl_reader *reader, struct pl_frame *frame)
{
    if (pl_reader_usual(reader, frame))
        return PL_FRAME;
    while (have(reader, BLOCK_FRAME)) {
        uint32_t type = pl_get32(reader->at, reader->swapped);
        if (type == PL_BLOCK_SECTION && parse_section(reader) < 0) /* this block type reads the same in both byte
                                                                    * orders */
            return PL_CORRUPT;
        uint32_t total = pl_get32(reader->at + 4, reader->swapped);
        if (total < BLOCK_FRAME || total % 4)
            return corrupt(reader, "impossible block length"), PL_CORRUPT;
        if (!have(reader, total))
            break;
        if (pl_get32(reader->at + total - 4, reader->swapped) != total)
            return corrupt(reader, "the two lengths of a block differ"), PL_CORRUPT;
        if (keep_head(reader, type, total) < 0)
            return PL_CORRUPT;
        const uint8_t *body = reader->at + 8;
        size_t len = total - BLOCK_FRAME;
        enum pl_next got = PL_END;
        if (type == PL_BLOCK_ENHANCED || type == PL_BLOCK_PACKET)
            got = parse_packet(reader, type == PL_BLOCK_ENHANCED, body, len, frame);
        else if (type == PL_BLOCK_SIMPLE)
            got = parse_simple(reader, body, len, frame);
        else if (type == PL_BLOCK_INTERFACE && parse_interface(reader, body, len) < 0)
            return PL_CORRUPT;
        else if (type == PL_BLOCK_STATISTICS)
            parse_statistics(reader, body, len);
        if (got == PL_CORRUPT)
            return PL_CORRUPT;
        reader->block = reader->at;
        reader->at += total;
        if (got == PL_FRAME)
            return PL_FRAME;
    }
    return PL_END;
}

static enum pl_next next_record(struct pl_reader *reader, struct pl_frame *frame)
{
    const uint8_t header = reader->record_bytes;
    if (!have(reader, header) || !have(reader, header + (size_t)pl_get32(reader->at + 8, reader->swapped)))
        return PL_END;
    const uint8_t *at = reader->at;
    const struct pl_interface *interface = &reader->interfaces[0]; /* a classic file has a single interface */
    uint32_t captured = pl_get32(at + 8, reader->swapped);
    uint32_t per_second = interface->tsresol == 9 ? 1000000000u : 1000000u;
    uint64_t ticks = (uint64_t)pl_get32(at, reader->swapped) * per_second + pl_get32(at + 4, reader->swapped);
    reader->block = reader->at;
    reader->at += header + captured;
    return fill(reader, frame, interface, pl_reader_ns(interface, ticks), at + header, captured,
                pl_get32(at + 12, reader->swapped));
}

/* True if `at` can be the head of a record in a file with microseconds. */
static bool is_record(const struct pl_reader *reader, const uint8_t *at)
{
    uint32_t captured = pl_get32(at + 8, reader->swapped), wire = pl_get32(at + 12, reader->swapped);
    return pl_get32(at + 4, reader->swapped) < 1000000 && captured <= RECORD_BYTES_MAX && captured <= wire &&
           wire <= RECORD_BYTES_MAX;
}

/* Finds the length of record headers by the second record. Nokia's files, and files of two old Linux distributions,
 * have the usual magic number, but their headers are 28, 24 and 20 bytes long. */
static uint8_t record_of(struct pl_reader *reader, uint8_t usual)
{
    if (!have(reader, CLASSIC_RECORD) || !is_record(reader, reader->at))
        return usual;
    size_t captured = pl_get32(reader->at + 8, reader->swapped);
    for (uint8_t header = usual; header <= RECORD_LONGEST; header += 4)
        if (have(reader, header + captured + CLASSIC_RECORD) && is_record(reader, reader->at + header + captured))
            return header;
    return usual;
}

static int open_classic(struct pl_reader *reader, uint32_t magic)
{
    bool nano = magic == CLASSIC_NANO;
    begin_section(reader);
    struct pl_interface *interface = add_interface(reader);
    if (!interface)
        return corrupt(reader, "out of memory for interfaces");
    interface->tsresol = nano ? 9 : 6;
    interface->snap_bytes = pl_get32(reader->at + 16, reader->swapped);
    interface->linktype = (uint16_t)pl_get32(reader->at + 20, reader->swapped); /* the upper half: FCS length */
    interface->link = pl_link_of(interface->linktype);
    reader->classic = true;
    reader->at += CLASSIC_HEADER;
    reader->record_bytes = CLASSIC_RECORD;
    if (!nano)
        reader->record_bytes = record_of(reader, magic == CLASSIC_MODIFIED ? RECORD_MODIFIED : CLASSIC_RECORD);
    return 0;
}

static int begin_file(struct pl_reader *reader)
{
    reader->classic = reader->swapped = false;
    if (!have(reader, SECTION_HEADER) && remaining(reader) < CLASSIC_HEADER)
        return corrupt(reader, "neither pcapng nor pcap");
    for (int swapped = 0; swapped < 2; swapped++) {
        uint32_t magic = pl_get32(reader->at, swapped);
        reader->swapped = swapped;
        if (magic == CLASSIC_MICRO || magic == CLASSIC_NANO || magic == CLASSIC_MODIFIED)
            return open_classic(reader, magic);
    }
    reader->swapped = false;
    if (remaining(reader) < SECTION_HEADER || pl_get32(reader->at, false) != PL_BLOCK_SECTION)
        return corrupt(reader, "neither pcapng nor pcap");
    return parse_section(reader);
}

int pl_reader_open(struct pl_reader *reader, const uint8_t *data, size_t len)
{
    *reader = (struct pl_reader){.start = data, .at = data, .end = data + len};
    return begin_file(reader);
}

/* Opens the window of the next file. Returns 1, or 0 if there is none, or -1 with a reason. */
static int enter_file(struct pl_reader *reader, struct nc_error *error)
{
    int status = pl_input_next_file(reader->input, error);
    if (status > 0) {
        reader->start = reader->at = reader->end = NULL;
        reader->passed = 0;
        pl_input_more(reader->input, &reader->at, &reader->end, 1);
        reader->start = reader->at;
    }
    return status;
}

int pl_reader_open_input(struct pl_reader *reader, struct pl_input *input, struct nc_error *error)
{
    *reader = (struct pl_reader){.input = input, .truncated = pl_input_missing(input) > 0};
    if (enter_file(reader, error) < 0)
        return -1;
    if (begin_file(reader) == 0)
        return 0;
    const char *file = pl_input_file(input), *cut = pl_input_cut(input);
    if (cut)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': %s, before its first packet", file, cut);
    const char *format = pl_foreign_format(reader->at, remaining(reader));
    if (format)
        return nc_fail(error, NC_EXIT_USAGE,
                       "'%.200s': a capture of %s; convert it: editcap -F pcapng '%.200s' x.pcapng", file, format,
                       file);
    return nc_fail(
        error, NC_EXIT_USAGE,
        "'%.200s': not a capture file (pcapng or pcap): %.100s; editcap -F pcapng '%.200s' x.pcapng converts "
        "other formats",
        file, reader->why, file);
}

int pl_reader_open_file(struct pl_reader *reader, const char *path, struct nc_error *error)
{
    struct pl_input *input = pl_input_open(path, error);
    if (input)
        return pl_reader_open_input(reader, input, error);
    *reader = (struct pl_reader){.input = NULL};
    return -1;
}

static void note_cut(struct pl_reader *reader)
{
    const char *why = reader->input ? pl_input_cut(reader->input) : NULL;
    if (!why && remaining(reader))
        why = "ends inside a packet";
    if (!why && reader->input && !reader->at)
        why = "is empty";
    if (!why)
        return;
    reader->truncated = true;
    if (reader->cut_files++ == 0)
        snprintf(reader->cut, sizeof reader->cut, "'%.300s': %s", reader->input ? pl_input_file(reader->input) : "",
                 why);
}

/* A file that is too short for its header counts as cut, and the set continues with the next file. */
static enum pl_next next_file(struct pl_reader *reader)
{
    enum { HEAD_BYTES = 28 };
    struct nc_error error;
    int status = 0;
    note_cut(reader);
    while (reader->input && (status = enter_file(reader, &error)) > 0) {
        if (begin_file(reader) == 0)
            return PL_FRAME;
        if (remaining(reader) >= HEAD_BYTES)
            return PL_CORRUPT;
        note_cut(reader);
    }
    if (status < 0)
        snprintf(reader->why, sizeof reader->why, "%s", error.text);
    return status < 0 ? PL_CORRUPT : PL_END;
}

enum pl_next pl_reader_next(struct pl_reader *reader, struct pl_frame *frame)
{
    enum pl_next next;
    do
        next = reader->classic ? next_record(reader, frame) : next_block_frame(reader, frame);
    while (next == PL_END && (next = next_file(reader)) == PL_FRAME);
    return next;
}

void pl_reader_report(const struct pl_reader *reader, const char *path)
{
    uint64_t missing = reader->input ? pl_input_missing(reader->input) : 0;
    if (reader->cut_files > 1)
        nc_log("%s, and %llu more files of the set are cut; all before the cuts was read", reader->cut,
               (unsigned long long)reader->cut_files - 1);
    else if (reader->cut_files)
        nc_log("%s; all before it was read", reader->cut);
    if (missing)
        nc_log("'%s': %llu files in the middle of the set are missing", path, (unsigned long long)missing);
    if (reader->unknown_links) {
        const char *name = pcap_datalink_val_to_description(reader->unknown_linktype);
        nc_log("'%s': %llu of %llu packets were not decoded: link type %u (%s) is not read; FORMAT.md, section 2, has "
               "those that are",
               path, (unsigned long long)reader->unknown_links, (unsigned long long)reader->frames,
               reader->unknown_linktype, name ? name : "no name known");
    }
}

void pl_reader_close(struct pl_reader *reader)
{
    pl_input_close(reader->input);
    free(reader->interfaces);
    free(reader->head);
    reader->head = NULL;
    reader->input = NULL;
    reader->interfaces = NULL;
}

struct pl_drops pl_reader_drops(const struct pl_reader *reader)
{
    struct pl_drops drops = reader->earlier;
    drops.known = reader->earlier_interfaces ? drops.known : reader->interface_n > 0;
    for (size_t i = 0; i < reader->interface_n; i++) {
        const struct pl_interface *interface = &reader->interfaces[i];
        drops.known = drops.known && interface->has_statistics;
        drops.kernel += interface->dropped_kernel;
        drops.interface += interface->dropped_interface;
        uint64_t known = interface->dropped_kernel + interface->delivered;
        if (interface->accepted > known)
            drops.process += interface->accepted - known;
    }
    return drops;
}
