/* One transfer, from hello to the exchanged results; PROTOCOL.md has the sequence. session_sender.c and session_receiver.c
 * negotiate; from then on both ends are alike (session.c): some flows send, some receive. */
#ifndef RTTCP_SESSION_H
#define RTTCP_SESSION_H

#include "auth.h"
#include "control.h"
#include "output.h"
#include "report.h"
#include "settings.h"

#define RTTCP_HANDSHAKE_NS (10 * UINT64_C(1000000000))

/* Process exit status of a receiver's session that never became one: garbage on the port, a proposal refused. */
#define RTTCP_NO_SESSION 4

struct rttcp_session {
    const struct rttcp_settings *settings;
    const struct rttcp_output *output;
    struct rttcp_control control;
    struct rttcp_accept accept;
    struct rttcp_orders orders;
    struct rttcp_flow flows[DIRECTIONS];
    struct rttcp_report report;
    uint64_t t0_ns, t0_realtime_ns, connect_ns;
    int wake_fd;
    bool finishing; /* an orderly end was asked for */
    enum rttcp_ended ended[DIRECTIONS];
    struct rttcp_error error;
};

/* NULL when there is no memory. `control_fd` may be -1. */
struct rttcp_session *rttcp_session_create(const struct rttcp_settings *settings, const struct rttcp_output *output,
                                           int control_fd, bool serving);
void rttcp_session_release(struct rttcp_session *session);

/* Buffers for all streams, once the parameters are agreed on. */
int rttcp_session_prepare(struct rttcp_session *session);

/* Starts the session's clock. */
void rttcp_session_clock(struct rttcp_session *session);

/* Every stream is connected: moves the bytes, until every flow is confirmed or something failed; then our accounts are
 * in the report. 0 or -1 with session->error. */
int rttcp_session_move(struct rttcp_session *session);

/* The other end's accounts, whatever happened (then it is told why, and waited for shortly); the summaries. Returns `status`,
 * or -1. */
int rttcp_session_settle(struct rttcp_session *session, int status);

/* The exit status of a session that got as far as moving bytes. */
int rttcp_session_status(const struct rttcp_session *session, int status);

/* result.c: our accounts; the summaries too unless we serve. */
int rttcp_send_result(struct rttcp_session *session, uint64_t deadline_ns, struct rttcp_error *error);
/* … and the peer's; messages of the transfer that come late are left alone. */
int rttcp_receive_result(struct rttcp_session *session, uint64_t deadline_ns, struct rttcp_error *error);

/* The sender: everything, --repeat times. Returns the exit status. */
int rttcp_sender_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver's side of one session on an accepted control connection; runs in a process of its own. */
int rttcp_receiver_session(int control_fd, const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver: listens, a process a session, until told to stop. Returns the exit status. */
int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

#endif
