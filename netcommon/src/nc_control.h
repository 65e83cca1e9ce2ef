/* Control sockets: a Unix stream socket with one JSON request and one JSON answer per line. This file has what every
 * daemon shares; each tool's CONTROL.md specifies its requests and answers. Daemons keep their own loops, so only
 * nc_control_request waits. */
#ifndef NC_CONTROL_H
#define NC_CONTROL_H

#include <jansson.h>
#include <stddef.h>

#include "nc_error.h"

/* {"v":1,"ok":false,"error":reason}. */
json_t *nc_control_refusal(const char *reason);

/* Listens at `path` with mode 0600. An old socket file on which nobody listens is replaced. `what` names the daemon for
 * people ("box"). Returns a descriptor, or -1 with the error. */
int nc_control_listen(const char *path, int backlog, const char *what, struct nc_error *error);

/* Parses a client's line. Returns the request, and its "op" in `op` (NULL if it has none); or returns NULL with the
 * refusal in `answer` when the line is not JSON. */
json_t *nc_control_parse(const char *line, size_t len, const char **op, json_t **answer);

/* Sends an answer as one line by send(2) with `flags`, and releases it. Returns -1 unless all of it was sent; the
 * caller then drops the client. */
int nc_control_send(int fd, json_t *answer, int flags);

/* The client's end: sends a request (and releases it) to the `program` that listens at `path`, and waits up to 5 s.
 * Returns the answer, or NULL with the error (NC_EXIT_FAILED). */
json_t *nc_control_request(const char *path, json_t *request, const char *program, struct nc_error *error);

/* nc_control_request for a verb of a command line, whose option --control is `path` (NULL: not given). It prints the
 * reason and exits when there is no answer or the answer is a refusal. */
json_t *nc_control_ask(const char *path, json_t *request, const char *program);

/* Returns the arguments NAME=VALUE of a verb `set`, from argv[at] on, as an object of texts. If there are none, or an
 * argument has another form, it exits with a line that shows `example`. */
json_t *nc_control_values(int argc, char **argv, int at, const char *example);

#endif
