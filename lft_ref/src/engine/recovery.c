#include "recovery.h"

#include "engine_internal.h"
#include "nc_range.h"

#define NAME(number, name) name,
const char *const lft_recovery_names[] = {LFT_RECOVERY_ROWS(NAME) NULL};

/* --- selective and fec: a queue of the numbers whose last transmission is lost --- */

static bool queue_next(struct lft_engine *engine, uint64_t *number)
{
    while (engine->queue_head != engine->queue_tail) {
        uint64_t candidate = engine->queue[engine->queue_head++ & (2 * (uint64_t)engine->config.window_frames - 1)];
        if (!lft_outstanding(engine, candidate) || !lft_slot(engine, candidate)->queued)
            continue;
        lft_slot(engine, candidate)->queued--;
        *number = candidate;
        return true;
    }
    return false;
}

static void queue_push(struct lft_engine *engine, uint64_t number, unsigned copies)
{
    struct lft_tx_slot *slot = lft_slot(engine, number);
    uint64_t size = 2 * (uint64_t)engine->config.window_frames;
    while (copies-- && engine->queue_tail - engine->queue_head < size) {
        engine->queue[engine->queue_tail++ & (size - 1)] = number;
        slot->queued++;
    }
}

#define HEAVY_LOSS_PPB (1000000000 / 3)

/* A number that was lost twice or three times is sent twice, and one that was lost more often three times, because the
 * oldest hole holds up its stream. At a loss of p this costs p^2 of the line. The copies leave back to back, so a burst
 * of loss may hit all of them. At a loss above a third the limit is taken to exceed the line's rate: then each copy
 * that arrives displaces another frame, so every number is sent once. */
static void selective_lost(struct lft_engine *engine, uint64_t number)
{
    unsigned sends = lft_slot(engine, number)->sends;
    bool once = sends < 2 || engine->loss_ppb > HEAVY_LOSS_PPB;
    queue_push(engine, number, once ? 1 : sends < 4 ? 2 : 3);
}

static void selective_timeout(struct lft_engine *engine)
{
    unsigned left = 2;
    for (uint64_t n = engine->tx_base; n < engine->tx_next && left; n++)
        if (lft_outstanding(engine, n)) {
            if (!lft_slot(engine, n)->queued)
                queue_push(engine, n, 1);
            left--;
        }
}

/* Returns the time by which the peer should have reported the last transmission. If it has not, one frame is
 * retransmitted. That frame has a later counter, so the report about it reveals all other losses. */
static uint64_t selective_timeout_at(const struct lft_engine *engine)
{
    return nc_max(engine->progress_ns, engine->last_data_ns) + (lft_timeout_ns(engine) << engine->backoff);
}

/* --- Go-Back-N: everything from the oldest number on is retransmitted --- */

static bool gbn_next(struct lft_engine *engine, uint64_t *number)
{
    if (engine->resend_next < engine->tx_base)
        engine->resend_next = engine->tx_base;
    if (engine->resend_next >= engine->tx_next)
        return false;
    *number = engine->resend_next++;
    return true;
}

static void gbn_timeout(struct lft_engine *engine)
{
    engine->resend_next = engine->tx_base;
    engine->counters.go_backs++;
}

/* Returns when the timer of the oldest number expires. No timer runs while that number waits for its retransmission. */
static uint64_t gbn_timeout_at(const struct lft_engine *engine)
{
    if (engine->resend_next <= engine->tx_base)
        return LFT_NEVER;
    return lft_slot(engine, engine->tx_base)->last_sent_ns + (lft_timeout_ns(engine) << engine->backoff);
}

const struct lft_recovery_ops lft_recovery_table[LFT_RECOVERIES] = {
    [LFT_GBN_STRICT] = {.receiver_keeps = false,
                        .next = gbn_next,
                        .timeout = gbn_timeout,
                        .timeout_at = gbn_timeout_at},
    [LFT_GBN] = {.receiver_keeps = true, .next = gbn_next, .timeout = gbn_timeout, .timeout_at = gbn_timeout_at},
    [LFT_SELECTIVE] = {.receiver_keeps = true,
                       .reads_bitmap = true,
                       .next = queue_next,
                       .lost = selective_lost,
                       .timeout = selective_timeout,
                       .timeout_at = selective_timeout_at},
    [LFT_FEC] = {.receiver_keeps = true,
                 .reads_bitmap = true,
                 .coded = true,
                 .next = queue_next,
                 .lost = selective_lost,
                 .timeout = selective_timeout,
                 .timeout_at = selective_timeout_at},
};
