/* The verbs that talk to a running box: their common option and request, and the verbs `show` and `set`. */
#ifndef COMET_CLIENT_H
#define COMET_CLIENT_H

#include <jansson.h>

#include "nc_options.h"

/* The row of `--control SOCKET`, the same for every client verb; its settings have a `control`. */
#define CLIENT_CONTROL_ROW NC_STRING("control", control, "SOCKET", "the box's control socket")

/* The state of the box that listens at `control`. Exits (nc_die) when no socket is named, or when no box answers. */
json_t *client_state(const char *control);

/* The verbs. */
int client_show(int argc, char **argv);
int client_set(int argc, char **argv);

#endif
