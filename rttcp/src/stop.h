/* SIGINT and SIGTERM end the tool in order; a second one ends it at once (the handler is gone after the first). */
#ifndef RTTCP_STOP_H
#define RTTCP_STOP_H

#include <signal.h>
#include <stdbool.h>

/* Installs the handlers, ignores SIGPIPE, makes SIGCHLD interrupt ppoll, and sets the timer slack to 1 ns, so that
 * timed waits are as exact as the kernel can make them. Blocking calls then return EINTR. */
void rttcp_stop_install(void);

/* True once a stop has been asked for. */
bool rttcp_stop_requested(void);

/* Asks to be sent SIGTERM when the parent dies. `parent` is who it was when the caller last knew. */
void rttcp_stop_with_parent(pid_t parent);

#endif
