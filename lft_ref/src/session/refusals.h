/* Streams of the peer for which there was no room: their identifiers wait here until a REFUSE is sent. A stream that is
 * refused in this way has no other state here. The peer ends it when the REFUSE arrives. Later chunks for it are
 * ignored, because its identifier is marked as begun (stream_ids.h). A peer keeps a stream until it is answered, and a
 * gateway has at most 65,536, so the ring is large enough for every peer that follows the protocol. It takes 256 KB of
 * address space, and memory only for the pages in use. Rejected: dropping the chunk; the peer would keep the stream as
 * long as the association lasts. */
#ifndef LFT_REFUSALS_H
#define LFT_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

enum { LFT_REFUSALS_MAX = 1 << 16 };

struct lft_refusals {
    uint32_t *ids;
    uint32_t head, tail; /* tail to head wait */
};

bool lft_refusals_init(struct lft_refusals *refusals); /* false: no memory */
void lft_refusals_free(struct lft_refusals *refusals);
void lft_refusals_clear(struct lft_refusals *refusals);
bool lft_refusals_add(struct lft_refusals *refusals, uint32_t id); /* false: the ring is full */
static inline bool lft_refusals_waiting(const struct lft_refusals *refusals)
{
    return refusals->head != refusals->tail;
}
uint32_t lft_refusals_first(const struct lft_refusals *refusals); /* one must be waiting */
void lft_refusals_remove(struct lft_refusals *refusals);

#endif
