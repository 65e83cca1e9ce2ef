/* TCP sockets towards hosts: their options, and their errors as results of FORMAT.md. */
#ifndef LFT_HOST_SOCKET_H
#define LFT_HOST_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/* Sets the socket to send small writes at once and to hold little unsent data; the rest stays in the tunnel's memory,
 * where it is shared fairly. `mark`: the mark of its packets; 0: none. */
void host_socket_prepare(int fd, uint32_t mark);
/* Sets whether close() sends RST instead of FIN. */
void host_socket_reset_on_close(int fd, bool on);
/* Allows binding to addresses of other machines. Needs CAP_NET_ADMIN. Returns 0, or -1 with errno. */
int host_socket_make_transparent(int fd, int family);
/* Returns the result code (FORMAT.md) for a socket's errno. */
struct lft_result host_socket_result(int error);

#endif
