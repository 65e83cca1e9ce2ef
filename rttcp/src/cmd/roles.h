/* The two roles of the tool: the sender (-t) proposes sessions, the receiver (-r) serves them. */
#ifndef RTTCP_ROLES_H
#define RTTCP_ROLES_H

#include <stdio.h>

#include "output.h"
#include "places.h"
#include "settings.h"

/* Exit status of a receiver's child process that had no session: it got garbage or refused the proposal. */
#define RTTCP_NO_SESSION 4

/* The sender (sender.c): runs --repeat sessions. Returns the exit status. */
int rttcp_sender_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver (server.c): listens and forks a process for each session until a stop is requested. Returns the exit
 * status. */
int rttcp_server_run(const struct rttcp_settings *settings, const struct rttcp_output *output);

/* The receiver's child process (receiver.c): serves one session on an accepted control connection, in a place that was
 * taken for it. `samples`: the open file of --samples, or NULL. Returns the exit status, or RTTCP_NO_SESSION. */
int rttcp_receiver_session(int control_fd, const struct rttcp_places *places, uint64_t place,
                           const struct rttcp_settings *settings, FILE *samples, const struct rttcp_output *output);

#endif
