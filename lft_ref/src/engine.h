/* The engine: what of an association is sent when, and what has arrived. A pure state machine, both directions, `now_ns` passed in; it
 * knows neither keys nor sockets nor streams. Used by link.c (gateway) and by lft-sim in the same way:
 *
 *   lft_engine_poll → the next transmission, or none; called until none or the batch is full. It asks `source.fill` for the payload
 *                     of a fresh DATA frame when the limit, memory and recovery allow one, so data is bound to frames as late as
 *                     possible and what waits in streams stays fair.
 *   lft_engine_receive → one authentic frame. A DATA payload is handed to `source.deliver` exactly once for every number, in order of arrival
 *                     (`gbn-strict`: in order of numbers).
 *   lft_engine_next_ns → when to call poll again if nothing happens before.
 *
 * Memory: payloads of unacknowledged frames live in buffers of `tx_pool`; when the pool is empty no fresh DATA is made (backpressure: streams
 * fill up, then the relay stops reading). A received payload lives in a buffer of `rx_pool`, which `deliver` may keep by lft_buffer_hold.
 * When rx_pool is empty frames are dropped before they are marked as received, so they come again.
 * Time of a frame is O(1), but for `fec`. Strategies are rows of lft_recovery_ops (recovery.h). */
#ifndef LFT_ENGINE_H
#define LFT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"
#include "wire.h"

enum lft_recovery { LFT_GBN_STRICT, LFT_GBN, LFT_SELECTIVE, LFT_FEC, LFT_RECOVERIES };
extern const char *const lft_recovery_names[]; /* NULL-terminated, indexed by enum lft_recovery */

enum lft_rate_mode { LFT_RATE_FIXED, LFT_RATE_AUTO, LFT_RATE_MODES };

/* Classes of transmissions, in order of priority. Limit and counters hold for each. */
enum lft_class { LFT_CLASS_ACK, LFT_CLASS_RETRANSMISSION, LFT_CLASS_DATA, LFT_CLASS_REDUNDANT, LFT_CLASSES };
extern const char *const lft_class_names[];

/* Streams above the engine, or a test. */
struct lft_source {
    /* Writes up to `room` octets of chunks; returns how many, 0: nothing to send now. */
    size_t (*fill)(void *user, uint8_t *at, size_t room, uint64_t now_ns);
    /* True when fill would give something. Cheap. */
    bool (*waiting)(void *user);
    /* A payload, exactly once. `payload` points into `buffer`, which stays valid after return only if held. */
    void (*deliver)(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns);
    void *user;
};

struct lft_engine_config {
    enum lft_recovery recovery;
    bool redundancy;              /* copies of unacknowledged frames when there is nothing else to send */
    enum lft_rate_mode rate_mode;
    uint64_t rate_bps;            /* limit at the wire; 0: none. With LFT_RATE_AUTO the most that may be tried */
    uint32_t payload_max;         /* of a DATA frame; lft_engine_set_payload_max changes it */
    uint32_t outer_bytes;         /* counted a frame besides the frame itself: 28 for IPv4/UDP, 48 IPv6/UDP, 20, 40 for esp; + 38 with Ethernet */
    uint32_t padding_block;       /* 4 or 8 (lft_cipher_block) */
    uint32_t window_frames;       /* unacknowledged frames at most, a power of two up to 2^22 */
    size_t tx_memory_bytes, rx_memory_bytes;
    uint64_t keepalive_ns;        /* an ACK at least so often, while idle; default 200 ms when 0 */
    uint64_t initial_rtt_ns;      /* before the first sample; 0: 200 ms */
    uint32_t fec_percent;         /* LFT_FEC: repairs per 100 data frames; 0: from the measured loss */
    uint64_t first_number;        /* of both ends; 0 but in tests of the wrap-around */
};

/* One transmission as poll gives it and receive takes it. */
struct lft_frame {
    uint8_t command;      /* enum lft_command */
    uint32_t number;      /* 24 bits */
    uint64_t counter;
    const uint8_t *payload;
    size_t length;
    enum lft_class class; /* poll only */
};

