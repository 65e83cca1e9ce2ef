/* Implements writer.h. Blocks are built in the buffer itself; write() is called only when it is full. In a compressed
 * file each buffer becomes one zstd frame, so that a frame can be read even if the file ends in the next one. */
#include "writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zstd.h>

#include "file_set.h"
#include "folder.h"
#include "pcapng.h"

enum {
    BUFFER_BYTES = 1 << 20,
    OPTION_TEXT_MAX = 4096,
    HEAD_MAX = 6 * OPTION_TEXT_MAX,
    STATISTICS_MAX = 512,
    ZSTD_LEVEL = 1
};

/* After a failed write: truncates the file after a whole block, so far back that the statistics, of at most
 * STATISTICS_MAX bytes, fit on a full disk. The packets after the cut are not in the file. A compressed buffer that was
 * partly written counts as not written, because half a frame contains no blocks. */
static void cut_to_blocks(struct pl_writer *writer, size_t wrote)
{
    size_t keep = 0;
    for (size_t at = 0; at < writer->used;) {
        uint32_t type, total, wire, interface;
        memcpy(&type, writer->buffer + at, sizeof type);
        memcpy(&total, writer->buffer + at + 4, sizeof total);
        if (at + total + STATISTICS_MAX <= wrote)
            keep = at + total;
        else if (type == PL_BLOCK_ENHANCED) {
            memcpy(&interface, writer->buffer + at + 8, sizeof interface);
            memcpy(&wire, writer->buffer + at + 24, sizeof wire);
            writer->packets--;
            writer->delivered[interface]--;
            writer->bytes -= wire;
            writer->refused++;
        }
        at += total;
    }
    writer->flushed += keep;
    writer->kept =
        ftruncate(writer->fd, (off_t)writer->flushed) == 0 && lseek(writer->fd, (off_t)writer->flushed, SEEK_SET) >= 0;
}

/* Compresses the buffer into one frame. Returns its length; 0 without memory. */
static size_t compress_buffer(struct pl_writer *writer)
{
    size_t len = ZSTD_compressCCtx(writer->compressor, writer->frame, ZSTD_COMPRESSBOUND(BUFFER_BYTES), writer->buffer,
                                   writer->used, ZSTD_LEVEL);
    return ZSTD_isError(len) ? 0 : len;
}

/* Writes as much of the buffer into the file as possible. *wrote is the number of bytes. Returns false, with
 * writer->error, if bytes are left. */
static bool write_buffer(struct pl_writer *writer, size_t *wrote)
{
    const uint8_t *bytes = writer->compressor ? writer->frame : writer->buffer;
    size_t len = writer->compressor ? compress_buffer(writer) : writer->used;
    *wrote = 0;
    if (len == 0 && writer->used > 0)
        writer->error = ENOMEM;
    while (*wrote < len) {
        ssize_t n = write(writer->fd, bytes + *wrote, len - *wrote);
        if (n > 0)
            *wrote += (size_t)n;
        else if (n < 0 && errno != EINTR) {
            writer->error = errno;
            break;
        }
    }
    return *wrote == len && (len > 0 || writer->used == 0);
}

/* Uncached: makes the kernel write the data and drop it from the page cache. The kernel drops large pages only as a
 * whole, so the range is the whole file. */
static void note_flushed(struct pl_writer *writer, size_t wrote)
{
    if (writer->uncached &&
        sync_file_range(writer->fd, (off_t)writer->flushed, (off_t)wrote, SYNC_FILE_RANGE_WRITE_AND_WAIT) == 0)
        posix_fadvise(writer->fd, 0, (off_t)(writer->flushed + wrote), POSIX_FADV_DONTNEED);
    writer->flushed += wrote;
}

static void flush(struct pl_writer *writer)
{
    if (writer->used && !writer->error) {
        size_t wrote;
        if (write_buffer(writer, &wrote))
            note_flushed(writer, wrote);
        else if (writer->keep && writer->flushed)
            cut_to_blocks(writer, writer->compressor ? 0 : wrote);
    }
    writer->used = 0;
}

