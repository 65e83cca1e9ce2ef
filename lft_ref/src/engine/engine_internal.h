/* The engine's state, for its own files only.
 * Sender: the numbers [tx_base, tx_next) are outstanding; slot n % window holds the buffer of n until n is
 * acknowledged. Every transmission of any command has a counter. history[counter % size] describes a transmission until
 * its fate (arrived or lost) is known. The fate of all counters up to tx_resolved is known. Receiver: all numbers below
 * rx_expected have arrived; rx_bits shows which later ones have. */
#ifndef LFT_ENGINE_INTERNAL_H
#define LFT_ENGINE_INTERNAL_H

#include "engine_types.h"
#include "fec.h"
#include "rate_auto.h"
#include "recovery.h"
#include "replay.h"
#include "shaper.h"
#include "train.h"

#define LFT_NEVER UINT64_MAX
enum { LFT_REPORT_MEMORY = 8, LFT_ACK_REPEATS = 2, LFT_RX_SPAN_BITS = 22 };
#define LFT_RX_SPAN (UINT64_C(1) << LFT_RX_SPAN_BITS)

struct lft_tx_slot {
    struct lft_buffer *buffer; /* NULL: acknowledged */
    uint64_t last_counter, last_sent_ns;
    uint16_t length;
    uint8_t sends;  /* saturating */
    uint8_t queued; /* how many retransmissions of this frame wait to be sent */
};

enum lft_fate { LFT_FATE_OPEN, LFT_FATE_ARRIVED, LFT_FATE_LOST };
struct lft_transmission {
    uint64_t number; /* the frame's number; UINT64_MAX when the transmission carried no DATA payload */
    uint64_t sent_ns;
    uint64_t sent_bytes; /* octets sent up to and with this transmission */
    uint32_t wire_bytes;
    uint8_t fate;
};

struct lft_round_trip {
    uint64_t srtt_ns, rttvar_ns, min_ns;
    /* The smallest one-way delay in the current and in the previous 10 s. It may be negative, because the clocks of the
     * two ends differ. */
    int64_t owd_min_us[2];
    uint64_t owd_turn_ns, queue_ns;
};

struct lft_engine {
    struct lft_engine_config config;
    struct lft_source source;
    struct lft_engine_counters counters;
    const struct lft_recovery_ops *recovery, *peer_recovery;
    struct lft_shaper shaper;
    struct lft_rate_auto rate;
    struct lft_train train;
    struct lft_round_trip rtt;
    bool running;
    uint32_t payload_max;
    uint64_t trim_ns; /* when the pools next return unused memory */
    uint64_t last_heard_ns, last_sent_ns;

    /* sender */
    struct lft_pool *tx_pool;
    struct lft_tx_slot *slots;
    uint64_t tx_base, tx_next, outstanding;
    struct lft_transmission *history;
    uint64_t history_size, tx_counter, tx_bytes, tx_resolved, tx_largest_seen;
    uint64_t reorder_ns, loss_ppb;
    uint64_t *queue; /* numbers to retransmit */
    uint64_t queue_head, queue_tail;
    uint64_t resend_next;        /* gbn: the next number to retransmit, tx_next: none */
    uint64_t copy_from, copy_to; /* redundancy: this pass still has to copy the numbers [copy_from, copy_to) */
    uint64_t copy_pass_ns;       /* when this pass of copies began */
    uint64_t fresh_ns;           /* when fresh DATA was last sent */
    /* progress_ns: when an acknowledgement last brought new information. last_data_ns: when DATA was last sent, fresh
     * or retransmitted. */
    uint64_t progress_ns, last_data_ns;
    unsigned backoff;
    bool knock; /* the tunnel is down and a time-out has passed: one retransmission may be sent */
    struct lft_fec_tx *fec_tx;
    uint64_t fec_debt; /* repairs due, in thousandths of a repair */

    /* receiver */
    struct lft_pool *rx_pool;
    struct lft_buffer *rx_scratch;
    struct lft_replay replay;
    uint64_t *rx_bits;
    uint64_t rx_expected, rx_highest; /* rx_highest: one above the highest number that has arrived */
    uint64_t largest_arrival_ns;
    uint64_t reported[LFT_REPORT_MEMORY]; /* the largest counter in each of the last reports to the peer */
    unsigned reported_next;
    uint64_t ack_at_ns;
    unsigned ack_pending, ack_repeats;
    struct lft_fec_rx *fec_rx;
    uint32_t recovered[LFT_RECOVERED_MAX];
    uint8_t recovered_age[LFT_RECOVERED_MAX], recovered_n;

    /* PROBE, PROBE-REPLY and CLOSE */
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
/* The largest frame on the wire. */
static inline uint32_t lft_frame_bytes(const struct lft_engine *engine)
{
    return engine->payload_max + LFT_FRAME_OVERHEAD + engine->config.outer_bytes;
}
static inline bool lft_outstanding(const struct lft_engine *engine, uint64_t number)
{
    return number >= engine->tx_base && number < engine->tx_next && lft_slot(engine, number)->buffer;
}

/* The files of the engine, lowest layer first. A file calls only files that come before it in this list. */

/* round_trip.c */
uint64_t lft_ack_interval(const struct lft_engine *engine);
uint64_t lft_timeout_ns(const struct lft_engine *engine); /* without backoff */
void lft_round_trip_sample(struct lft_engine *engine, const struct lft_report *report, uint64_t now_ns);
/* Raises the minimum one-way delay, because the path has become longer. Delay above that minimum counts as queueing
 * delay. */
void lft_round_trip_raise_base(struct lft_round_trip *rtt, uint64_t rise_ns, uint64_t now_ns);
/* recovery.c: recovery.h. */
/* loss.c: decides which of the transmissions before `tx_largest_seen` are lost. */
void lft_loss_resolve(struct lft_engine *engine);
/* ack.c: builds a report in engine->scratch and returns its length; takes a report from the peer. */
size_t lft_ack_build(struct lft_engine *engine, uint8_t flags, uint64_t now_ns);
void lft_ack_take(struct lft_engine *engine, const struct lft_frame *frame, uint64_t now_ns);
/* engine_receive.c: takes a payload that the erasure code has recovered. */
void lft_rx_found(void *engine, uint64_t number, const uint8_t *payload, size_t length);
/* engine_poll.c, engine.c: engine.h. */

#endif
