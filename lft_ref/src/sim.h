/* lft-sim: two engines and their sessions, the gateway's own code, over a simulated path in virtual time. One trial is a pure function of its
 * settings and seed. The path: a line with a rate and a drop-tail queue, then loss, then delay, jitter and duplicates. */
#ifndef LFT_SIM_H
#define LFT_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto.h"
#include "engine.h"
#include "nc_options.h"
#include "session.h"

struct sim_settings {
    /* swept: a list each, the cross product is run */
    struct nc_strings rtt, loss, recovery, limit;
    uint64_t rate_bps, queue_bytes, mtu, back_loss_ppb, burst, jitter_ns, duplicate_ppb;
    bool ack_loss_too, redundancy, auto_rate, cut, json, human;
    uint64_t bytes, duration_ns, streams, source_bps, request_bytes, memory_bytes, seed, first_number, fec_percent, granularity_ns;
    int cipher; /* 0: none, 1 …: enum lft_cipher */
};

struct sim_trial {
    const struct sim_settings *settings;
    uint64_t rtt_ns, loss_ppb, limit_bps;
    enum lft_recovery recovery;
    uint64_t seed;
};

/* One direction of the path. */
struct sim_packet {
    uint64_t at_ns, order;
    struct lft_frame frame;
    uint32_t bytes; /* of `data` */
    uint8_t *data;
};
struct sim_path {
    uint64_t rate_bps, delay_ns, jitter_ns, queue_bytes, loss_ppb, duplicate_ppb, burst, wire_extra;
    uint64_t line_free_ns, order, random;
    bool bad; /* Gilbert: in a burst */
    struct sim_packet *heap;
    size_t heap_n, heap_size;
    uint64_t offered, lost, dropped, queue_peak_bytes;
    uint8_t **spare;
    size_t spare_n, spare_size;
};
void sim_path_init(struct sim_path *path, const struct sim_trial *trial, bool back);
void sim_path_free(struct sim_path *path);
/* `data` (a copy is taken) of wire_bytes on the wire. */
void sim_path_send(struct sim_path *path, uint64_t now_ns, const struct lft_frame *frame, const uint8_t *data, uint32_t bytes,
                   uint32_t wire_bytes);
uint64_t sim_path_next_ns(const struct sim_path *path);
/* True and the packet when one has arrived; sim_path_done gives its memory back. */
bool sim_path_arrived(struct sim_path *path, uint64_t now_ns, struct sim_packet *packet);
void sim_path_done(struct sim_path *path, struct sim_packet *packet);
uint64_t sim_random(uint64_t *state);

struct sim_result {
    bool complete, intact;
    uint64_t connect_ns, elapsed_ns, steady_from_ns, delivered_bytes, steady_bytes, request_ns;
    double goodput_bps, steady_bps, bound_bps, eta, jain;
    double cap_excess_packets; /* worst 100 ms at the wire above limit × 1.01, in full packets */
    uint64_t queue_peak_bytes, path_offered, path_lost, path_dropped, back_offered, back_bytes, rx_buffers_peak, tx_buffers_peak;
    struct lft_engine_counters sender, receiver;
    struct lft_engine_state state;
};
void sim_run(const struct sim_trial *trial, struct sim_result *result);

int sim_settings_parse(struct sim_settings *settings, int argc, char **argv, char *why, size_t why_size);
/* Number of trials; fills in the i-th. -1 with a reason when a list has a bad value. */
int sim_trials(const struct sim_settings *settings);
int sim_trial_get(const struct sim_settings *settings, int i, struct sim_trial *trial, char *why, size_t why_size);
void sim_report(const struct sim_trial *trial, const struct sim_result *result, bool human);
void sim_report_head(void);

#endif
