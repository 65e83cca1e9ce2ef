/* One transfer, from hello to the exchanged results; PROTOCOL.md has the sequence. */
#ifndef RTTCP_SESSION_H
#define RTTCP_SESSION_H

#include "control.h"
#include "output.h"
#include "settings.h"

#define RTTCP_HANDSHAKE_NS (10 * UINT64_C(1000000000))

/* Process exit status of a receiver's session that never became one: garbage on the port, a proposal refused. */
#define RTTCP_NO_SESSION 4

/* The sender: everything. Returns the exit status. */
int rttcp_sender_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver's side of one session on an accepted control connection; runs in a process of its own. */
int rttcp_receiver_session(int control_fd, const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver: listens, a process a session, until told to stop. Returns the exit status. */
int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

/* Both ends: sends our account, its intervals first, then `result`; `summary` (may be NULL) goes with it. */
int rttcp_send_result(struct rttcp_control *control, const struct rttcp_side *side, const struct rttcp_summary *summary,
                      struct rttcp_error *error);
/* Both ends: takes the peer's; `summary` may be NULL. */
int rttcp_receive_result(struct rttcp_control *control, struct rttcp_side *side, struct rttcp_summary *summary,
                         struct rttcp_error *error);

#endif
