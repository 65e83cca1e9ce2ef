/* The second reading of a capture's rows: a thread reads a few blocks ahead while the consumer works on the rows. If
 * no thread can be started, rows are read on demand.
 * Invariant: a block belongs to the reader until `filled` counts it, and then to the consumer until `taken` counts
 * it. */
#ifndef PL_FEED_H
#define PL_FEED_H

#include <pthread.h>

#include "clock.h"
#include "index.h"

enum { PL_FEED_BLOCKS = 16, PL_FEED_ROWS = 256 };

struct pl_feed_block {
    struct pl_row rows[PL_FEED_ROWS];
    size_t n;
};

struct pl_feed {
    struct pl_index index; /* the reader's while it runs */
    const struct pl_clock *clock;
    int end;
    struct pl_feed_block *blocks; /* PL_FEED_BLOCKS */
    struct pl_feed_block *block;  /* the taker's */
    size_t at;                    /* its next row */
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t room, rows; /* the reader waits for `room` until half of the blocks are free, the consumer for
                                  `rows` until half of them are filled: a wake-up costs more than a block */
    bool reader_waits, taker_waits;
    bool open, running, stop, ended; /* ended: the filled blocks are the last */
    uint64_t filled, taken;
    enum pl_row_status status; /* PL_ROW until the end, then the reason of the end; the reader's until `ended` */
    struct nc_error error;     /* the reason, as `status` */
};

/* Opens a capture that `first` has read to its end. Times become those of the sender's clock. Returns 0, or -1 with a
 * reason. pl_feed_close is allowed after either, and on a feed of zeros. */
int pl_feed_open(struct pl_feed *feed, const struct pl_source *source, const struct pl_index *first,
                 const struct pl_clock *clock, int end, struct nc_error *error);

/* Takes the next block that has a row. False at the end. */
bool pl_feed_turn(struct pl_feed *feed);

/* The next row, valid until the next call. NULL at the end or after a failure; pl_feed_failed says which. */
static inline const struct pl_row *pl_feed_next(struct pl_feed *feed)
{
    if ((!feed->block || feed->at == feed->block->n) && !pl_feed_turn(feed))
        return NULL;
    return &feed->block->rows[feed->at++];
}

/* True when the rows ended before the capture did; `error` then has the reason. */
bool pl_feed_failed(const struct pl_feed *feed, struct nc_error *error);

void pl_feed_close(struct pl_feed *feed);

#endif
