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

/* Options of a data socket (sockopt.c). A receiving one's window scale is settled in the handshake, so its buffer is set
 * here, before listen() or connect(); listeners pass the options on to what they accept. Returns a descriptor or -1. */
int rttcp_data_socket(int family, const struct rttcp_params *params, bool sending, struct rttcp_error *error);

/* What can only be set on a connection: the window clamp of a receiver, the pacing of one of `streams` senders. */
int rttcp_data_established(int fd, const struct rttcp_params *params, bool sending, uint64_t streams,
                           struct rttcp_error *error);

/* The serving end's data listener for one stream: on the local address of the control connection, `port` or any (0). */
int rttcp_data_listen(int control_fd, uint16_t port, const struct rttcp_params *params, bool sending,
                      struct rttcp_error *error);

/* Accepts one connection from the control connection's peer; others are closed and forgotten. */
int rttcp_data_accept(int listen_fd, int control_fd, uint64_t deadline_ns, struct rttcp_error *error);

/* Begins to connect it to the control connection's peer at `port`, from the same local address. */
int rttcp_data_connect(int fd, int control_fd, uint16_t port, struct rttcp_error *error);

/* Waits until it is connected, and makes it blocking. */
int rttcp_data_connected(int fd, uint64_t deadline_ns, struct rttcp_error *error);

/* Blocking send and recv return EAGAIN after this long, so that their loops can look up. */
void rttcp_set_slice(int fd, uint64_t slice_ns);

/* Fills in the socket's members of the account: buffers, mss, congestion, local, remote. */
void rttcp_side_describe(int fd, struct rttcp_side *side);

/* "192.0.2.1:5010" or "[2001:db8::1]:5010"; IPv4-mapped addresses as IPv4. */
void rttcp_address_text(const struct sockaddr_storage *address, char *out, size_t size);

uint16_t rttcp_local_port(int fd);

#endif
