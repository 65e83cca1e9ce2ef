/* The rows of a capture that is read again: a thread reads a few blocks ahead while another thread works on the rows.
 * Where no thread can be started, rows are read on demand.
 * Invariant: a block is the reader's until it is counted in `filled`, and then the taker's until it is in `taken`. */
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
    pthread_cond_t room, rows; /* what the reader waits for, until half of the blocks are free, and the taker, until
                                  half of them are filled: waking up costs more than a block */
    bool reader_waits, taker_waits;
    bool open, running, stop, ended; /* ended: no block follows those that are filled */
    uint64_t filled, taken;
    enum pl_row_status status; /* PL_ROW until the end, which it then tells; the reader's until `ended` */
    struct nc_error error;     /* as `status` */
};

/* Opens a capture that `first` has read to its end. Times become those of the sender's clock. Returns 0, or -1 with a
 * reason. pl_feed_close is allowed after either, and on a feed of zeros. */
int pl_feed_open(struct pl_feed *feed, const struct pl_source *source, const struct pl_index *first,
                 const struct pl_clock *clock, int end, struct nc_error *error);

/* Goes on to the next block that has a row. False at the end. */
bool pl_feed_turn(struct pl_feed *feed);

/* The next row, valid until the next call; NULL at the end, which pl_feed_failed tells from a failure. */
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
