/* Setting up sockets: addresses, buffers, window, congestion control. Every error names the option to change. */
#ifndef RTTCP_SOCK_H
#define RTTCP_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "error.h"
#include "message.h"

/* AF_INET, AF_INET6 or, when neither or both are asked for, AF_UNSPEC. */
int rttcp_family(bool ipv4, bool ipv6);

/* Listens on bind_to (NULL: any address, both families) and port. Returns the descriptor or -1. */
int rttcp_listen(const char *bind_to, int family, uint16_t port, struct rttcp_error *error);

/* Connects to host and port, trying its addresses in turn; each attempt waits at most timeout_ns. */
int rttcp_connect(const char *host, const char *bind_to, int family, uint16_t port, uint64_t timeout_ns,
                  struct rttcp_error *error);

/* The receiver's data listener: on the local address of the control connection, `port` or any (0), with the buffer that
 * the window needs. The window scale is settled in the handshake, so the buffer must be set before listen(). */
int rttcp_data_listen(int control_fd, uint16_t port, uint64_t window_bytes, struct rttcp_error *error);

/* Accepts one connection from the control connection's peer; others are closed and forgotten. */
int rttcp_data_accept(int listen_fd, int control_fd, uint64_t deadline_ns, struct rttcp_error *error);

/* The sender's data socket, options set, not yet connected; `family` as the control connection's. */
int rttcp_data_socket(int family, const struct rttcp_params *params, struct rttcp_error *error);

/* Connects it to the control connection's peer at `port`, from the same local address. */
int rttcp_data_connect(int fd, int control_fd, uint16_t port, uint64_t timeout_ns, struct rttcp_error *error);

/* Blocking send and recv return EAGAIN after this long, so that their loops can look up. */
void rttcp_set_slice(int fd, uint64_t slice_ns);

/* Fills in the socket's members of the account: buffers, mss, congestion, local, remote. */
void rttcp_side_describe(int fd, struct rttcp_side *side);

/* "192.0.2.1:5010" or "[2001:db8::1]:5010"; IPv4-mapped addresses as IPv4. */
void rttcp_address_text(const struct sockaddr_storage *address, char *out, size_t size);

uint16_t rttcp_local_port(int fd);

#endif
