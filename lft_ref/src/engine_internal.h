/* The engine's state, shared by its own files only.
 * Sender: numbers [tx_base, tx_next) are outstanding; slot n % window holds a buffer until n is acknowledged. Every transmission of whatever
 * command has a counter; history[counter % size] says what it was, until it is known to have arrived or to be lost; all counters below
 * tx_resolved are. Receiver: all numbers below rx_expected have arrived, rx_bits says which above. */
#ifndef LFT_ENGINE_INTERNAL_H
#define LFT_ENGINE_INTERNAL_H

#include "engine.h"
#include "fec.h"
#include "rate_auto.h"
#include "recovery.h"
#include "replay.h"
#include "shaper.h"

#define LFT_NEVER UINT64_MAX
enum { LFT_REPORT_MEMORY = 8, LFT_ACK_REPEATS = 2, LFT_RX_SPAN_BITS = 22 };
#define LFT_RX_SPAN (UINT64_C(1) << LFT_RX_SPAN_BITS)

struct lft_tx_slot {
    struct lft_buffer *buffer; /* NULL: acknowledged */
    uint64_t last_counter, last_sent_ns;
    uint16_t length;
    uint8_t sends; /* saturating */
    uint8_t queued; /* waits for retransmission so many times */
};

enum lft_fate { LFT_FATE_OPEN, LFT_FATE_ARRIVED, LFT_FATE_LOST };
struct lft_transmission {
    uint64_t number; /* UINT64_MAX: not a DATA payload */
    uint64_t sent_ns;
    uint32_t wire_bytes;
    uint8_t fate;
};

struct lft_round_trip {
    uint64_t srtt_ns, rttvar_ns, min_ns;
    int64_t owd_min_us[2]; /* of this and the last half minute, relative */
    uint64_t owd_turn_ns, queue_ns;
};

struct lft_engine {
    struct lft_engine_config config;
    struct lft_source source;
    struct lft_engine_counters counters;
    const struct lft_recovery_ops *recovery, *peer_recovery;
    struct lft_shaper shaper;
    struct lft_rate_auto rate;
    struct lft_round_trip rtt;
    bool running;
    uint32_t payload_max;
    uint64_t trim_ns; /* when the pools give back what they did not use */
    uint64_t last_heard_ns, last_sent_ns;

    /* sender */
    struct lft_pool *tx_pool;
    struct lft_tx_slot *slots;
    uint64_t tx_base, tx_next, outstanding;
    struct lft_transmission *history;
    uint64_t history_size, tx_counter, tx_resolved, tx_largest_seen;
    uint64_t reorder_ns, loss_ppb;
    uint64_t *queue; /* numbers to send again */
    uint64_t queue_head, queue_tail;
    uint64_t resend_next; /* gbn: all before have been sent again */
    uint64_t copy_next, copy_pass_ns, fresh_ns; /* fresh_ns: of the last new DATA */
    uint64_t progress_ns, last_data_ns; /* of the last acknowledgement that told something new; of the last DATA payload sent */
    unsigned backoff;
    struct lft_fec_tx *fec_tx;
    uint64_t fec_debt; /* repairs due, in 1/1000 */

    /* receiver */
    struct lft_pool *rx_pool;
    struct lft_buffer *rx_scratch;
    struct lft_replay replay;
    uint64_t *rx_bits;
    uint64_t rx_expected, rx_highest; /* rx_highest: one above the highest that arrived */
    uint64_t largest_arrival_ns;
    uint64_t reported[LFT_REPORT_MEMORY]; /* largest counter of the last reports */
    unsigned reported_next;
    uint64_t ack_at_ns;
    unsigned ack_pending, ack_repeats;
    struct lft_fec_rx *fec_rx;
    uint32_t recovered[LFT_RECOVERED_MAX];
    uint8_t recovered_age[LFT_RECOVERED_MAX], recovered_n;

    /* odd jobs */
    uint32_t probe_bytes, probe_id, probe_answered;
    uint32_t reply_bytes, reply_id;
    unsigned close_left, close_code, closed_by_peer;
    uint8_t scratch[LFT_PAYLOAD_MAX + 16];
};

static inline struct lft_tx_slot *lft_slot(const struct lft_engine *engine, uint64_t number)
{
    return &engine->slots[number & (engine->config.window_frames - 1)];
}
static inline struct lft_transmission *lft_history(const struct lft_engine *engine, uint64_t counter)
{
    return &engine->history[counter & (engine->history_size - 1)];
}
static inline bool lft_outstanding(const struct lft_engine *engine, uint64_t number)
{
    return number >= engine->tx_base && number < engine->tx_next && lft_slot(engine, number)->buffer;
}

uint64_t lft_ack_interval(const struct lft_engine *engine);
uint64_t lft_timeout_ns(const struct lft_engine *engine); /* without backoff */
/* ack.c: builds a report into engine->scratch; takes one in. */
size_t lft_ack_build(struct lft_engine *engine, uint64_t now_ns);
void lft_ack_take(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns);
/* Number n has arrived there: its buffer goes. */
void lft_tx_acknowledged(struct lft_engine *engine, uint64_t number);
/* loss.c: resolves history up to what `tx_largest_seen` shows. */
void lft_loss_resolve(struct lft_engine *engine);
void lft_round_trip_sample(struct lft_engine *engine, const struct lft_report *report, uint64_t now_ns);
/* engine_receive.c: a DATA payload known in whichever way. */
void lft_rx_data(struct lft_engine *engine, uint64_t number, struct lft_buffer *buffer, const uint8_t *payload, size_t length,
                 uint64_t now_ns);
void lft_rx_found(void *engine, uint64_t number, const uint8_t *payload, size_t length);
#endif
