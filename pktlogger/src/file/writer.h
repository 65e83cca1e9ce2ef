/* Writes pcapng: one section with one or a few interfaces, nanoseconds, Enhanced Packet Blocks, and an Interface
 * Statistics Block for each interface at the end. The file grows under a temporary name and is renamed when it is
 * complete. Source: draft-ietf-opsawg-pcapng section 4; FORMAT.md shows the octets.
 * Rejected: libpcap's dumper. It writes only classic pcap, without interface names, comments or drop counts. */
#ifndef PL_WRITER_H
#define PL_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pl_writer_info {
    const char *interface;   /* if_name */
    const char *description; /* if_description */
    const char *filter;      /* if_filter; NULL or empty: none */
    const char *comment;     /* comment of the section; NULL: none */
    uint16_t linktype;
    uint32_t snap_bytes;
    bool keep;     /* after a failed write, keep the file with its whole blocks; otherwise the file is removed */
    bool uncached; /* wait for the disk, and leave nothing of the file in the page cache */
};

struct pl_writer_statistics {
    uint64_t accepted;          /* packets that passed the filter, dropped ones included */
    uint64_t dropped_kernel;    /* packets for which the kernel's ring had no room */
    uint64_t dropped_interface; /* packets that the interface or its driver dropped */
    int64_t start_ns, end_ns;   /* CLOCK_REALTIME */
    const char *comment;        /* NULL, "": none */
};

enum { PL_WRITER_INTERFACES_MAX = 4 };

struct pl_writer {
    const char *path;
    char temporary[4096];
    int fd;
    int error;               /* errno of the first failed write, after which nothing is written */
    bool keep, uncached;     /* see the info struct */
    bool kept;               /* the file was kept after an error */
    uint64_t packets, bytes; /* packets written, and the sum of their lengths on the wire */
    uint64_t refused;        /* packets that were lost because a write failed */
    uint64_t flushed;        /* bytes in the file */
    unsigned interfaces;
    uint64_t delivered[PL_WRITER_INTERFACES_MAX]; /* packets of each interface */
    size_t used;
    uint8_t *buffer;
    struct ZSTD_CCtx_s *compressor; /* NULL: not compressed */
    uint8_t *frame;                 /* the buffer, compressed */
};

/* Creates the file, compressed if its name ends in .zst, and writes its head with interface 0. Returns 0, or -1 with
 * errno. */
int pl_writer_open(struct pl_writer *writer, const char *path, const struct pl_writer_info *info);

/* Adds an interface and returns its number. Call it before the first packet, because some readers want all interfaces
 * first. */
unsigned pl_writer_interface(struct pl_writer *writer, const struct pl_writer_info *info);

/* What a packet block holds in addition to the packet. */
struct pl_writer_note {
    unsigned interface;
    uint32_t flags;      /* epb_flags; 0: none */
    const char *comment; /* NULL: none */
};

/* The length of the block for a packet without a note. */
static inline size_t pl_writer_block_bytes(uint32_t captured)
{
    return 32 + (((size_t)captured + 3) & ~(size_t)3);
}

/* Writes one packet of interface 0. `data` holds `captured` of its `wire` bytes. pl_writer_finish reports errors. */
void pl_writer_packet(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire);

/* Writes one packet with a note. */
void pl_writer_packet_noted(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured,
                            uint32_t wire, const struct pl_writer_note *note);

/* Writes the buffer to the file. After this the counts are final, including the packets lost in a failed write. */
void pl_writer_settle(struct pl_writer *writer);

/* Writes the statistics, one for each interface (NULL: none are known), and gives the file its name. Returns 0, or -1
 * with errno. After an error no file is left, unless writer->kept says that the blocks before the failed write were
 * kept. */
int pl_writer_finish(struct pl_writer *writer, const struct pl_writer_statistics *statistics);

/* Closes and removes the unfinished file. */
void pl_writer_abort(struct pl_writer *writer);

#endif
