/* What the kernel keeps of a TCP connection that has ended in order: TIME-WAIT, or our FIN on its way. A gateway that connects from its
 * client's address and port must not be stricter about their reuse than the client's own host is, which has none of these (RFC 6191). */
#ifndef LFT_TCP_REMNANT_H
#define LFT_TCP_REMNANT_H

#include <stdbool.h>
#include <sys/socket.h>

/* Ends it by sock_diag(7), which wants CAP_NET_ADMIN and INET_DIAG_DESTROY. False: none is there, it is not yet over, or this cannot be done. */
bool tcp_remnant_end(const struct sockaddr_storage *local, const struct sockaddr_storage *remote);

#endif
