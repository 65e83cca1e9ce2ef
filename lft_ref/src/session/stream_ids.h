/* Which stream identifiers the peer has begun to use. Identifiers count up and wrap around, and frames arrive once
 * but in any order. A lap is one pass through all identifiers. A chunk for a stream that is not in the table begins the
 * stream if its identifier has not been seen in this lap; otherwise the stream has ended and the chunk is ignored.
 * There is a bit for each of the 2^23 identifiers of one parity. Identifiers up to 2^22 behind the highest seen belong
 * to this lap, those ahead of it to the next. The bits take 1 MB of address space; the kernel gives a page for 32,768
 * identifiers once the first of them comes.
 * An opener keeps each stream until the peer's last chunk about it arrives, so the peer can be unaware of at most
 * 65,536 of its streams. An identifier more than twice as far ahead is an error; this bounds the bits that one chunk
 * clears. Without the bound a frame of 119 chunks took half a second.
 * Rejected: letting any chunk make a stream. A RESET for a stream that had ended would then create a stream that never
 * gets an OPEN and never ends. */
#ifndef LFT_STREAM_IDS_H
#define LFT_STREAM_IDS_H

#include <stdbool.h>
#include <stdint.h>

enum { LFT_STREAM_IDS_AHEAD = 1 << 17 };
enum lft_stream_id {
    LFT_STREAM_ID_NEW,  /* seen for the first time in this lap */
    LFT_STREAM_ID_SEEN, /* seen before */
    LFT_STREAM_ID_WRONG /* too far ahead; not marked */
};

struct lft_stream_ids {
    uint8_t *seen;
    uint32_t highest;
};

/* False: no memory. */
bool lft_stream_ids_init(struct lft_stream_ids *ids);
void lft_stream_ids_free(struct lft_stream_ids *ids);
/* Forgets all identifiers: a new association begins. */
void lft_stream_ids_clear(struct lft_stream_ids *ids);
/* Marks `id` (24 bits, always of the same parity) as seen. */
enum lft_stream_id lft_stream_ids_begin(struct lft_stream_ids *ids, uint32_t id);

#endif
