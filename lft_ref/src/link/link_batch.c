/* Collects the frames and messages of a link into batches of datagrams. */
#include <string.h>

#include "link_internal.h"

static int handshake_batch(struct lft_link *link, uint64_t now_ns, struct lft_batch *batch)
{
    size_t n = 0;
    if (link->replies_n) {
        const struct lft_reply *reply = &link->replies[--link->replies_n];
        memcpy(link->batch, reply->at, n = reply->n);
        batch->to = reply->to;
    } else if (lft_link_init_to(link)->n) {
        n = lft_handshake_poll(link->handshake, now_ns, link->batch);
        batch->to = *lft_link_init_to(link);
    }
    batch->at = link->batch;
    batch->bytes = batch->segment = n;
    batch->n = n > 0;
    return n > 0;
}

static size_t next_frame(struct lft_link *link, uint64_t now_ns, uint8_t *at)
{
    struct lft_frame frame;
    if (!lft_link_may_send(link) || !lft_engine_poll(link->engine, now_ns, &frame))
        return 0;
    link->tx_key_frames++;
    struct lft_header header = {
        .spi = link->current.spi_out, .command = frame.command, .number = frame.number, .counter = frame.counter};
    return lft_seal(link->current.seal, &header, frame.payload, frame.length, at);
}

/* Fills a batch with frames of equal size, as UDP_SEGMENT requires. A shorter frame ends the batch; a longer one is
 * held for the next. */
static int frame_batch(struct lft_link *link, uint64_t now_ns, struct lft_batch *batch)
{
    *batch = (struct lft_batch){.to = link->peer, .at = link->batch};
    if (link->held_bytes) {
        memcpy(link->batch, link->held, link->held_bytes);
        batch->bytes = batch->segment = link->held_bytes;
        batch->n = 1;
        link->held_bytes = 0;
    }
    while (batch->n < LFT_BATCH_SEGMENTS && batch->bytes + batch->segment <= LFT_BATCH_BYTES) {
        size_t n = next_frame(link, now_ns, link->batch + batch->bytes);
        if (!n)
            break;
        if (!batch->n)
            batch->segment = n;
        if (n > batch->segment) {
            memcpy(link->held, link->batch + batch->bytes, n);
            link->held_bytes = n;
            break;
        }
        batch->bytes += n;
        batch->n++;
        if (n < batch->segment)
            break;
    }
    return batch->n > 0;
}

int lft_link_transmit(struct lft_link *link, uint64_t now_ns, struct lft_batch *batch)
{
    lft_link_run_timers(link, now_ns);
    if (handshake_batch(link, now_ns, batch))
        return 1;
    return lft_link_may_send(link) && frame_batch(link, now_ns, batch);
}

void lft_link_left(struct lft_link *link, uint64_t now_ns)
{
    if (link->engine)
        lft_engine_left(link->engine, now_ns);
}
