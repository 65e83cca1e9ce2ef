/* The control thread of a running box: signals, its duration, and the control socket with its clients. It moves no
 * packets, so however long an answer takes to make, packets do not wait for it; they wait while the box's threads
 * are paused to look at or change something, some µs. */
#ifndef COMET_SERVE_H
#define COMET_SERVE_H

#include <stdint.h>

struct box;

/* Listens at control_fd (nc_control_listen; -1: nowhere) and answers until SIGINT or SIGTERM, which the caller has blocked
 * and hands in as a signalfd, or until `duration_ns` (0: for ever) is over. */
void serve(struct box *box, int control_fd, int signal_fd, uint64_t duration_ns);

#endif
