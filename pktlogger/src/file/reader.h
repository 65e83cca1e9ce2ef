/* Reads captures from memory, from a file or from the files of a set (input.h).
 * Formats: pcapng (both byte orders, several sections and interfaces, any time resolution, Enhanced, Simple and
 * obsolete Packet Blocks; unknown blocks are skipped), and classic pcap (micro- and nanoseconds, both byte orders, and
 * its variants with longer record headers: Kuznetsov's, Nokia's). Frames are numbered from 1 in file order, as tshark
 * counts. Every file of a set starts with a new header, but the frame numbers continue.
 * Invariant: start <= at <= end, and nothing outside [start, end) is read, whatever the bytes contain.
 * Sources: draft-ietf-opsawg-pcapng sections 3 and 4, draft-ietf-opsawg-pcap.
 * Rejected: libpcap's own reader. It copies each packet, supports one link type per file and hides interface
 * statistics. */
#ifndef PL_READER_H
#define PL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes.h"
#include "input.h"
#include "nc_packet.h"
#include "pcapng.h"

#define PL_LINK_UNKNOWN NC_LINK_N

enum { PL_INTERFACE_NAME = 128 }; /* names of Windows interfaces have 50 characters */

struct pl_interface {
    unsigned link;                /* enum nc_link or PL_LINK_UNKNOWN */
    uint16_t linktype;            /* link type as in the file */
    uint32_t snap_bytes;          /* 0: no limit */
    uint8_t tsresol;              /* as in if_tsresol */
    char name[PL_INTERFACE_NAME]; /* as in if_name, cut to fit */
    int64_t tsoffset_s;
    bool has_statistics;
    uint64_t accepted, dropped_kernel, dropped_interface, delivered;
};

struct pl_frame {
    uint64_t number;
    int64_t t_ns; /* CLOCK_REALTIME; -1: outside 0 … 2^62, and in a Simple Packet Block */
    uint32_t captured, wire;
    uint32_t interface; /* number of its interface in the section */
    unsigned link;      /* enum nc_link or PL_LINK_UNKNOWN */
    const uint8_t *data;
};

#define PL_HEAD_MAX ((size_t)1 << 20) /* largest kept head, because each flow's file has a copy of it */

/* Largest number of interfaces per section. The limit stops a small compressed file from demanding much memory. */
enum { PL_SECTION_INTERFACES_MAX = 4096 };

/* Packets that the file lacks because the kernel's ring, an interface or the capturing process dropped them, over all
 * interfaces. */
struct pl_drops {
    bool known; /* every interface has a statistics block */
    uint64_t kernel, interface, process;
};

struct pl_reader {
    const uint8_t *start, *at, *end; /* the window of the file that is in memory */
    uint64_t passed;                 /* bytes of the file before `start` */
    struct pl_input *input;          /* source of the next window; NULL: all bytes are in memory */
    bool classic, swapped;
    uint8_t record_bytes; /* classic: length of a record's header */
    bool truncated;       /* a file was cut, so only what precedes the cut was read; or the set lacks a file */
    uint64_t cut_files;   /* files that were cut, or whose compression is damaged */
    char cut[512];        /* the first such file, and the reason */
    uint64_t frames;
    uint64_t unknown_links; /* frames with unsupported link types, and the last such type */
    uint16_t unknown_linktype;
    uint64_t sections;               /* pcapng sections and classic files so far */
    struct pl_interface *interfaces; /* interfaces of the present section */
    size_t interface_n, interface_room;
    struct pl_drops earlier; /* statistics of earlier sections */
    uint64_t earlier_interfaces;
    const uint8_t *block; /* start of the last frame's bytes, which end at `at`: a pcapng block or a classic record */
    bool keep_head;       /* keep the head of the section; the caller sets it after opening */
    uint8_t *head;        /* pcapng: the section header, with its length not given, and the interfaces so far */
    size_t head_bytes;
    char why[512]; /* the reason for PL_CORRUPT */
};

enum pl_next { PL_FRAME, PL_END, PL_CORRUPT };

/* Recognises the format. Returns 0, or -1 with a reason in reader->why; pl_reader_close is allowed after either. */
int pl_reader_open(struct pl_reader *reader, const uint8_t *data, size_t len);

