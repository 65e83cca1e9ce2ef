/* Implements zstd_input.h. */
#include "zstd_input.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { MAGIC_BYTES = 4 };

struct pl_zstd {
    ZSTD_DStream *stream;
    ZSTD_inBuffer in;
    size_t wanted; /* by the last call: 0 at the end of a frame */
    const char *cut;
    bool ended;
};

bool pl_zstd_is(const uint8_t *data, size_t len)
{
    return len >= MAGIC_BYTES && memcmp(data, "\x28\xb5\x2f\xfd", MAGIC_BYTES) == 0;
}

struct pl_zstd *pl_zstd_open(const uint8_t *data, size_t len)
{
    struct pl_zstd *zstd = calloc(1, sizeof *zstd);
    if (!zstd)
        return NULL;
    zstd->in = (ZSTD_inBuffer){data, len, 0};
    zstd->stream = ZSTD_createDStream();
    if (zstd->stream)
        return zstd;
    free(zstd);
    return NULL;
}

size_t pl_zstd_read(struct pl_zstd *zstd, uint8_t *to, size_t room)
{
    ZSTD_outBuffer out = {to, room, 0};
    while (!zstd->ended && out.pos < out.size) {
        size_t before = out.pos, consumed = zstd->in.pos;
        if (zstd->in.pos == zstd->in.size && !zstd->wanted) {
            zstd->ended = true; /* a frame was whole, and nothing follows */
            break;
        }
        size_t got = ZSTD_decompressStream(zstd->stream, &out, &zstd->in);
        if (ZSTD_isError(got)) {
            zstd->cut = ZSTD_getErrorName(got);
            zstd->ended = true;
            break;
        }
        zstd->wanted = got;
        if (out.pos == before && zstd->in.pos == consumed) { /* it wants bytes that are not there */
            zstd->cut = "ends inside a compressed frame";
            zstd->ended = true;
        }
    }
    return out.pos;
}

size_t pl_zstd_consumed(const struct pl_zstd *zstd)
{
    return zstd->in.pos;
}

const char *pl_zstd_cut(const struct pl_zstd *zstd)
{
    return zstd->cut;
}

void pl_zstd_close(struct pl_zstd *zstd)
{
    if (!zstd)
        return;
    ZSTD_freeDStream(zstd->stream);
    free(zstd);
}
