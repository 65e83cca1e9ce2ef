/* Writes pcapng: one section, one interface or a few, nanoseconds, Enhanced Packet Blocks, and an Interface Statistics
 * Block for each interface at the end. The file grows under a temporary name and is renamed when complete.
 * Source: draft-ietf-opsawg-pcapng section 4; FORMAT.md shows the octets.
 * Rejected: libpcap's dumper, which writes classic pcap only: no interface names, comments or drop counts. */
#ifndef PL_WRITER_H
#define PL_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct pl_writer_info {
    const char *interface;   /* if_name */
    const char *description; /* if_description */
    const char *filter;      /* if_filter; NULL or empty: none */
    const char *comment;     /* of the section; NULL: none */
    uint16_t linktype;
    uint32_t snap_bytes;
};

struct pl_writer_statistics {
    uint64_t accepted;          /* passed the filter, dropped ones included */
    uint64_t dropped_kernel;    /* no room in the kernel's ring */
    uint64_t dropped_interface; /* by the interface or its driver */
    int64_t start_ns, end_ns;   /* CLOCK_REALTIME */
};

enum { PL_WRITER_INTERFACES_MAX = 4 };

struct pl_writer {
    const char *path;
    char temporary[4096];
    int fd;
    int error;               /* errno of the first failed write; nothing is written after it */
    uint64_t packets, bytes; /* packets written; their lengths on the wire */
    unsigned interfaces;
    uint64_t delivered[PL_WRITER_INTERFACES_MAX]; /* packets of each */
    size_t used;
    uint8_t *buffer;
};

/* Creates the file and writes its head with interface 0. 0, or -1 with errno. */
int pl_writer_open(struct pl_writer *writer, const char *path, const struct pl_writer_info *info);

/* A further interface; its number. Before the first packet, as some readers want it. */
unsigned pl_writer_interface(struct pl_writer *writer, const struct pl_writer_info *info);

/* What else is said of a packet. */
struct pl_writer_note {
    unsigned interface;
    uint32_t flags;      /* epb_flags; 0: none */
    const char *comment; /* NULL: none */
};

/* One packet of interface 0; `data` holds `captured` bytes of the `wire` it had. Errors are kept. */
void pl_writer_packet(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire);

/* One packet with a note. */
void pl_writer_packet_noted(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire,
                            const struct pl_writer_note *note);

/* Statistics (one for each interface), flush, rename. 0, or -1 with errno and no file left behind. */
int pl_writer_finish(struct pl_writer *writer, const struct pl_writer_statistics *statistics);

/* Closes and removes the unfinished file. */
void pl_writer_abort(struct pl_writer *writer);

#endif
