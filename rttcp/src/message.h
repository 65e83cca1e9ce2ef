/* What the two ends tell each other, and what the `end` line is made of. PROTOCOL.md says when each is sent.
 * Numbers are bounded where they are decoded, so that nobody behind needs to check them again. */
#ifndef RTTCP_MESSAGE_H
#define RTTCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RTTCP_MAGIC "rttcp"
#define RTTCP_PROTOCOL_VERSION 1

#define RTTCP_LENGTH_MAX (UINT64_C(64) << 20)
#define RTTCP_WINDOW_MIN UINT64_C(2048)       /* the kernel's floor for TCP_WINDOW_CLAMP lies below this */
#define RTTCP_WINDOW_MAX (UINT64_C(1) << 30)  /* RFC 7323, 2.3 */
#define RTTCP_INTERVAL_MIN_NS UINT64_C(10000000)
#define RTTCP_INTERVALS_MAX 65536             /* rows kept a side; later ones are counted as dropped */
#define RTTCP_INTERVALS_A_MESSAGE 500         /* keeps an `intervals` message below the frame limit */

struct rttcp_params {
    uint64_t bytes;       /* to transfer; 0: until duration_ns */
    uint64_t duration_ns; /* 0: until bytes */
    uint64_t length_bytes; /* of a write */
    uint64_t window_bytes; /* TCP window to offer; 0: the kernel tunes it */
    uint64_t mss_bytes;    /* TCP_MAXSEG; 0: the kernel's choice */
    uint64_t interval_ns;
    uint64_t timeout_ns;   /* without progress */
    bool nodelay;
    char congestion[16];   /* of the sender; "": the kernel's default */
    uint64_t streams;      /* length of the streams array; each now {"direction":"send"} */
};

/* A message object {"type":type, …}; `fields` (may be NULL) is released. */
json_t *rttcp_message(const char *type, json_t *fields);
/* The type of a message, "" when it has none. */
const char *rttcp_message_type(const json_t *message);

json_t *rttcp_hello_encode(void);
int rttcp_hello_decode(const json_t *message, char *why, size_t why_size);

json_t *rttcp_params_encode(const struct rttcp_params *params);
int rttcp_params_decode(const json_t *object, struct rttcp_params *params, char *why, size_t why_size);

/* The receiver's answer to a proposal: where to connect, and what it set. */
struct rttcp_accept {
    char session[20];
    uint64_t port;                 /* of the stream's data listener */
    uint64_t window_granted_bytes; /* 0: the kernel tunes it */
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

/* One end's account of a transfer. */
struct rttcp_side {
    uint64_t bytes;      /* given to, or taken from, the kernel by the application */
    uint64_t elapsed_ns; /* sender: connect to confirmation; receiver: accept to end of stream */
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
    uint64_t first_byte_ns; /* receiver: accept to first byte read */
    uint64_t peak_bps;      /* best full interval */
    uint64_t intervals_dropped;
    uint64_t t0_monotonic_ns, t0_realtime_ns;
    char congestion[16], local[80], remote[80];
    json_t *tcp_info;  /* final, by field name; owned */
    json_t *intervals; /* [[start_ns, end_ns, bytes], …] from t0; owned; travels in messages of its own */
};
void rttcp_side_release(struct rttcp_side *side);
json_t *rttcp_side_encode(const struct rttcp_side *side); /* without intervals */
int rttcp_side_decode(const json_t *object, struct rttcp_side *side, char *why, size_t why_size);

/* Appends the rows of an `intervals` message to side->intervals. */
json_t *rttcp_intervals_encode(const json_t *rows, size_t first, size_t n);
int rttcp_intervals_decode(const json_t *message, struct rttcp_side *side, char *why, size_t why_size);

/* The transfer as a whole; made by the sender, which has both ends' accounts first. */
struct rttcp_summary {
    uint64_t bytes;          /* confirmed by the receiving application */
    uint64_t connect_ns;     /* duration of connect() of the data connection */
    uint64_t first_byte_ns;
    uint64_t short_term_bps; /* bytes × 8 over connect → last byte confirmed */
    uint64_t peak_bps;
    uint64_t elapsed_ns;
    uint64_t retransmits;
    bool complete; /* ran to its end, and both ends agree on the bytes */
    char ended_by[12]; /* "bytes", "duration", "signal", "error" */
};
json_t *rttcp_summary_encode(const struct rttcp_summary *summary); /* without verdict */
int rttcp_summary_decode(const json_t *object, struct rttcp_summary *summary, char *why, size_t why_size);

#endif