/* The same for the file or the set `path`; the reason is in `error`. */
int pl_reader_open_file(struct pl_reader *reader, const char *path, struct nc_error *error);

/* The same for an input, which the reader closes. */
int pl_reader_open_input(struct pl_reader *reader, struct pl_input *input, struct nc_error *error);

/* Reads the next frame. It is valid until the next call; a frame from memory stays valid as long as the memory. Do not
 * call this again after PL_END or PL_CORRUPT. */
enum pl_next pl_reader_next(struct pl_reader *reader, struct pl_frame *frame);

/* Converts ticks in an if_tsresol unit to nanoseconds; -1 when the result is not within 0 … 2^62. */
__attribute__((noinline)) int64_t pl_ticks_to_ns(uint64_t ticks, uint8_t tsresol, int64_t offset_s);

/* Fills in the next frame, which belongs to interface `id`. */
static inline void pl_reader_fill(struct pl_reader *reader, struct pl_frame *frame, uint32_t id, int64_t t_ns,
                                  const uint8_t *data, uint32_t captured, uint32_t wire)
{
    const struct pl_interface *interface = &reader->interfaces[id];
    frame->number = ++reader->frames;
    frame->t_ns = t_ns;
    frame->wire = wire;
    frame->captured = captured < wire ? captured : wire; /* bytes beyond the packet's length are padding */
    frame->interface = id;
    frame->link = interface->link;
    frame->data = data;
    if (interface->link == PL_LINK_UNKNOWN) {
        reader->unknown_links++;
        reader->unknown_linktype = interface->linktype;
    }
}

/* Does the same as pl_ticks_to_ns, inline for the two usual resolutions. */
static inline int64_t pl_reader_ns(const struct pl_interface *interface, uint64_t ticks)
{
    const uint64_t limit_ns = UINT64_C(1) << 62;
    if (interface->tsoffset_s == 0 && interface->tsresol == 9 && ticks < limit_ns)
        return (int64_t)ticks;
    if (interface->tsoffset_s == 0 && interface->tsresol == 6 && ticks < limit_ns / 1000)
        return (int64_t)(ticks * 1000);
    return pl_ticks_to_ns(ticks, interface->tsresol, interface->tsoffset_s);
}

/* Reads the next frame if it is a complete Enhanced Packet Block in this machine's byte order, as nearly all blocks
 * are. Otherwise returns false and changes nothing, and pl_reader_next reads it. */
static inline bool pl_reader_usual(struct pl_reader *reader, struct pl_frame *frame)
{
    enum { HEAD = 28, FRAME = 32 };
    const uint8_t *at = reader->at;
    size_t left = (size_t)(reader->end - at);
    if (reader->classic || reader->swapped || left < FRAME || pl_get32(at, false) != PL_BLOCK_ENHANCED)
        return false;
    uint32_t total = pl_get32(at + 4, false), id = pl_get32(at + 8, false), captured = pl_get32(at + 20, false);
    if (total > left || total < FRAME || total % 4 || captured > total - FRAME || id >= reader->interface_n ||
        pl_get32(at + total - 4, false) != total)
        return false;
    const struct pl_interface *interface = &reader->interfaces[id];
    uint64_t ticks = (uint64_t)pl_get32(at + 12, false) << 32 | pl_get32(at + 16, false);
    reader->block = at;
    reader->at = at + total;
    pl_reader_fill(reader, frame, id, pl_reader_ns(interface, ticks), at + HEAD, captured, pl_get32(at + 24, false));
    return true;
}

void pl_reader_close(struct pl_reader *reader);

/* Call it after the end. Reports on stderr which files of `path` were cut or missing, and how many packets have an
 * unsupported link type. Prints nothing if there are none. */
void pl_reader_report(const struct pl_reader *reader, const char *path);

/* Sums the statistics of the interfaces of all sections so far. */
struct pl_drops pl_reader_drops(const struct pl_reader *reader);

/* The enum nc_link of a link type, or PL_LINK_UNKNOWN. */
unsigned pl_link_of(uint32_t linktype);

#endif
