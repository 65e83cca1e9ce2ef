/* What the two ends tell each other, and what the `end` line is made of. PROTOCOL.md says when each is sent.
 * Numbers are bounded where they are decoded, so that nobody behind needs to check them again. */
#ifndef RTTCP_MESSAGE_H
#define RTTCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"

#define RTTCP_MAGIC "rttcp"
#define RTTCP_PROTOCOL_VERSION 3

#define RTTCP_LENGTH_MAX (UINT64_C(64) << 20)
#define RTTCP_WINDOW_MIN UINT64_C(2048)       /* the kernel's floor for TCP_WINDOW_CLAMP lies below this */
#define RTTCP_WINDOW_MAX (UINT64_C(1) << 30)  /* RFC 7323, 2.3 */
#define RTTCP_INTERVAL_MIN_NS UINT64_C(10000000)
#define RTTCP_INTERVALS_MAX 65536             /* rows kept a side; later ones are counted as dropped */
#define RTTCP_STREAMS_MAX 128                 /* data connections of a session, both directions together */
#define RTTCP_ALIGN_MAX (UINT64_C(64) << 20)
#define RTTCP_PACING_MAX UINT64_C(1000000000000) /* bit/s */
#define RTTCP_INTERVALS_A_MESSAGE 500         /* keeps an `intervals` message below the frame limit */

struct rttcp_params {
    uint64_t bytes;       /* to transfer a direction, over all its streams; 0: until duration_ns */
    uint64_t duration_ns; /* 0: until bytes */
    uint64_t omit_ns;     /* at the beginning, left out of steady_bps; comes on top of duration_ns */
    uint64_t length_bytes; /* of a write */
    uint64_t window_bytes; /* TCP window to offer; 0: the kernel tunes it */
    uint64_t mss_bytes;    /* TCP_MAXSEG; 0: the kernel's choice */
    uint64_t align_bytes, offset_bytes; /* of the buffers in memory */
    uint64_t pacing_bps, pacing_pps;    /* of a direction, payload; full segments a second; 0: none */
    uint64_t dscp;
    uint64_t seed;         /* of the content, with verify */
    uint64_t interval_ns;
    uint64_t timeout_ns;   /* without progress */
    bool nodelay, verify, zerocopy, skip_rx_copy, mptcp;
    char congestion[16];   /* of the sender; "": the kernel's default */
    char peer_cpu[8];      /* "": any; the receiving tool's processor */
    uint64_t forward, reverse; /* streams: from the proposing end, to it; JSON has an array of directions */
};

/* A message object {"type":type, …}; `fields` (may be NULL) is released. */
json_t *rttcp_message(const char *type, json_t *fields);
/* The type of a message, "" when it has none. */
const char *rttcp_message_type(const json_t *message);

/* `challenge` "": no key is asked for. */
json_t *rttcp_hello_encode(const char *challenge);
int rttcp_hello_decode(const json_t *message, char challenge[RTTCP_CHALLENGE_TEXT], char *why, size_t why_size);

/* Proof of the shared key that travels with propose and accept; texts are "" where there is none. */
struct rttcp_proof {
    char challenge[RTTCP_CHALLENGE_TEXT], proof[RTTCP_PROOF_TEXT];
};
void rttcp_proof_put(json_t *message, const struct rttcp_proof *proof);
void rttcp_proof_take(const json_t *message, struct rttcp_proof *proof);

json_t *rttcp_params_encode(const struct rttcp_params *params);
int rttcp_params_decode(const json_t *object, struct rttcp_params *params, char *why, size_t why_size);

/* The receiver's answer to a proposal: where to connect, and what it set. */
struct rttcp_accept {
    char session[20];
    uint64_t streams;
    struct rttcp_port {
        uint64_t port;                 /* of the stream's data listener */
        uint64_t window_granted_bytes; /* by the serving end; 0: the kernel tunes it, or it is not for this end to say */
    } at[RTTCP_STREAMS_MAX];
};
json_t *rttcp_accept_encode(const struct rttcp_accept *accept, const struct rttcp_params *params);
int rttcp_accept_decode(const json_t *message, struct rttcp_accept *accept, struct rttcp_params *params, char *why,
                        size_t why_size);

/* refuse and abort: why, and the exit status it means for the other end. */
struct rttcp_reason {
    uint64_t status;
    char reason[400];
};
json_t *rttcp_reason_encode(const char *type, int status, const char *reason);
int rttcp_reason_decode(const json_t *message, struct rttcp_reason *reason, char *why, size_t why_size);

