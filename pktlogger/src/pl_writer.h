/* Writes pcapng: one section, one interface, nanoseconds, Enhanced Packet Blocks, and an Interface Statistics Block at the
 * end. The file grows under a temporary name and is renamed when complete.
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

struct pl_writer {
    const char *path;
    char temporary[4096];
    int fd;
    int error;               /* errno of the first failed write; nothing is written after it */
    uint64_t packets, bytes; /* packets written; their lengths on the wire */
    size_t used;
    uint8_t *buffer;
};

/* Creates the file and writes its head. 0, or -1 with errno. */
int pl_writer_open(struct pl_writer *writer, const char *path, const struct pl_writer_info *info);

/* One packet; `data` holds `captured` bytes of the `wire` it had. Errors are kept. */
void pl_writer_packet(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire);

/* Statistics, flush, rename. 0, or -1 with errno and no file left behind. */
int pl_writer_finish(struct pl_writer *writer, const struct pl_writer_statistics *statistics);

/* Closes and removes the unfinished file. */
void pl_writer_abort(struct pl_writer *writer);

#endif
