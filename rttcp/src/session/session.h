/* One session at one end, from the agreed parameters to the exchange of results; PROTOCOL.md has the sequence. Both
 * ends do the same here: some flows send, some receive. The roles (cmd/roles.h) have negotiated before. */
#ifndef RTTCP_SESSION_H
#define RTTCP_SESSION_H

#include "control_connection.h"
#include "join.h"
#include "output.h"
#include "report.h"

/* Time limit of each step of the handshake and of the exchange of results. TCP repeats a lost message 1, 3, 7 and 15 s
 * after it was first sent, so at a loss of 20 % one session in 3,000 fails here. */
#define RTTCP_HANDSHAKE_NS (30 * UINT64_C(1000000000))

struct rttcp_session {
    const struct rttcp_output *output;
    /* Period of TCP_INFO samples; 0: none. The proposing end samples all streams, the serving end only the streams on
     * which it sends. */
    uint64_t sample_ns;
    struct rttcp_control_connection control;
    struct rttcp_join_key join; /* key for the tokens of the data connections (join.h) */
    struct rttcp_accept accept;
    struct rttcp_orders orders;
    struct rttcp_flow flows[DIRECTIONS];
    struct rttcp_report report;
    uint64_t t0_ns, t0_realtime_ns, connect_ns;
    uint64_t end_ns;            /* the serving end's limit on the duration of a session; 0: none */
    _Atomic uint64_t *moved_ns; /* where the serving end records when data last moved; NULL: nowhere */
    int wake_fd;
    bool finishing; /* an orderly end was requested */
    enum rttcp_ended ended[DIRECTIONS];
    struct nc_error error;
};

/* Returns NULL without memory. `control_fd` may be -1. */
struct rttcp_session *rttcp_session_create(const struct rttcp_output *output, int control_fd, bool serving);
void rttcp_session_release(struct rttcp_session *session);

/* Allocates the buffers of all streams. Call it when the parameters have been negotiated. */
int rttcp_session_prepare(struct rttcp_session *session);

/* Returns stream i of the proposal. The session must be prepared. */
struct rttcp_transfer *rttcp_session_stream(struct rttcp_session *session, uint64_t i);

/* Starts the session's clock. */
void rttcp_session_clock(struct rttcp_session *session);

/* Moves the bytes until every flow is confirmed or one fails, and puts this end's accounts into the report (move.c).
 * All streams must be connected. Returns 0, or -1 with session->error. */
int rttcp_session_move(struct rttcp_session *session);

/* Exchanges the accounts and makes the summaries. After a failure (`status` -1) it first sends the reason to the peer,
 * which then has little time to answer. Returns `status`, or -1. */
int rttcp_session_settle(struct rttcp_session *session, int status);

/* Makes summaries and verdicts from the accounts of both ends: a part of rttcp_session_settle. `status` -1: the session
 * failed with session->error. */
void rttcp_session_judge(struct rttcp_session *session, int status);

/* Writes the samples of this end and closes the file. `path`: its name. Returns 0 or -1. */
int rttcp_session_write_samples(const struct rttcp_session *session, FILE *file, const char *path,
                                struct nc_error *error);

/* Writes the latency of each exchange of this end, and closes the file, whose name is `path`. Returns 0 or -1. */
int rttcp_session_write_latencies(const struct rttcp_session *session, FILE *file, const char *path,
                                  struct nc_error *error);

/* The exit status of a session that began to move bytes. */
int rttcp_session_status(const struct rttcp_session *session, int status);

/* exchange.c: sends this end's accounts, and from the proposing end also the summaries. */
int rttcp_send_result(struct rttcp_session *session, uint64_t deadline_ns, struct nc_error *error);
/* Receives the peer's accounts. Late messages of the transfer are ignored. */
int rttcp_receive_result(struct rttcp_session *session, uint64_t deadline_ns, struct nc_error *error);

#endif
