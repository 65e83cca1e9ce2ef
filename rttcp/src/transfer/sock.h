/* Sets up sockets: addresses, buffers, window, congestion control. Every error names the option to change. */
#ifndef RTTCP_SOCK_H
#define RTTCP_SOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "join.h"
#include "nc_error.h"
#include "results.h"

/* AF_INET or AF_INET6; AF_UNSPEC when neither or both are requested. */
int rttcp_family(bool ipv4, bool ipv6);

/* Listens on bind_to (NULL: any address, both families) and port. Returns the descriptor or -1. */
int rttcp_listen(const char *bind_to, int family, uint16_t port, struct nc_error *error);

/* Connects to host and port and tries the host's addresses in turn. Each attempt waits at most timeout_ns. `option` is
 * the option that named the host, for the error. */
int rttcp_connect(const char *host, const char *option, const char *bind_to, int family, uint16_t port,
                  uint64_t timeout_ns, struct nc_error *error);

/* Makes a data socket with its options (sockopt.c). TCP fixes the window scale of a receiver in the handshake, so the
 * buffer is set here, before listen() or connect(). Accepted sockets inherit the options of their listener. Returns a
 * descriptor or -1. */
int rttcp_data_socket(int family, const struct rttcp_params *params, bool sending, struct nc_error *error);

/* Sets options that need an established connection: the window clamp of a receiver, or the pacing of a sender that is
 * one of `streams`. */
int rttcp_data_established(int fd, const struct rttcp_params *params, bool sending, uint64_t streams,
                           struct nc_error *error);

/* Opens the serving end's data listener for one stream, on the local address of the control connection and on `port`;
 * 0: any port. */
int rttcp_data_listen(int control_fd, uint16_t port, const struct rttcp_params *params, bool sending,
                      struct nc_error *error);

/* Whether the two addresses belong to the same host; ports are ignored. */
bool rttcp_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* Whether the address belongs to this host and namespace. */
bool rttcp_is_here(const struct sockaddr_storage *address);

/* Returns the average pace of one of `streams` streams; bytes_per_s is 0 when the parameters set no pacing. */
struct rttcp_pace {
    uint64_t bytes_per_s, mss;
};
struct rttcp_pace rttcp_pace_of(int fd, const struct rttcp_params *params, uint64_t streams);

/* Accepts the connection of a stream (admit.c): the first one from the address of the control connection's peer or,
 * with a key, the first one from there that begins with the stream's token (join.h). It closes all others. */
int rttcp_data_accept(int listen_fd, int control_fd, const struct rttcp_join_key *key, uint64_t stream,
                      uint64_t deadline_ns, struct nc_error *error);

/* Begins to connect `fd` to `port` at the control connection's peer, from the same local address. */
int rttcp_data_connect(int fd, int control_fd, uint16_t port, struct nc_error *error);

/* Waits until `fd` is connected, and makes it blocking. */
int rttcp_data_connected(int fd, uint64_t deadline_ns, struct nc_error *error);

/* With a key: sends the token of the stream, the first octets of its connection. If this end is `sending`, the token
 * waits for the first data and shares their segment, so that it costs no segment and Nagle's algorithm does not delay
 * data because of it. Without a key nothing is sent. */
int rttcp_data_join(int fd, const struct rttcp_join_key *key, uint64_t stream, bool sending, struct nc_error *error);

/* Makes blocking send and recv return EAGAIN after this time, so that their loops can check for a stop or a
 * time-out. */
void rttcp_set_slice(int fd, uint64_t slice_ns);

/* Writes the addresses of a socket's two ends as texts. Call it while the socket is connected: the kernel forgets the
 * peer's address when both ends have closed. */
void rttcp_socket_names(int fd, char local[RTTCP_NAME_SIZE], char remote[RTTCP_NAME_SIZE]);

/* Fills in the members of the account that describe a socket: buffers, mss, congestion. */
void rttcp_side_describe(int fd, struct rttcp_side *side);

/* Writes an address as "192.0.2.1:5010" or "[2001:db8::1]:5010", and an IPv4-mapped one as IPv4. */
void rttcp_address_text(const struct sockaddr_storage *address, char *out, size_t size);

uint16_t rttcp_local_port(int fd);

#endif
