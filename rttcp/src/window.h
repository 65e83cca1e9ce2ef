/* The TCP window and the congestion control by name: what a kernel may refuse. window.c explains the recipe. */
#ifndef RTTCP_WINDOW_H
#define RTTCP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

/* Before listen(): a receive buffer with which the connection begins. -1 when the kernel's limit is below what
 * `window_bytes` of window will need: the error says how much would do and what to change. */
int rttcp_window_reserve(int fd, uint64_t window_bytes, struct rttcp_error *error);

/* Before connect(): a send buffer that never is what limits the flight. */
int rttcp_window_sndbuf(int fd, uint64_t window_bytes, struct rttcp_error *error);

/* After accept(): room for the window, and offer at most window_bytes from now on. */
int rttcp_window_set(int fd, uint64_t window_bytes, struct rttcp_error *error);

/* Sets it again if the kernel has moved it; true when it had. Cheap enough for every recv. */
bool rttcp_window_hold(int fd, uint64_t window_bytes);

/* TCP_WINDOW_CLAMP as it is, bytes. */
uint64_t rttcp_window_clamp(int fd);

/* What will be offered: window_bytes rounded up to the granularity of the window scale (RFC 7323, 2.3). */
uint64_t rttcp_window_granted(uint64_t window_bytes, uint64_t scale);

/* 0, or -1 with an error that names the congestion controls there are. */
int rttcp_congestion_set(int fd, const char *name, struct rttcp_error *error);

#endif
