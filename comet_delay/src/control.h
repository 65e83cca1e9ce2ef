/* The control socket: one JSON request a line in, one JSON answer a line out (CONTROL.md). */
#ifndef COMET_CONTROL_H
#define COMET_CONTROL_H

#include <jansson.h>
#include <stddef.h>

struct box;

enum { CONTROL_LINE_MAX = 16384, CONTROL_CLIENTS_MAX = 8 };

/* Answers one request line (without its newline); never NULL. Pure but for what the request asks of the box. */
json_t *control_answer(struct box *box, const char *line, size_t len);

/* A connected client: collects lines and answers them. */
struct control_client {
    int fd;
    size_t used;
    char line[CONTROL_LINE_MAX];
};

/* Reads what is there. -1 when the client has gone or talks nonsense without a newline; the caller closes. */
int control_client_read(struct control_client *client, struct box *box);

#endif