/* One stream's account at one end. */
struct rttcp_stream_account {
    uint64_t stream; /* in the proposal's order, both directions */
    uint64_t bytes, calls;
    uint64_t first_byte_ns, last_byte_ns; /* receiver: from t0 */
    uint64_t retransmits, mss_bytes;
    uint64_t bad_reads;       /* receiver, with verify: pieces that held a wrong octet */
    bool mismatch;
    uint64_t mismatch_offset; /* of the first wrong octet */
    char expected[20], got[20]; /* hexadecimal, from there on */
    char digest[36];          /* XXH3-128 of everything sent or received; "" without verify */
    char local[80], remote[80];
};
json_t *rttcp_stream_encode(const struct rttcp_stream_account *account);
int rttcp_stream_decode(const json_t *object, struct rttcp_stream_account *account, char *why, size_t why_size);

/* One end's account of one direction of a transfer. Numbers are over all streams; what belongs to a socket (windows,
 * buffers, mss, congestion, addresses, tcp_info) is the first stream's. Processor use is the process's, both directions. */
struct rttcp_side {
    uint64_t bytes;      /* given to, or taken from, the kernel by the application */
    uint64_t elapsed_ns; /* sender: t0 to confirmation; receiver: t0 to end of stream */
    uint64_t cpu_user_ns, cpu_system_ns;
    uint64_t calls; /* send or recv */
    uint64_t voluntary_switches, involuntary_switches;
    uint64_t maxrss_bytes, minor_faults, major_faults;
    uint64_t window_requested_bytes, window_granted_bytes;
    uint64_t window_clamp_bytes;  /* receiver: TCP_WINDOW_CLAMP at the end */
    uint64_t window_scale;        /* receiver: shift of the window it offers */
    uint64_t window_clamp_resets; /* receiver: times the kernel moved the clamp and it was set again */
    uint64_t window_seen_max_bytes; /* sender: largest window of the peer at a tick of the meter, after the opening */
    uint64_t opening_bytes;         /* sender: sent a window at a time, before the offered window was W (transfer.h) */
    uint64_t sndbuf_bytes, rcvbuf_bytes, mss_bytes;
    uint64_t first_byte_ns, last_byte_ns; /* receiver: t0 to the first and the last byte read */
    uint64_t drain_ns;      /* sender: last byte given to the kernel → confirmation */
    uint64_t steady_bps;    /* receiver: from the end of the omitted time, or the first byte, to the last byte */
    uint64_t peak_bps;      /* best full interval */
    uint64_t retransmits;   /* sender, over all streams */
    uint64_t intervals_dropped;
    uint64_t t0_monotonic_ns, t0_realtime_ns;
    bool partial; /* did not run to its end, or all that the other end last said before it went away */
    char congestion[16], local[80], remote[80];
    json_t *tcp_info;  /* final, by field name; owned */
    json_t *intervals; /* [[start_ns, end_ns, bytes], …] from t0; owned; travels in messages of its own */
    json_t *streams;   /* [{…}, …], rows of rttcp_stream_account; owned; travels in messages of its own */
};
void rttcp_side_release(struct rttcp_side *side);
json_t *rttcp_side_encode(const struct rttcp_side *side); /* without intervals and streams */
int rttcp_side_decode(const json_t *object, struct rttcp_side *side, char *why, size_t why_size);

/* Which direction a message is about: 0 forward, 1 reverse. */
int rttcp_direction_decode(const json_t *message, uint64_t *direction, char *why, size_t why_size);

/* Appends the rows of an `intervals` message to side->intervals. */
json_t *rttcp_intervals_encode(uint64_t direction, const json_t *rows, size_t first, size_t n);
int rttcp_intervals_decode(const json_t *message, struct rttcp_side *side, char *why, size_t why_size);

/* The transfer as a whole; made by the sender, which has both ends' accounts first. */
struct rttcp_summary {
    uint64_t bytes;          /* confirmed by the receiving application */
    uint64_t connect_ns;     /* duration of connect() of the data connection */
    uint64_t first_byte_ns;
    uint64_t drain_ns;
    uint64_t short_term_bps; /* bytes × 8 over connect → last byte confirmed */
    uint64_t steady_bps, peak_bps;
    uint64_t elapsed_ns;
    uint64_t retransmits;
    bool complete; /* ran to its end, both ends agree on the bytes, and no octet was found wrong */
    char verified[12]; /* "off", "ok", "mismatch", "unknown" (an end was not heard of) */
    char ended_by[12]; /* "bytes", "duration", "signal", "error" */
};
json_t *rttcp_summary_encode(const struct rttcp_summary *summary); /* without verdict */
int rttcp_summary_decode(const json_t *object, struct rttcp_summary *summary, char *why, size_t why_size);

#endif
