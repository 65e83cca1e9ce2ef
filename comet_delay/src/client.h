/* The client's half of the verbs that talk to a running box: their common option, one request, and show and set. */
#ifndef COMET_CLIENT_H
#define COMET_CLIENT_H

#include <jansson.h>

#include "nc_options.h"

/* Row of `--control SOCKET`, the same for every client verb; `offset_` is that of a const char *. */
#define CLIENT_CONTROL_ROW(offset_)                                                                                     \
    {                                                                                                                   \
        .name = "control", .kind = NC_OPT_STRING, .metavar = "SOCKET", .help = "the box's control socket",              \
        .offset = (offset_)                                                                                             \
    }

/* Dies with status 2 when no socket was named. */
void client_want_socket(const char *control);

/* The state of the box at `control`; dies with a line and the contract's status when there is none. */
json_t *client_state(const char *control);

/* The verbs. */
int client_show(int argc, char **argv);
int client_set(int argc, char **argv);

#endif
