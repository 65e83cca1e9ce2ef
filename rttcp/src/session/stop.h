/* SIGINT and SIGTERM end the tool with its results. A second signal kills it, because the first one removes the
 * handler. */
#ifndef RTTCP_STOP_H
#define RTTCP_STOP_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handlers, ignores SIGPIPE, makes SIGCHLD interrupt ppoll, and sets the timer slack to 1 ns, so that
 * timed waits are as exact as the kernel can make them. Blocking calls then return EINTR. */
void rttcp_stop_install(void);

/* True once a stop has been asked for. */
bool rttcp_stop_requested(void);

/* Has the kernel send SIGTERM to this process when its parent dies. `parent` is the parent that the caller knows; if
 * that one is dead already, the signal comes at once. */
void rttcp_stop_with_parent(pid_t parent);

#endif
