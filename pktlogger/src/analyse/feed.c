/* Implements feed.h. */
#include "feed.h"

#include <stdlib.h>

/* Fills a block. The last one may be empty. */
static void fill(struct pl_feed *feed, struct pl_feed_block *block)
{
    enum pl_row_status status = PL_ROW;
    for (block->n = 0; block->n < PL_FEED_ROWS && status == PL_ROW;)
        block->n += pl_index_rows(&feed->index, block->rows + block->n, PL_FEED_ROWS - block->n, &status, &feed->error);
    for (size_t i = 0; feed->clock->piece_n && i < block->n; i++)
        block->rows[i].t_ns = pl_clock_map(feed->clock, feed->end, block->rows[i].frame, block->rows[i].t_ns);
    feed->status = status;
}

/* Waits until there is room for block `number`. Returns false when the consumer has stopped the reader. */
static bool wait_for_room(struct pl_feed *feed, uint64_t number)
{
    pthread_mutex_lock(&feed->lock);
    while (number - feed->taken == PL_FEED_BLOCKS && !feed->stop) {
        feed->reader_waits = true;
        pthread_cond_wait(&feed->room, &feed->lock);
    }
    bool wanted = !feed->stop;
    pthread_mutex_unlock(&feed->lock);
    return wanted;
}

static void *run_reader(void *context)
{
    struct pl_feed *feed = context;
    bool ended = false;
    for (uint64_t number = 0; !ended && wait_for_room(feed, number); number++) {
        fill(feed, &feed->blocks[number % PL_FEED_BLOCKS]);
        ended = feed->status != PL_ROW;
        pthread_mutex_lock(&feed->lock);
        feed->filled = number + 1;
        feed->ended = ended;
        bool wake = feed->taker_waits && (ended || feed->filled - feed->taken >= PL_FEED_BLOCKS / 2);
        feed->taker_waits = feed->taker_waits && !wake;
        pthread_mutex_unlock(&feed->lock);
        if (wake)
            pthread_cond_signal(&feed->rows);
    }
    return NULL;
}

int pl_feed_open(struct pl_feed *feed, const struct pl_source *source, const struct pl_index *first,
                 const struct pl_clock *clock, int end, struct nc_error *error)
{
    *feed = (struct pl_feed){.clock = clock, .end = end};
    feed->open = true;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_cond_init(&feed->room, NULL);
    pthread_cond_init(&feed->rows, NULL);
    if (pl_index_open_source(&feed->index, source, error) != PL_OK)
        return -1;
    pl_index_judge_as(&feed->index, first);
    feed->blocks = malloc(PL_FEED_BLOCKS * sizeof *feed->blocks);
    if (!feed->blocks)
        return nc_fail(error, NC_EXIT_FAILED, "out of memory");
    feed->running = pthread_create(&feed->reader, NULL, run_reader, feed) == 0;
    return 0;
}

/* Returns the present block to the reader and takes the next one. Returns false at the end. */
static bool next_block(struct pl_feed *feed)
{
    if (!feed->running) {
        feed->block = feed->ended ? NULL : feed->blocks;
        if (feed->block)
            fill(feed, feed->block);
        feed->ended = feed->status != PL_ROW;
        return feed->block != NULL;
    }
    pthread_mutex_lock(&feed->lock);
    feed->taken += feed->block != NULL;
    if (feed->reader_waits && feed->filled - feed->taken <= PL_FEED_BLOCKS / 2) {
        feed->reader_waits = false;
        pthread_cond_signal(&feed->room);
    }
    feed->taker_waits = feed->taken == feed->filled && !feed->ended;
    while (feed->taker_waits)
        pthread_cond_wait(&feed->rows, &feed->lock);
    bool any = feed->taken < feed->filled;
    pthread_mutex_unlock(&feed->lock);
    feed->block = any ? &feed->blocks[feed->taken % PL_FEED_BLOCKS] : NULL;
    return any;
}

bool pl_feed_turn(struct pl_feed *feed)
{
    feed->at = 0;
    while (next_block(feed))
        if (feed->block->n)
            return true;
    return false;
}

bool pl_feed_failed(const struct pl_feed *feed, struct nc_error *error)
{
    if (feed->status != PL_ROWS_FAILED)
        return false;
    *error = feed->error;
    return true;
}

void pl_feed_close(struct pl_feed *feed)
{
    if (!feed->open)
        return;
    if (feed->running) {
        pthread_mutex_lock(&feed->lock);
        feed->stop = true;
        pthread_cond_signal(&feed->room);
        pthread_mutex_unlock(&feed->lock);
        pthread_join(feed->reader, NULL);
    }
    pthread_mutex_destroy(&feed->lock);
    pthread_cond_destroy(&feed->room);
    pthread_cond_destroy(&feed->rows);
    pl_index_free(&feed->index);
    free(feed->blocks);
    feed->open = false;
}
