/* Moves packets from the capturing thread to the files. A writing thread may empty a ring between them, so that a
 * stalling disk first fills the ring. Without a ring the capturing thread writes at once. */
#ifndef PL_HANDING_H
#define PL_HANDING_H

#include "point.h"

/* An entry for a point's files. Its data are `captured` bytes of a packet; or, where a new file begins, the drops so
 * far (struct pl_drop_counts); or the text of a comment with its terminating 0. */
enum pl_entry_kind { PL_ENTRY_PACKET, PL_ENTRY_ROTATION, PL_ENTRY_COMMENT };
struct pl_entry {
    int64_t t_ns;
    uint32_t point, captured, wire, kind;
};

struct pl_handing;

/* `ring_bytes`: rounded up to a power of two; 0: no ring and no second thread. The `points` may be opened later.
 * Returns NULL with a one-line reason. */
struct pl_handing *pl_handing_new(struct pl_point *points, uint64_t ring_bytes, struct nc_error *error);

/* Takes an entry with `len` bytes of data. False when the ring is full. */
bool pl_handing_take(struct pl_handing *handing, const struct pl_entry *entry, const void *data, size_t len);

/* Wakes the writing thread, once for many entries. */
void pl_handing_wake(struct pl_handing *handing);

/* The errno of a failed write; 0: none failed. */
int pl_handing_error(const struct pl_handing *handing);

/* Waits until everything is written. */
void pl_handing_end(struct pl_handing *handing);
void pl_handing_free(struct pl_handing *handing); /* ends it first; NULL is allowed */

#endif
