/* Implements unpack.h. Each format is a row of a table: its first bytes, and a step function that moves both
 * cursors. */
#include "unpack.h"

#include <limits.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define XZ_MEMORY_MAX ((uint64_t)256 << 20)
#define GZIP_WITH_HEADER (MAX_WBITS + 16)

struct cursor {
    const uint8_t *at, *end;
};

enum step { STEP_INSIDE, STEP_FRAME_END, STEP_DAMAGED };

struct pl_unpack {
    const struct format *format;
    const uint8_t *start;
    struct cursor in;
    union {
        ZSTD_DStream *zstd;
        z_stream gzip;
        lzma_stream xz;
        LZ4F_dctx *lz4;
    } with;
    const char *cut;
    bool inside, ended;
};

struct format {
    const char *magic;
    size_t magic_bytes;
    bool (*begin)(struct pl_unpack *unpack);
    enum step (*step)(struct pl_unpack *unpack, uint8_t **to, size_t room);
    void (*close)(struct pl_unpack *unpack);
};

static bool begin_zstd(struct pl_unpack *unpack)
{
    unpack->with.zstd = ZSTD_createDStream();
    return unpack->with.zstd;
}

static enum step step_zstd(struct pl_unpack *unpack, uint8_t **to, size_t room)
{
    ZSTD_inBuffer in = {unpack->in.at, (size_t)(unpack->in.end - unpack->in.at), 0};
    ZSTD_outBuffer out = {*to, room, 0};
    size_t wanted = ZSTD_decompressStream(unpack->with.zstd, &out, &in);
    unpack->in.at += in.pos;
    *to += out.pos;
    if (ZSTD_isError(wanted)) {
        unpack->cut = ZSTD_getErrorName(wanted);
        return STEP_DAMAGED;
    }
    return wanted ? STEP_INSIDE : STEP_FRAME_END;
}

static void close_zstd(struct pl_unpack *unpack)
{
    ZSTD_freeDStream(unpack->with.zstd);
}

static bool begin_gzip(struct pl_unpack *unpack)
{
    return inflateInit2(&unpack->with.gzip, GZIP_WITH_HEADER) == Z_OK;
}

static enum step step_gzip(struct pl_unpack *unpack, uint8_t **to, size_t room)
{
    z_stream *stream = &unpack->with.gzip;
    size_t left = (size_t)(unpack->in.end - unpack->in.at);
    stream->next_in = (Bytef *)(uintptr_t)unpack->in.at;
    stream->avail_in = left < UINT_MAX ? (uInt)left : UINT_MAX;
    stream->next_out = *to;
    stream->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
    int status = inflate(stream, Z_NO_FLUSH);
    unpack->in.at = stream->next_in;
    *to = stream->next_out;
    if (status == Z_STREAM_END)
        return inflateReset(stream), STEP_FRAME_END;
    if (status == Z_OK || status == Z_BUF_ERROR)
        return STEP_INSIDE;
    unpack->cut = stream->msg ? stream->msg : "damaged gzip data";
    return STEP_DAMAGED;
}

static void close_gzip(struct pl_unpack *unpack)
{
    inflateEnd(&unpack->with.gzip);
}

static bool begin_xz(struct pl_unpack *unpack)
{
    unpack->with.xz = (lzma_stream)LZMA_STREAM_INIT;
    return lzma_stream_decoder(&unpack->with.xz, XZ_MEMORY_MAX, 0) == LZMA_OK;
}

static enum step step_xz(struct pl_unpack *unpack, uint8_t **to, size_t room)
{
    lzma_stream *stream = &unpack->with.xz;
    stream->next_in = unpack->in.at;
    stream->avail_in = (size_t)(unpack->in.end - unpack->in.at);
    stream->next_out = *to;
    stream->avail_out = room;
    lzma_ret status = lzma_code(stream, LZMA_RUN);
    unpack->in.at = stream->next_in;
    *to = stream->next_out;
    if (status == LZMA_STREAM_END)
        return lzma_stream_decoder(stream, XZ_MEMORY_MAX, 0) == LZMA_OK ? STEP_FRAME_END : STEP_DAMAGED;
    if (status == LZMA_OK || status == LZMA_BUF_ERROR)
        return STEP_INSIDE;
    unpack->cut = status == LZMA_MEMLIMIT_ERROR ? "its dictionary is longer than 256 MB" : "damaged xz data";
    return STEP_DAMAGED;
}