/* Makes room for a whole block; NULL if the block is larger than the buffer. */
static uint8_t *room(struct pl_writer *writer, size_t bytes)
{
    if (writer->used + bytes > BUFFER_BYTES)
        flush(writer);
    return bytes <= BUFFER_BYTES ? writer->buffer + writer->used : NULL;
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put_halves(uint8_t *at, uint64_t value)
{
    return put32(put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static uint8_t *put_option(uint8_t *at, uint16_t code, const void *value, size_t len)
{
    at = put16(put16(at, code), (uint16_t)len);
    memcpy(at, value, len);
    size_t padding = -len & 3;
    memset(at + len, 0, padding);
    return at + len + padding;
}

static uint8_t *put_text(uint8_t *at, uint16_t code, const char *text)
{
    return text && *text ? put_option(at, code, text, strnlen(text, OPTION_TEXT_MAX - 8)) : at;
}

static uint8_t *put_count(uint8_t *at, uint16_t code, uint64_t value)
{
    return put_option(at, code, &value, sizeof value);
}

/* Ends the options and the block that began at `block`, and fills in both length fields. */
static void end_block(struct pl_writer *writer, uint8_t *block, uint8_t *at)
{
    at = put32(at, PL_OPT_END);
    uint32_t total = (uint32_t)(at + 4 - block);
    put32(block + 4, total);
    put32(at, total);
    writer->used += total;
}

static void put_section(struct pl_writer *writer, const char *comment)
{
    struct utsname os;
    char os_text[sizeof os.sysname + sizeof os.release + 1] = "";
    if (uname(&os) == 0)
        snprintf(os_text, sizeof os_text, "%s %s", os.sysname, os.release);
    uint8_t *block = room(writer, HEAD_MAX), *at = put32(block, PL_BLOCK_SECTION) + 4;
    at = put32(at, PL_BYTE_ORDER_MAGIC);
    at = put16(put16(at, 1), 0);
    at = put_halves(at, UINT64_MAX); /* section length: not given */
    at = put_text(at, PL_OPT_COMMENT, comment);
    at = put_text(at, PL_OPT_SHB_OS, os_text);
    at = put_text(at, PL_OPT_SHB_APPLICATION, "pktlogger " PKTLOGGER_VERSION);
    end_block(writer, block, at);
}

unsigned pl_writer_interface(struct pl_writer *writer, const struct pl_writer_info *info)
{
    assert(writer->interfaces < PL_WRITER_INTERFACES_MAX);
    uint8_t *block = room(writer, HEAD_MAX), *at = put32(block, PL_BLOCK_INTERFACE) + 4;
    at = put32(put16(put16(at, info->linktype), 0), info->snap_bytes);
    at = put_text(at, PL_OPT_IF_NAME, info->interface);
    at = put_text(at, PL_OPT_IF_DESCRIPTION, info->description);
    at = put_option(at, PL_OPT_IF_TSRESOL, "\x09", 1);
    if (info->filter && *info->filter) {
        char text[OPTION_TEXT_MAX - 8]; /* the option begins with a byte 0: a filter in libpcap's language */
        int n = snprintf(text + 1, sizeof text - 1, "%s", info->filter);
        text[0] = 0;
        at = put_option(at, PL_OPT_IF_FILTER, text, (size_t)n + 1 < sizeof text ? (size_t)n + 1 : sizeof text - 1);
    }
    end_block(writer, block, at);
    return writer->interfaces++;
}

static bool make_buffers(struct pl_writer *writer, bool compressed)
{
    writer->buffer = malloc(BUFFER_BYTES);
    if (!writer->buffer || !compressed)
        return writer->buffer;
    writer->frame = malloc(ZSTD_COMPRESSBOUND(BUFFER_BYTES));
    writer->compressor = ZSTD_createCCtx();
    return writer->frame && writer->compressor;
}

static void free_buffers(struct pl_writer *writer)
{
    free(writer->buffer);
    free(writer->frame);
    ZSTD_freeCCtx(writer->compressor);
    writer->buffer = writer->frame = NULL;
    writer->compressor = NULL;
}

/* Only a file may be replaced. A folder cannot be, and a device must not be. Returns 0, or -1 with errno. */
static int check_replaceable(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
        return 0;
    errno = S_ISDIR(status.st_mode) ? EISDIR : EEXIST;
    return -1;
}

int pl_writer_open(struct pl_writer *writer, const char *path, const struct pl_writer_info *info)
{
    *writer = (struct pl_writer){.path = path, .fd = -1, .keep = info->keep, .uncached = info->uncached};
    if (pl_temporary_name(path, writer->temporary, sizeof writer->temporary) < 0) {
        errno = EINVAL;
        return -1;
    }
    if (check_replaceable(path) < 0)
        return -1;
    bool ready = make_buffers(writer, pl_is_zstd_name(path));
    if (ready)
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (writer->fd < 0) {
        free_buffers(writer);
        return -1;
    }
    put_section(writer, info->comment);
    pl_writer_interface(writer, info);
    flush(writer); /* writes now, so that a full disk is noticed before the first packet */
    errno = writer->error;
    return writer->error ? -1 : 0;
}

/* Writes a packet block up to the end of its data. Returns where its options, or its end, follow; NULL without room. */
static uint8_t *put_packet(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured,
                           uint32_t wire, unsigned interface, size_t more)
{
    size_t total = pl_writer_block_bytes(captured), padded = total - 32;
    uint8_t *at = room(writer, total + more);
    if (writer->error || !at) {
        writer->refused++;
        return NULL;
    }
    at = put32(put32(put32(at, PL_BLOCK_ENHANCED), (uint32_t)total), interface);
    at = put32(put32(put_halves(at, (uint64_t)t_ns), captured), wire);
    if (padded > captured)
        put32(at + padded - 4, 0); /* pads the block; storing a whole word first takes fewer instructions than memset */
    memcpy(at, data, captured);
    writer->packets++;
    writer->delivered[interface]++;
    writer->bytes += wire;
    return at + padded;
}

void pl_writer_packet(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured, uint32_t wire)
{
    uint8_t *at = put_packet(writer, t_ns, data, captured, wire, 0, 0);
    if (!at)
        return;
    uint32_t total = (uint32_t)(at + 4 - (writer->buffer + writer->used));
    put32(at, total);
    writer->used += total;
}

void pl_writer_packet_noted(struct pl_writer *writer, int64_t t_ns, const uint8_t *data, uint32_t captured,
                            uint32_t wire, const struct pl_writer_note *note)
{
    uint8_t *at = put_packet(writer, t_ns, data, captured, wire, note->interface, OPTION_TEXT_MAX + 16);
    if (!at)
        return;
    uint8_t *block = writer->buffer + writer->used;
    at = put_text(at, PL_OPT_COMMENT, note->comment);
    if (note->flags)
        at = put_option(at, PL_OPT_PACKET_FLAGS, &note->flags, sizeof note->flags);
    end_block(writer, block, at);
}

static void put_statistics(struct pl_writer *writer, unsigned interface, const struct pl_writer_statistics *statistics)
{
    uint8_t *block = room(writer, HEAD_MAX), *at = put32(block, PL_BLOCK_STATISTICS) + 4, times[8];
    at = put_halves(put32(at, interface), (uint64_t)statistics->end_ns);
    if (!writer->kept) /* after a failed write the statistics must fit into STATISTICS_MAX, so the comment is left
                        * out */
        at = put_text(at, PL_OPT_COMMENT, statistics->comment);
    put_halves(times, (uint64_t)statistics->start_ns);
    at = put_option(at, PL_OPT_ISB_START, times, sizeof times);
    put_halves(times, (uint64_t)statistics->end_ns);
    at = put_option(at, PL_OPT_ISB_END, times, sizeof times);
    at = put_count(at, PL_OPT_ISB_RECEIVED, statistics->accepted + statistics->dropped_interface);
    at = put_count(at, PL_OPT_ISB_DROPPED_INTERFACE, statistics->dropped_interface);
    at = put_count(at, PL_OPT_ISB_ACCEPTED, statistics->accepted);
    at = put_count(at, PL_OPT_ISB_DROPPED_KERNEL, statistics->dropped_kernel);
    at = put_count(at, PL_OPT_ISB_DELIVERED, writer->delivered[interface]);
    end_block(writer, block, at);
}

void pl_writer_settle(struct pl_writer *writer)
{
    flush(writer);
}

int pl_writer_finish(struct pl_writer *writer, const struct pl_writer_statistics *statistics)
{
    flush(writer); /* writes the packets first, because the statistics count them */
    for (unsigned i = 0; statistics && i < writer->interfaces; i++)
        put_statistics(writer, i, &statistics[i]);
    if (writer->kept) {
        size_t wrote;
        if (!write_buffer(writer, &wrote) && ftruncate(writer->fd, (off_t)writer->flushed) < 0)
            writer->kept = false; /* removes a partly written block: a file without statistics is readable, but with
                                   * half of them it counts as cut */
        writer->used = 0;
        writer->kept = writer->kept && rename(writer->temporary, writer->path) == 0;
    } else
        flush(writer);
    if (!writer->error && rename(writer->temporary, writer->path) < 0)
        writer->error = errno;
    int error = writer->error;
    if (error && !writer->kept)
        pl_writer_abort(writer);
    else {
        close(writer->fd);
        free_buffers(writer);
        writer->fd = -1;
    }
    errno = error;
    return error ? -1 : 0;
}

void pl_writer_abort(struct pl_writer *writer)
{
    if (writer->fd < 0)
        return;
    close(writer->fd);
    unlink(writer->temporary);
    free_buffers(writer);
    writer->fd = -1;
}
