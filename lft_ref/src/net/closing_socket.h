/* Sockets in TIME-WAIT, CLOSING or LAST-ACK, which the kernel keeps after a TCP connection was closed normally. A
 * gateway connects from its client's address and port, and must not be stricter about their reuse than the client's own
 * host, which has no such socket (RFC 6191). */
#ifndef LFT_CLOSING_SOCKET_H
#define LFT_CLOSING_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

/* Destroys such a socket between these two addresses by sock_diag(7), which needs CAP_NET_ADMIN and a kernel with
 * INET_DIAG_DESTROY. False: no such socket exists, its connection is not yet over, or the kernel refused. */
bool closing_socket_destroy(const struct sockaddr_storage *local, const struct sockaddr_storage *remote);

#endif
