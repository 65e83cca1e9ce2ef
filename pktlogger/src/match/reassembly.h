/* One direction of a TCP connection as a stream: every byte is delivered once, in order, or said to be missing.
 * Offsets are 64 bits. Offset 0 is the first byte behind the SYN; without a SYN, the first byte that was seen.
 *
 * Of two copies of a byte the first one seen counts. A segment that lies ahead of the stream is held until the bytes
 * before it have come. It is not held for ever. The missing bytes become a gap, which is delivered in their place, when
 *   - the direction or all directions together hold as much as their limits allow,
 *   - the receiver has acknowledged the missing bytes, PL_REORDER_PACKETS packets of the connection ago, so that it
 *     was the capture that missed them, or
 *   - the connection ends.
 * So a limit never costs a byte that was captured: it only makes the reassembler less patient.
 *
 * Invariants: the held pieces are sorted, do not overlap, and begin behind `next`; pool->used is what they take, and
 * at most the limit. Nothing here reads a clock or knows of packets: it is a pure function of its calls.
 * Rejected: an allocation that fits each segment. A hostile sender of one-byte segments makes the list long, and every
 * insertion walks it; chunks of PL_CHUNK bytes bound its length to limit / PL_CHUNK. */
#ifndef PL_REASSEMBLY_H
#define PL_REASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PL_CHUNK = 8192, PL_REORDER_PACKETS = 256 };
#define PL_AHEAD_MAX (INT32_C(1) << 30) /* the largest window of RFC 7323: nothing honest is further ahead */

/* The memory that all streams share, and what happened in them. */
struct pl_stream_pool {
    uint64_t stream_limit, total_limit; /* bytes held by one direction, by all of them */
    uint64_t used, used_max;
    uint64_t delivered_bytes;
    uint64_t duplicate_bytes; /* came again, or came after they had become a gap */
    uint64_t outside_bytes;   /* before the stream's first byte, behind its FIN, or further ahead than any window */
    uint64_t gaps, gap_bytes;
};

/* Who gets the stream. `gap` says that the bytes [from, to) will not come; it is called in their place. */
struct pl_stream_output {
    void (*data)(void *context, uint64_t offset, const uint8_t *data, size_t len);
    void (*gap)(void *context, uint64_t from, uint64_t to);
    void *context;
};

struct pl_held;

struct pl_reassembly {
    bool based;     /* `base` is known */
    bool has_fin;   /* a FIN was seen, at `fin` */
    bool ended;     /* everything before the FIN was delivered */
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

/* Sets where the stream begins, unless it is known. */
void pl_reassembly_base(struct pl_reassembly *stream, uint32_t raw);

/* Takes a segment and delivers what it completes. The first one sets the base where nothing has. */
void pl_reassembly_segment(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                           const struct pl_stream_segment *segment, const struct pl_stream_output *output);

/* A FIN with sequence number `raw`, after its payload was taken. The first one counts. */
void pl_reassembly_fin(struct pl_reassembly *stream, uint32_t raw);

/* The receiver acknowledges everything before `raw`; `packets` counts the packets of the connection so far. Delivers
 * what was doubtful for PL_REORDER_PACKETS. */
void pl_reassembly_acked(struct pl_reassembly *stream, struct pl_stream_pool *pool, uint32_t raw, uint64_t packets,
                         const struct pl_stream_output *output);

/* Gives up all that is missing and delivers what is held. */
void pl_reassembly_flush(struct pl_reassembly *stream, struct pl_stream_pool *pool,
                         const struct pl_stream_output *output);

#endif
