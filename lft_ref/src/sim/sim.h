/* lft-sim runs two engines and their sessions, the gateway's own code, over a simulated path in virtual time. A trial
 * is a pure function of its settings and its seed. The path is a line with a rate and a drop-tail queue, then loss,
 * then delay, jitter and duplicates. */
#ifndef LFT_SIM_H
#define LFT_SIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypto.h"
#include "engine.h"
#include "nc_error.h"
#include "nc_options.h"
#include "session.h"

/* From at_ns on, the path's round trip is rtt_ns. */
struct sim_change {
    uint64_t at_ns, rtt_ns;
};

struct sim_settings {
    /* Swept options: each is a list, and every combination is run. */
    struct nc_quantities rtt, loss, limit;
    struct nc_strings recovery;
    struct nc_strings rtt_change; /* as given */
    struct sim_change changes[NC_STRINGS_MAX];
    size_t changes_n;
    uint64_t rate_bps, queue_bytes, mtu, burst, jitter_ns, duplicate_ppb;
    bool ack_loss_too, redundancy, auto_rate, cut, fail, json, human;
    uint64_t bytes, duration_ns, streams, still, still_after_ns, source_bps, request_bytes, memory_bytes, seed,
        first_number, rate_burst_ns;
    uint64_t granularity_ns, late_ns, late_p99_ns, stop_every_ns, stop_ns;
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
/* Packets sent from now on take `delay_ns` after the line. With a shorter delay they overtake packets in flight. */
void sim_path_set_delay(struct sim_path *path, uint64_t delay_ns);
/* Sends a frame that takes wire_bytes on the wire. `data` is copied. */
void sim_path_send(struct sim_path *path, uint64_t now_ns, const struct lft_frame *frame, const uint8_t *data,
                   uint32_t bytes, uint32_t wire_bytes);
uint64_t sim_path_next_ns(const struct sim_path *path);
/* Returns true and fills in the packet when one has arrived. sim_path_done frees its memory. */
bool sim_path_arrived(struct sim_path *path, uint64_t now_ns, struct sim_packet *packet);
void sim_path_done(struct sim_path *path, struct sim_packet *packet);
uint64_t sim_random(uint64_t *state);

/* Models when an end gets to run. It is late by a log-normal time, and it does not run while its process is stopped;
 * stops are a Poisson process with exponential lengths. */
struct sim_late {
    double median_ns, sigma, stop_every_ns, stop_ns;
    uint64_t random, late_ns, stop_from_ns, stop_until_ns;
};
void sim_late_init(struct sim_late *late, const struct sim_trial *trial, bool back);
/* Returns when an end that is due at `due_ns` runs. The lateness stays the same until sim_late_ran is called. */
uint64_t sim_late_time(struct sim_late *late, uint64_t due_ns);
void sim_late_ran(struct sim_late *late);

/* Measures by how much the octets on a wire exceed a limit. */
struct sim_meter;
struct sim_meter *sim_meter_create(uint64_t limit_bps, uint64_t mtu);
void sim_meter_add(struct sim_meter *meter, uint32_t wire_bytes, uint64_t now_ns);
/* Sets the result's `cap_excess_packets` and `burst_peak_bytes`, and frees the meter. */
struct sim_result;
void sim_meter_end(struct sim_meter *meter, struct sim_result *result);

struct sim_result {
    bool complete, intact;
    uint64_t connect_ns, elapsed_ns, steady_from_ns, delivered_bytes, steady_bytes, request_ns;
    double goodput_bps, steady_bps, bound_bps, eta, jain;
    /* In the 100 ms with the most octets on the wire: full packets beyond 1.01 times the limit */
    double cap_excess_packets;
    double burst_peak_bytes; /* by how many octets the worst interval on the wire exceeds limit × its length */
    uint64_t queue_peak_bytes, path_offered, path_lost, path_dropped, back_offered, back_bytes, rx_buffers_peak,
        tx_buffers_peak;
    struct lft_engine_counters sender, receiver;
    struct lft_engine_state state;
};
void sim_run(const struct sim_trial *trial, struct sim_result *result);

/* Returns 0, or -1 with the reason. */
int sim_settings_parse(struct sim_settings *settings, int argc, char **argv, struct nc_error *error);
/* The number of trials. */
int sim_trials(const struct sim_settings *settings);
/* Fills in the i-th trial. Returns 0, or -1 with the reason when a list has a bad value. */
int sim_trial_get(const struct sim_settings *settings, int i, struct sim_trial *trial, struct nc_error *error);
void sim_report(const struct sim_trial *trial, const struct sim_result *result, bool human);
void sim_report_head(void);

#endif