struct lft_engine_counters {
    uint64_t tx_frames[LFT_CLASSES], tx_wire_bytes[LFT_CLASSES]; /* by class; wire bytes with outer headers and padding */
    uint64_t tx_payload_bytes;     /* of first transmissions of DATA */
    uint64_t tx_repairs, tx_probes, timeouts, go_backs, declared_lost, spurious;
    uint64_t rx_frames, rx_wire_bytes, rx_payload_bytes;
    uint64_t rx_delivered, rx_duplicates, rx_out_of_order_discarded, rx_recovered;
    uint64_t rx_replayed, rx_beyond_window, rx_malformed, rx_unknown_command, rx_no_memory, rx_bad_ack;
};

struct lft_engine_state { /* for `show` and metrics */
    uint64_t srtt_ns, min_rtt_ns, rttvar_ns;
    uint64_t queue_delay_ns;                      /* of the last round: one-way delay above the least seen */
    uint64_t rate_bps;                            /* in force now */
    uint64_t loss_ppb;                            /* share of transmissions lost, smoothed over about 1,000 */
    uint64_t unacknowledged_frames, next_number;  /* next_number: 64 bits */
    uint64_t expected_number;                     /* receiver: all before have arrived */
    uint64_t last_heard_ns;                       /* any authentic frame; 0: never */
    size_t tx_buffers, rx_buffers;                /* in use */
};

struct lft_engine;
/* NULL: no memory. `source` is copied. */
struct lft_engine *lft_engine_create(const struct lft_engine_config *config, const struct lft_source *source, uint64_t now_ns);
void lft_engine_destroy(struct lft_engine *engine);

/* The peer's strategy as sender, from the handshake: `gbn-strict` makes this receiver discard what is out of order. */
void lft_engine_set_peer_recovery(struct lft_engine *engine, enum lft_recovery recovery);
void lft_engine_set_payload_max(struct lft_engine *engine, uint32_t payload_max); /* at most config.payload_max */
void lft_engine_set_rate(struct lft_engine *engine, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns);
void lft_engine_set_redundancy(struct lft_engine *engine, bool on);
/* False holds fresh DATA and repairs back (tunnel down); acknowledgements and one probe a timeout still go. */
void lft_engine_set_running(struct lft_engine *engine, bool running);

/* 1 and *frame, or 0: nothing may be sent now. The payload is valid until the next call of the engine. The caller must transmit it (or lose
 * it as a network would): its counter is used up. */
int lft_engine_poll(struct lft_engine *engine, uint64_t now_ns, struct lft_frame *frame);

/* When poll may have something: now or in the past when it is waiting for a batch only, UINT64_MAX never. */
uint64_t lft_engine_next_ns(const struct lft_engine *engine, uint64_t now_ns);

/* Under load: how long the caller may rest before it comes again, so that it works in batches. A 128th of the round trip, at most 1 ms, and when
 * frames wait for the limit no longer than a burst of them takes. */
uint64_t lft_engine_rest_ns(const struct lft_engine *engine);

/* Before decrypting: is this counter new and within the replay window? A false one is counted. */
bool lft_engine_fresh(struct lft_engine *engine, uint64_t counter);
/* A buffer to decrypt into; NULL: no memory, drop the frame (counted). Still the engine's: the next call may return the same. */
struct lft_buffer *lft_engine_rx_buffer(struct lft_engine *engine);
/* An authentic frame whose payload is in that buffer, at frame->payload. */
void lft_engine_receive(struct lft_engine *engine, uint64_t now_ns, const struct lft_frame *frame);

/* Path MTU: a PROBE whose payload has `payload` octets, sent at the next poll; answered → lft_engine_probe_reply gives the size once. */
void lft_engine_probe(struct lft_engine *engine, uint32_t payload);
uint32_t lft_engine_probe_reply(struct lft_engine *engine); /* 0: none since the last call */
/* A CLOSE at the next polls (three of them); and whether the peer has sent one (its result code, else 0). */
void lft_engine_close(struct lft_engine *engine, unsigned result);
unsigned lft_engine_closed(const struct lft_engine *engine);

struct lft_pool *lft_engine_rx_pool(struct lft_engine *engine);
const struct lft_engine_counters *lft_engine_counters(const struct lft_engine *engine);
void lft_engine_state(const struct lft_engine *engine, uint64_t now_ns, struct lft_engine_state *state);
/* True when every DATA frame made so far has been acknowledged. */
bool lft_engine_all_acknowledged(const struct lft_engine *engine);

#endif