static void close_xz(struct pl_unpack *unpack)
{
    lzma_end(&unpack->with.xz);
}

static bool begin_lz4(struct pl_unpack *unpack)
{
    return !LZ4F_isError(LZ4F_createDecompressionContext(&unpack->with.lz4, LZ4F_VERSION));
}

static enum step step_lz4(struct pl_unpack *unpack, uint8_t **to, size_t room)
{
    size_t in = (size_t)(unpack->in.end - unpack->in.at), out = room;
    size_t wanted = LZ4F_decompress(unpack->with.lz4, *to, &out, unpack->in.at, &in, NULL);
    if (LZ4F_isError(wanted)) {
        unpack->cut = LZ4F_getErrorName(wanted);
        return STEP_DAMAGED;
    }
    unpack->in.at += in;
    *to += out;
    return wanted ? STEP_INSIDE : STEP_FRAME_END;
}

static void close_lz4(struct pl_unpack *unpack)
{
    LZ4F_freeDecompressionContext(unpack->with.lz4);
}

static const struct format FORMATS[] = {
    {"\x28\xb5\x2f\xfd", 4, begin_zstd, step_zstd, close_zstd},
    {"\x1f\x8b\x08", 3, begin_gzip, step_gzip, close_gzip},
    {"\xfd\x37zXZ\0", 6, begin_xz, step_xz, close_xz},
    {"\x04\x22\x4d\x18", 4, begin_lz4, step_lz4, close_lz4},
};

static const struct format *format_of(const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < sizeof FORMATS / sizeof *FORMATS; i++)
        if (len >= FORMATS[i].magic_bytes && memcmp(data, FORMATS[i].magic, FORMATS[i].magic_bytes) == 0)
            return &FORMATS[i];
    return NULL;
}

bool pl_unpack_is(const uint8_t *data, size_t len)
{
    return format_of(data, len) != NULL;
}

struct pl_unpack *pl_unpack_open(const uint8_t *data, size_t len)
{
    struct pl_unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack)
        return NULL;
    unpack->format = format_of(data, len);
    unpack->start = data;
    unpack->in = (struct cursor){data, data + len};
    if (unpack->format && unpack->format->begin(unpack))
        return unpack;
    free(unpack);
    return NULL;
}

/* True when a frame is complete and nothing that belongs to the file follows. Zeros at the end are padding of gzip and
 * xz. */
static bool at_end(const struct pl_unpack *unpack)
{
    const uint8_t *at = unpack->in.at;
    while (at < unpack->in.end && *at == 0)
        at++;
    return !unpack->inside && at == unpack->in.end;
}

size_t pl_unpack_read(struct pl_unpack *unpack, uint8_t *to, size_t room)
{
    uint8_t *out = to;
    while (!unpack->ended && (size_t)(out - to) < room) {
        const uint8_t *before = unpack->in.at;
        uint8_t *written = out;
        if (at_end(unpack)) {
            unpack->ended = true;
            break;
        }
        enum step step = unpack->format->step(unpack, &out, room - (size_t)(out - to));
        unpack->inside = step == STEP_INSIDE;
        unpack->ended = step == STEP_DAMAGED;
        if (step == STEP_INSIDE && out == written &&
            unpack->in.at == before) { /* the file ends, and the decoder needs more bytes */
            unpack->cut = "ends inside a compressed frame";
            unpack->ended = true;
        }
    }
    return (size_t)(out - to);
}

size_t pl_unpack_consumed(const struct pl_unpack *unpack)
{
    return (size_t)(unpack->in.at - unpack->start);
}

const char *pl_unpack_cut(const struct pl_unpack *unpack)
{
    return unpack->cut;
}

void pl_unpack_close(struct pl_unpack *unpack)
{
    if (!unpack)
        return;
    unpack->format->close(unpack);
    free(unpack);
}
