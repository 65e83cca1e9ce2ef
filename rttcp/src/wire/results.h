/* The reports of the two ends at the end of a session: accounts of streams and sides, intervals, summaries. They are
 * also the parts of the `end` line. The decoders return 0, or -1 with an error that names the key. */
#ifndef RTTCP_RESULTS_H
#define RTTCP_RESULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "nc_error.h"

#define RTTCP_INTERVALS_MAX 65536     /* rows that a side keeps; later ones are counted as dropped */
#define RTTCP_NAME_SIZE 80            /* size of "address:port" with its terminating NUL */
#define RTTCP_INTERVALS_A_MESSAGE 500 /* keeps an `intervals` message below the frame limit */

/* One stream's account at one end. */
struct rttcp_stream_account {
    uint64_t stream; /* number of the stream, in the proposal's order over both directions */
    uint64_t bytes, calls;
    uint64_t first_byte_ns, last_byte_ns; /* receiver: from t0 */
    uint64_t retransmits, mss_bytes;
    uint64_t options, ecn_mode; /* TCP_INFO's values of these names, at the end */
    uint64_t bad_reads;         /* receiver, with verify: reads that held a wrong octet */
    bool mismatch;
    uint64_t mismatch_offset;   /* of the first wrong octet */
    char expected[20], got[20]; /* the octets from mismatch_offset on, in hexadecimal */
    char congestion[16];
    char digest[36]; /* XXH3-128 of everything sent or received; "" without verify */
    char local[RTTCP_NAME_SIZE], remote[RTTCP_NAME_SIZE];
};
json_t *rttcp_stream_encode(const struct rttcp_stream_account *account);
int rttcp_stream_decode(const json_t *object, struct rttcp_stream_account *account, struct nc_error *error);

/* One end's account of request and response. Only the client knows the latencies, each from a send to the end of its
 * response; nc_spread.h computes the percentiles. At the server all of them are 0. */
struct rttcp_exchange_account {
    uint64_t exchanges, response_bytes; /* of all streams */
    uint64_t elapsed_ns;                /* client: from the first request to the end of the last response */
    uint64_t latency_min_ns, latency_mean_ns, latency_p50_ns, latency_p90_ns, latency_p99_ns, latency_p999_ns,
        latency_max_ns;
};
json_t *rttcp_exchange_encode(const struct rttcp_exchange_account *account);

/* One end's account of one direction of a transfer. Counts are summed over all streams. Values of a socket (windows,
 * buffers, mss, congestion, addresses, tcp_info) are the first stream's. Processor use is measured for the process,
 * both directions together. */
struct rttcp_side {
    uint64_t bytes;      /* bytes that the application passed to the kernel or got from it */
    uint64_t elapsed_ns; /* sender: t0 to confirmation; receiver: t0 to end of stream */
    uint64_t cpu_user_ns, cpu_system_ns;
    uint64_t calls; /* number of calls of send or recv */
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t maxrss_bytes, minor_faults, major_faults;
    uint64_t window_requested_bytes, window_granted_bytes;
    uint64_t window_clamp_bytes;    /* receiver: TCP_WINDOW_CLAMP at the end */
    uint64_t window_scale;          /* receiver: shift of the window it offers */
    uint64_t window_clamp_resets;   /* receiver: how often the clamp was set again after the kernel had changed it */
    uint64_t window_seen_max_bytes; /* sender: largest window of the peer at a tick of the meter, after the opening */
    uint64_t opening_bytes;         /* sender: bytes sent one window at a time until the peer offered W (transfer.h) */
    uint64_t sndbuf_bytes, rcvbuf_bytes, mss_bytes;
    uint64_t first_byte_ns, last_byte_ns; /* receiver: t0 to the first and the last byte read */
    uint64_t drain_ns;                    /* sender: from the last byte passed to the kernel to the confirmation */
    uint64_t steady_bps;  /* receiver: mean rate to the last byte, from the first byte or the end of the omitted time */
    uint64_t peak_bps;    /* rate of the best full interval */
    uint64_t retransmits; /* sender, over all streams */
    uint64_t intervals_dropped;
    uint64_t t0_monotonic_ns, t0_realtime_ns;
    bool partial;      /* the transfer did not complete, or these are values of the other end's last progress message */
    bool has_exchange; /* whether `exchange` is filled in */
    struct rttcp_exchange_account exchange;
    char congestion[16], local[RTTCP_NAME_SIZE], remote[RTTCP_NAME_SIZE];
    json_t *tcp_info;  /* the final TCP_INFO, by field name; owned */
    json_t *intervals; /* [[start_ns, end_ns, bytes], …] from t0; owned; sent in separate messages */
    json_t *streams;   /* [{…}, …], rows of rttcp_stream_account; owned; sent in separate messages */
};
void rttcp_side_release(struct rttcp_side *side);
json_t *rttcp_side_encode(const struct rttcp_side *side); /* without intervals and streams */
int rttcp_side_decode(const json_t *object, struct rttcp_side *side, struct nc_error *error);

/* Appends the rows of an `intervals` message to side->intervals. */
json_t *rttcp_intervals_encode(uint64_t direction, const json_t *rows, size_t first, size_t n);
int rttcp_intervals_decode(const json_t *message, struct rttcp_side *side, struct nc_error *error);

/* The transfer as a whole. The proposing end makes it, because it has both ends' accounts first. */
struct rttcp_summary {
    uint64_t bytes;      /* bytes that the receiving application has confirmed */
    uint64_t connect_ns; /* duration of connect() of the data connection */
    uint64_t first_byte_ns;
    uint64_t drain_ns;
    uint64_t short_term_bps; /* bytes × 8 / time from connect to the confirmation of the last byte */
    uint64_t steady_bps, peak_bps;
    uint64_t elapsed_ns;
    uint64_t retransmits;
    bool complete;     /* the transfer was complete, both ends agree on the bytes, and no octet was wrong */
    char verified[12]; /* "off", "ok", "mismatch", "unknown" (one end's results are missing) */
    char ended_by[12]; /* "bytes", "duration", "signal", "error" */
};
json_t *rttcp_summary_encode(const struct rttcp_summary *summary); /* without verdict */
int rttcp_summary_decode(const json_t *object, struct rttcp_summary *summary, struct nc_error *error);

#endif
