/* Control sockets: a Unix stream socket, one JSON request a line in, one JSON answer a line out. What every daemon shares; what is asked
 * and answered is its own (CONTROL.md). Daemons keep their own loops, so nothing here waits but nc_control_request. */
#ifndef NC_CONTROL_H
#define NC_CONTROL_H

#include <jansson.h>
#include <stddef.h>

/* {"v":1,"ok":false,"error":reason}. */
json_t *nc_control_refusal(const char *reason);

/* Listening socket at `path` of mode 0600; one that nobody listens at any more is replaced. `what` names the daemon ("box"). -1
 * with a one-line reason. */
int nc_control_listen(const char *path, int backlog, const char *what, char *why, size_t why_size);

/* Sends an answer as one line by send(2) with `flags` and releases it. -1 unless all of it went: drop the client then. */
int nc_control_send(int fd, json_t *answer, int flags);

/* The other end: sends a request (released) to the `program` at `path` and waits up to 5 s. Its answer, or NULL with a reason. */
json_t *nc_control_request(const char *path, json_t *request, const char *program, char *why, size_t why_size);

#endif
