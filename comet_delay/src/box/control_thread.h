/* The thread of a running box that handles signals, the duration, and the control socket with its clients. It moves no
 * packets, so packets never wait while an answer is made. They wait only while the box pauses its workers to read or
 * change state, which takes some µs. */
#ifndef COMET_CONTROL_THREAD_H
#define COMET_CONTROL_THREAD_H

#include <stdint.h>

struct box;

enum { CONTROL_THREAD_CLIENTS_MAX = 8 };

/* Serves clients that connect to `control_fd` (nc_control_listen; -1: none) until `signal_fd` (nc_program_open_signals)
 * is readable or `duration_ns` (0: for ever) is over. It uses the calling thread. */
void control_thread_run(struct box *box, int control_fd, int signal_fd, uint64_t duration_ns);

#endif
