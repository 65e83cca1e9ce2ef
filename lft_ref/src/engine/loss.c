/* Decides which transmissions are lost. A transmission is considered lost when another one has arrived that was sent at
 * least reorder_ns and three counters later. Because every transmission has its own counter, the loss of a
 * retransmission is detected in the same way, and as fast, as the loss of a first transmission. */
#include "engine_internal.h"

enum { REORDER_COUNTERS = 3, CODED_COUNTERS = LFT_FEC_WINDOW_MAX + 32 };

static void count(struct lft_engine *engine, bool lost)
{
    engine->loss_ppb = engine->loss_ppb - engine->loss_ppb / 1024 + (lost ? 1000000000 / 1024 : 0);
}

static void lose(struct lft_engine *engine, uint64_t counter)
{
    struct lft_transmission *sent = lft_history(engine, counter);
    sent->fate = LFT_FATE_LOST;
    engine->counters.declared_lost++;
    if (sent->number == UINT64_MAX || !lft_outstanding(engine, sent->number))
        return;
    if (lft_slot(engine, sent->number)->last_counter == counter && engine->recovery->lost)
        engine->recovery->lost(engine, sent->number);
}

void lft_loss_resolve(struct lft_engine *engine)
{
    if (!engine->recovery->reads_bitmap) {
        engine->tx_resolved = engine->tx_largest_seen;
        return;
    }
    uint64_t margin = engine->recovery->coded ? CODED_COUNTERS : REORDER_COUNTERS;
    uint64_t largest_sent_ns = lft_history(engine, engine->tx_largest_seen)->sent_ns;
    uint64_t oldest = engine->tx_counter >= engine->history_size ? engine->tx_counter - engine->history_size + 1 : 1;
    if (engine->tx_resolved + 1 < oldest)
        engine->tx_resolved = oldest - 1;
    while (engine->tx_resolved < engine->tx_largest_seen) {
        uint64_t counter = engine->tx_resolved + 1;
        const struct lft_transmission *sent = lft_history(engine, counter);
        if (sent->fate == LFT_FATE_OPEN) {
            if (counter + margin > engine->tx_largest_seen || sent->sent_ns + engine->reorder_ns > largest_sent_ns)
                return;
            lose(engine, counter);
        }
        count(engine, sent->fate == LFT_FATE_LOST);
        engine->tx_resolved = counter;
    }
}
