/* From frames to hits: packets are decoded, their payload becomes streams, and the streams are scanned. One matcher
 * belongs to one thread.
 *
 * A hit has the time and frame of the packet after which the stream held the whole match. After a gap the scan starts
 * again, because the missing bytes are not known. A rule with `^` matches there, too; `gaps`, the number of gaps before
 * the hit, shows such hits. */
#ifndef PL_STREAM_MATCHER_H
#define PL_STREAM_MATCHER_H

#include "connections.h"
#include "patterns.h"

#define PL_START_UNKNOWN UINT64_MAX

struct pl_hit {
    const struct pl_rule *rule;
    const struct pl_connection *connection;
    unsigned dir;
    uint64_t start, end; /* offsets in the stream; `end` is after the last byte; `start` may be PL_START_UNKNOWN */
    uint64_t gaps;
    uint64_t frame;
    int64_t t_ns;
};

typedef void pl_on_hit(void *context, const struct pl_hit *hit);

struct pl_matcher_counts {
    uint64_t frames, tcp, fragments, undecoded;
    uint64_t tunnelled; /* of tcp: those inside a tunnel */
    uint64_t hits;
    uint64_t scanned_bytes;
    uint64_t unscanned_bytes; /* not scanned, because the state of their stream found no memory */
};

struct pl_matcher_frame {
    enum nc_link link;
    const uint8_t *data;
    uint32_t captured, wire;
    uint64_t number;
    int64_t t_ns;
    bool tunnels; /* look for TCP inside tunnels */
};

struct pl_matcher;

/* `rules` and `patterns` must outlive the matcher. NULL without memory. */
struct pl_matcher *pl_matcher_new(const struct pl_rules *rules, struct pl_patterns *patterns,
                                  const struct pl_connections_limits *limits, uint64_t seed, pl_on_hit *on_hit,
                                  void *context);

/* Takes a frame. Returns 0, or -1 without memory or when the engine failed. */
int pl_matcher_frame(struct pl_matcher *matcher, const struct pl_matcher_frame *frame);

/* Ends all connections, which can bring further hits. */
void pl_matcher_finish(struct pl_matcher *matcher);

const struct pl_matcher_counts *pl_matcher_counts(const struct pl_matcher *matcher);
const struct pl_connections *pl_matcher_connections(const struct pl_matcher *matcher);

void pl_matcher_free(struct pl_matcher *matcher);

#endif
