/* Implements patterns.h for a build without Vectorscan or Hyperscan: reports that it is missing. */
#include "patterns.h"

const char *pl_patterns_engine(void)
{
    return "none";
}

struct pl_patterns *pl_patterns_compile(const struct pl_rules *rules, const char *file, struct nc_error *error)
{
    (void)rules, (void)file;
    nc_fail(error, NC_EXIT_MISSING,
            "this pktlogger was built without a pattern matcher; install libvectorscan-dev (or libhyperscan-dev) and "
            "build again");
    return NULL;
}

void pl_patterns_free(struct pl_patterns *patterns)
{
    (void)patterns;
}

size_t pl_patterns_stream_bytes(const struct pl_patterns *patterns)
{
    (void)patterns;
    return 0;
}

void *pl_patterns_open(struct pl_patterns *patterns)
{
    (void)patterns;
    return NULL;
}

int pl_patterns_scan(struct pl_patterns *patterns, void *stream, const uint8_t *data, size_t len, pl_on_match *on_match,
                     void *context)
{
    (void)patterns, (void)stream, (void)data, (void)len, (void)on_match, (void)context;
    return -1;
}

void pl_patterns_reset(struct pl_patterns *patterns, void *stream)
{
    (void)patterns, (void)stream;
}

void pl_patterns_close(struct pl_patterns *patterns, void *stream, pl_on_match *on_match, void *context)
{
    (void)patterns, (void)stream, (void)on_match, (void)context;
}
