/* The messages with which the two ends agree on a session; results.h has the messages at its end. PROTOCOL.md says when
 * each message is sent. Numbers are checked where they are decoded, so that no later code needs to check them again.
 * The decoders return 0, or -1 with an error that names the key. */
#ifndef RTTCP_MESSAGE_H
#define RTTCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_clock.h"
#include "key.h"
#include "nc_error.h"

#define RTTCP_MAGIC "rttcp"
#define RTTCP_PROTOCOL_VERSION 8

#define RTTCP_LENGTH_MAX (UINT64_C(64) << 20)
#define RTTCP_DURATION_MAX_NS (UINT64_C(604800) * NC_NS_PER_S) /* a week */
#define RTTCP_WAIT_MAX_NS (UINT64_C(3600) * NC_NS_PER_S)       /* the longest interval, omitted time and time-out */
#define RTTCP_WINDOW_MIN UINT64_C(2048)                        /* above the kernel's minimum for TCP_WINDOW_CLAMP */
#define RTTCP_WINDOW_MAX (UINT64_C(1) << 30)                   /* RFC 7323, 2.3 */
#define RTTCP_WINDOW_GRAIN (1 << 14)                           /* granularity at the largest window scale */
#define RTTCP_INTERVAL_MIN_NS UINT64_C(10000000)
#define RTTCP_STREAMS_MAX 128 /* data connections of a session, both directions together */
#define RTTCP_ALIGN_MAX (UINT64_C(64) << 20)
#define RTTCP_PACING_MAX UINT64_C(1000000000000) /* bit/s */

/* The parameters of a session, one row each: a member of struct rttcp_params and a key of the proposal. NUMBER has the
 * largest value (0: INT64_MAX, the largest integer in our JSON), TEXT the size of its array. */
#define RTTCP_PARAMS(NUMBER, FLAG, TEXT)                                                                               \
    NUMBER(bytes, 0)                           /* bytes for each direction; 0: until duration_ns */                    \
    NUMBER(duration_ns, RTTCP_DURATION_MAX_NS) /* 0: until bytes are transferred */                                    \
    NUMBER(request_bytes, RTTCP_LENGTH_MAX)    /* size of a request; `bytes` is then of requests */                    \
    NUMBER(response_bytes, RTTCP_LENGTH_MAX)   /* size of a response; 0: no exchanges */                               \
    NUMBER(omit_ns, RTTCP_WAIT_MAX_NS)         /* left out of steady_bps; added to duration_ns */                      \
    NUMBER(length_bytes, RTTCP_LENGTH_MAX)     /* size of one write */                                                 \
    NUMBER(window_bytes, RTTCP_WINDOW_MAX)     /* TCP window to offer; 0: the kernel tunes it */                       \
    NUMBER(mss_bytes, 65535)                   /* TCP_MAXSEG; 0: the kernel's choice */                                \
    NUMBER(align_bytes, RTTCP_ALIGN_MAX)       /* alignment of the buffers in memory */                                \
    NUMBER(offset_bytes, RTTCP_ALIGN_MAX)      /* offset of the buffers from their alignment */                        \
    NUMBER(pacing_bps, RTTCP_PACING_MAX)       /* pace of a direction's payload; 0: no pacing */                       \
    NUMBER(pacing_pps, RTTCP_PACING_MAX)       /* pace in full segments; 0: no pacing */                               \
    NUMBER(pace_burst_bytes, RTTCP_LENGTH_MAX) /* bytes per burst; 0: the kernel paces packets */                      \
    NUMBER(dscp, 63)                                                                                                   \
    NUMBER(seed, 0) /* seed of the content, with verify */                                                             \
    NUMBER(interval_ns, RTTCP_WAIT_MAX_NS)                                                                             \
    NUMBER(timeout_ns, RTTCP_WAIT_MAX_NS) /* longest time without progress */                                          \
    FLAG(nodelay)                                                                                                      \
    FLAG(verify)                                                                                                       \
    FLAG(zerocopy)                                                                                                     \
    FLAG(skip_rx_copy)                                                                                                 \
    FLAG(mptcp)                                                                                                        \
    TEXT(congestion, 16) /* congestion control of both ends; "": the kernel's default */                               \
    TEXT(peer_cpu, 8)    /* processor of the serving end; "": any */

#define RTTCP_NUMBER_MEMBER(name, most) uint64_t name;
#define RTTCP_FLAG_MEMBER(name) bool name;
#define RTTCP_TEXT_MEMBER(name, size) char name[size];
struct rttcp_params {
    RTTCP_PARAMS(RTTCP_NUMBER_MEMBER, RTTCP_FLAG_MEMBER, RTTCP_TEXT_MEMBER)
    uint64_t forward, reverse; /* numbers of streams from and to the proposing end; in JSON an array of directions */
};

/* Returns a message object {"type":type, …}. Releases `fields`, which may be NULL. */
json_t *rttcp_message(const char *type, json_t *fields);
/* Returns the type of a message, "" when it has none. */
const char *rttcp_message_type(const json_t *message);

/* The hello of the proposing or the `serving` end. `host` is the mark of this host (key.h), empty without a key.
 * Decoding the hello of the other end fails when that end has our own role; `host` NULL: not wanted. */
json_t *rttcp_hello_encode(bool serving, const char *host);
int rttcp_hello_decode(const json_t *message, bool serving, char host[RTTCP_HOST_TEXT], struct nc_error *error);

json_t *rttcp_params_encode(const struct rttcp_params *params);
int rttcp_params_decode(const json_t *object, struct rttcp_params *params, struct nc_error *error);

/* Compares the serving end's answer with the proposal. The error names the first member that differs. */
int rttcp_params_compare(const struct rttcp_params *proposed, const struct rttcp_params *answered,
                         struct nc_error *error);

/* The serving end's answer to a proposal: where to connect, and which windows it granted. */
struct rttcp_accept {
    char session[20];
    uint64_t streams;
    struct rttcp_port {
        uint64_t port; /* of the stream's data listener */
        /* window that the serving end granted; 0: the kernel tunes the window */
        uint64_t window_granted_bytes;
    } at[RTTCP_STREAMS_MAX];
};
json_t *rttcp_accept_encode(const struct rttcp_accept *accept, const struct rttcp_params *params);
int rttcp_accept_decode(const json_t *message, struct rttcp_accept *accept, struct rttcp_params *params,
                        struct nc_error *error);

/* Checks what only the serving end decides: each stream has a port of its own, other than the control connection's, and
 * the granted window is the proposed one or that window rounded up to the granularity of a window scale. */
int rttcp_accept_check(const struct rttcp_accept *accept, const struct rttcp_params *params, uint16_t control_port,
                       struct nc_error *error);

/* The reason of a refuse or abort, and the exit status for the other end. */
struct rttcp_reason {
    uint64_t status;
    char reason[400];
};
json_t *rttcp_reason_encode(const char *type, int status, const char *reason);
int rttcp_reason_decode(const json_t *message, struct rttcp_reason *reason, struct nc_error *error);

/* Returns the direction of a message: 0 forward, 1 reverse. */
int rttcp_direction_decode(const json_t *message, uint64_t *direction, struct nc_error *error);

#endif
