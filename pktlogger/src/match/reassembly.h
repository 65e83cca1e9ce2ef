/* One direction of a TCP connection as a stream. Every byte is delivered once and in order, or reported as missing.
 * Offsets are 64 bits. Offset 0 is the first byte after the SYN; without a SYN, the first byte seen.
 *
 * If a byte comes twice, the first copy counts. A segment that arrives before earlier bytes is held until these have
 * come, but not forever. Missing bytes become a gap, which is delivered instead of them, when
 *   - the direction, or all directions together, hold as much as their limits allow,
 *   - the receiver acknowledged the missing bytes PL_REORDER_PACKETS packets of the connection ago, so that the capture
 *     must have missed them, or
 *   - the connection ends.
 * So a limit never loses a byte that was captured: it only makes the reassembler wait less.
 *
 * Invariants: the held pieces are sorted, do not overlap, and begin after `next`; pool->used is the memory that they
 * take, at most the limit. Nothing here reads a clock or decodes packets: the results depend on the calls alone.
 * Rejected: an allocation that fits each segment. A hostile sender of one-byte segments could make the list long, and
 * every insertion walks along it. Chunks of PL_CHUNK bytes bound its length to limit / PL_CHUNK. */
#ifndef PL_REASSEMBLY_H
#define PL_REASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_CHUNK = 8192, PL_REORDER_PACKETS = 256 };
#define PL_AHEAD_MAX (INT32_C(1) << 30) /* the largest window of RFC 7323: no honest sender goes further */

/* The memory that all streams share, and its counters. */
struct pl_stream_pool {
    uint64_t stream_limit, total_limit; /* bytes that one direction may hold, and all directions together */
    uint64_t used, used_max;
    uint64_t delivered_bytes;
    uint64_t duplicate_bytes; /* bytes that came again, or after they had become a gap */
    uint64_t outside_bytes;   /* before the stream's first byte, after its FIN, or further ahead than any window */
    uint64_t gaps, gap_bytes;
};

/* The consumer of the stream. `gap` is called in place of `data` when the bytes [from, to) will not come. */
struct pl_stream_output {
    void (*data)(void *context, uint64_t offset, const uint8_t *data, size_t len);
    void (*gap)(void *context, uint64_t from, uint64_t to);
    void *context;
};

struct pl_held;

struct pl_reassembly {
    bool based;     /* `base` is known */
    bool has_fin;   /* a FIN was seen, at `fin` */
    bool ended;     /* everything before the FIN has been delivered */
    bool doubtful;  /* the receiver has acknowledged missing bytes */
    uint32_t base;  /* raw sequence number of offset 0 */
    uint64_t next;  /* offset of the next byte to deliver */
    uint64_t fin;   /* offset behind the last byte */
    uint64_t acked; /* highest offset acknowledged beyond `next` */
    uint64_t doubtful_since;
    uint64_t held_bytes;
    struct pl_held *held, *held_last;
};

/* A segment: sequence space [raw, raw + len), of which the first `have` bytes were captured. */
struct pl_stream_segment {
    uint32_t raw;
    uint32_t len, have;
    const uint8_t *data;
};

/* Sets the raw sequence number of offset 0, unless it is known. */
void pl_reassembly_base(struct pl_reassembly *stream, uint32_t raw);

/* Takes a segment and delivers what it completes. If the base is not known, the segment sets it. */
void pl_reassembly_segment(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                           const struct pl_stream_segment *segment, const struct pl_stream_output *output);

/* Takes a FIN with sequence number `raw`, after its payload. Only the first FIN counts. */
void pl_reassembly_fin(struct pl_reassembly *stream, uint32_t raw);

/* The receiver acknowledges everything before `raw`. `packets` is the number of the connection's packets so far.
 * Missing bytes that were acknowledged PL_REORDER_PACKETS packets ago become a gap. */
void pl_reassembly_acked(struct pl_reassembly *stream, struct pl_stream_pool *pool, uint32_t raw, uint64_t packets,
                         const struct pl_stream_output *output);

/* Makes gaps of all missing bytes, and delivers all held pieces. */
void pl_reassembly_flush(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                         const struct pl_stream_output *output);

#endif
