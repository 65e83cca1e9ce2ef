/* The control socket (CONTROL.md): a request is a line of JSON, so is the answer. Served by the loop that moves the data, never blocking:
 * a client that does not read its answer is dropped. */
#ifndef LFT_CONTROL_H
#define LFT_CONTROL_H

#include <jansson.h>
#include <stddef.h>

#include "gateway.h"
#include "loop.h"

enum { CONTROL_LINE_MAX = 8192, CONTROL_CLIENTS_MAX = 8 };

/* NULL with a one-line reason. */
struct control *control_open(const char *path, struct gateway *gateway, struct loop *loop, char *why, size_t why_size);
void control_close(struct control *control); /* removes the socket's file */

/* The answer to one request line. */
json_t *control_answer(struct gateway *gateway, const char *line, size_t n);

#endif
