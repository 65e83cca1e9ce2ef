/* The control socket of CONTROL.md: a request is a line of JSON, and so is the answer. The loop that moves the data
 * serves it and never blocks: a client that does not read its answer is dropped. The gateway does not depend on it;
 * `main.c` opens both. */
#ifndef LFT_CONTROL_SOCKET_H
#define LFT_CONTROL_SOCKET_H

#include "gateway.h"

enum { CONTROL_LINE_MAX = 8192, CONTROL_CLIENTS_MAX = 8 };

struct control_socket;
/* NULL with the reason. */
struct control_socket *control_socket_open(const char *path, struct gateway *gateway, struct nc_error *error);
void control_socket_close(struct control_socket *control); /* removes its file, too; NULL is allowed */

#endif
