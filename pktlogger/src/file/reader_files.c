/* The part of reader.h that is about files: where a reading begins, how it goes from file to file, and what it says of
 * files that were cut. */
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nc_log.h"
#include "foreign.h"
#include "reader.h"

int pl_reader_open(struct pl_reader *reader, const uint8_t *data, size_t len)
{
    *reader = (struct pl_reader){.start = data, .at = data, .end = data + len};
    return pl_reader_begin_file(reader);
}

/* Shows the window of the next file. Returns 1, 0 when there is none, or -1 with a reason. */
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
    if (pl_reader_begin_file(reader) == 0)
        return 0;
    const char *file = pl_input_file(input), *cut = pl_input_cut(input);
    if (cut)
        return nc_fail(error, NC_EXIT_USAGE, "'%.200s': %s, before its first packet", file, cut);
    const char *format = pl_foreign_format(reader->at, pl_reader_remaining(reader));
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
    if (!why && pl_reader_remaining(reader))
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

/* A file that is too short for its head was cut, and the set goes on behind it. */
enum pl_next pl_reader_next_file(struct pl_reader *reader)
{
    enum { HEAD_BYTES = 28 };
    struct nc_error error;
    int status = 0;
    note_cut(reader);
    while (reader->input && (status = enter_file(reader, &error)) > 0) {
        if (pl_reader_begin_file(reader) == 0)
            return PL_FRAME;
        if (pl_reader_remaining(reader) >= HEAD_BYTES)
            return PL_CORRUPT;
        note_cut(reader);
    }
    if (status < 0)
        snprintf(reader->why, sizeof reader->why, "%s", error.text);
    return status < 0 ? PL_CORRUPT : PL_END;
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
