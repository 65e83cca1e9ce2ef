/* The inputs and outputs of an engine: its configuration, the source of its data, frames, counters, state. */
#ifndef LFT_ENGINE_TYPES_H
#define LFT_ENGINE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pool.h"
#include "wire.h"

/* A row for each recovery strategy: its number in the handshake (FORMAT.md) and its name. recovery.c implements
 * them. */
#define LFT_RECOVERY_ROWS(ROW)                                                                                         \
    ROW(LFT_GBN_STRICT, "gbn-strict")                                                                                  \
    ROW(LFT_GBN, "gbn")                                                                                                \
    ROW(LFT_SELECTIVE, "selective")                                                                                    \
    ROW(LFT_FEC, "fec")

#define LFT_RECOVERY_NUMBER(number, name) number,
enum lft_recovery { LFT_RECOVERY_ROWS(LFT_RECOVERY_NUMBER) LFT_RECOVERIES };
extern const char *const lft_recovery_names[]; /* NULL-terminated, indexed by enum lft_recovery */

enum lft_rate_mode { LFT_RATE_FIXED, LFT_RATE_AUTO, LFT_RATE_MODES };

/* Classes of transmissions in order of priority. The limit applies to all of them together. */
enum lft_class { LFT_CLASS_ACK, LFT_CLASS_RETRANSMISSION, LFT_CLASS_DATA, LFT_CLASS_REDUNDANT, LFT_CLASSES };
extern const char *const lft_class_names[];

/* The user of an engine, which has data to send and takes what arrives: the session, or a test. */
struct lft_source {
    /* Writes up to `room` octets of chunks and returns how many; 0: nothing to send now. */
    size_t (*fill)(void *user, uint8_t *at, size_t room, uint64_t now_ns);
    /* True when `fill` would return data. It is called often and must be cheap. */
    bool (*waiting)(void *user);
    /* Takes a payload; each is delivered exactly once. `payload` points into `buffer`, which stays valid after return
     * only if held. */
    void (*deliver)(void *user, struct lft_buffer *buffer, const uint8_t *payload, size_t length, uint64_t now_ns);
    /* Called with the smoothed round-trip time whenever it changes; NULL: not wanted. */
    void (*round_trip)(void *user, uint64_t srtt_ns);
    void *user;
};

struct lft_engine_config {
    enum lft_recovery recovery;
    bool redundancy; /* copies of unacknowledged frames when there is nothing else to send */
    enum lft_rate_mode rate_mode;
    uint64_t rate_bps; /* limit on the wire, 0: no limit. With LFT_RATE_AUTO: the highest rate to try */
    /* The burst, as time at the limit (shaper.h); 0: LFT_SHAPER_BURST_NS. */
    uint64_t burst_ns;
    uint32_t payload_max; /* largest payload of a DATA frame; lft_engine_set_payload_max changes it */
    /* Overhead that is counted for each frame, in octets: 28 for IPv4 and UDP, 48 for IPv6 and UDP, 20 or 40 for esp;
     * 38 more with Ethernet. */
    uint32_t outer_bytes;
    uint32_t padding_block; /* 4 or 8 (lft_cipher_block) */
    uint32_t window_frames; /* the most unacknowledged frames, a power of two up to 2^22 */
    size_t tx_memory_bytes, rx_memory_bytes;
    uint64_t keepalive_ns;   /* an idle engine sends an ACK at least this often; 0: 200 ms */
    uint64_t initial_rtt_ns; /* round trip assumed before the first sample; 0: 200 ms */
    uint32_t fec_percent;    /* LFT_FEC: repairs per 100 data frames; 0: from the measured loss */
    uint64_t first_number;   /* number of the first DATA frame at both ends; 0 except in tests of the wrap-around */
};

/* One transmission, as lft_engine_poll gives it and lft_engine_receive takes it. */
struct lft_frame {
    uint8_t command; /* enum lft_command */
    uint32_t number; /* 24 bits */
    uint64_t counter;
    const uint8_t *payload;
    size_t length;
    enum lft_class class; /* set by lft_engine_poll only */
};

struct lft_engine_counters {
    /* Both arrays have an entry per class. Wire bytes include outer headers and padding. */
    uint64_t tx_frames[LFT_CLASSES], tx_wire_bytes[LFT_CLASSES];
    uint64_t tx_payload_bytes; /* payload of DATA, first transmissions only */
    uint64_t tx_repairs, tx_probes, timeouts, go_backs, declared_lost, spurious;
    uint64_t rx_frames, rx_wire_bytes, rx_payload_bytes;
    uint64_t rx_delivered, rx_duplicates, rx_out_of_order_discarded, rx_recovered;
    uint64_t rx_replayed, rx_beyond_window, rx_malformed, rx_unknown_command, rx_no_memory, rx_bad_ack;
};

/* The values that `show` and the metrics report in addition to the counters. */
struct lft_engine_state {
    uint64_t srtt_ns, min_rtt_ns, rttvar_ns;
    uint64_t queue_delay_ns;                     /* one-way delay of the last report minus the smallest seen */
    uint64_t rate_bps;                           /* the limit in force now */
    uint64_t loss_ppb;                           /* share of transmissions lost, smoothed over about 1,000 */
    uint64_t unacknowledged_frames, next_number; /* next_number: 64 bits */
    uint64_t oldest_number;                      /* the oldest number not acknowledged; next_number when there is
                                                  * none */
    uint64_t expected_number;                    /* receiver: all numbers before it have arrived */
    uint64_t last_heard_ns;                      /* when an authentic frame last arrived; 0: none has arrived */
    size_t tx_buffers, rx_buffers;               /* in use */
};

#endif
