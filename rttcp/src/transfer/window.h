/* The TCP window and the congestion control by name: the two settings that a kernel may refuse. window.c explains how
 * the window is set. */
#ifndef RTTCP_WINDOW_H
#define RTTCP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "nc_error.h"

#ifndef SO_BUF_LOCK /* glibc 2.35 */
#define SO_BUF_LOCK 72
#endif
#ifndef SOCK_SNDBUF_LOCK /* from linux/socket.h, which conflicts with sys/socket.h */
#define SOCK_SNDBUF_LOCK 1
#define SOCK_RCVBUF_LOCK 2
#endif

/* Before listen(): sets the receive buffer with which the connection begins. Returns -1 when the kernel's limit is
 * below the memory that the window needs. The error then names the largest possible window and the limit to change. */
int rttcp_window_reserve(int fd, uint64_t window_bytes, struct nc_error *error);

/* Before connect(): sets a send buffer that is large enough never to limit the flight. */
int rttcp_window_sndbuf(int fd, uint64_t window_bytes, struct nc_error *error);

/* After accept(): makes room for the window, and offers at most window_bytes from now on. */
int rttcp_window_set(int fd, uint64_t window_bytes, struct nc_error *error);

/* Sets the clamp again if the kernel has changed it, and then returns true. Cheap enough for every recv. */
bool rttcp_window_hold(int fd, uint64_t window_bytes);

/* Returns the current TCP_WINDOW_CLAMP in bytes. */
uint64_t rttcp_window_clamp(int fd);

/* The window that will be offered: window_bytes rounded up to the granularity of the scale (RFC 7323, 2.3). */
uint64_t rttcp_window_granted(uint64_t window_bytes, uint64_t scale);

/* Asks for a congestion control by name. Returns 0, or -1 with an error that lists this kernel's controls. */
int rttcp_congestion_set(int fd, const char *name, struct nc_error *error);

#endif
