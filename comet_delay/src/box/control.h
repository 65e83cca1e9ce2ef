/* The requests of the control socket: one JSON request in, one JSON answer out (CONTROL.md). control_thread.c has the
 * sockets. */
#ifndef COMET_CONTROL_H
#define COMET_CONTROL_H

#include <jansson.h>
#include <stddef.h>

struct box;

enum { CONTROL_LINE_MAX = 16384 }; /* with its newline */

/* Answers one request line, given without its newline. Never returns NULL, and has no side effect except on the box. */
json_t *control_answer(struct box *box, const char *line, size_t len);

#endif
