/* The verbs that talk to a running box: the option they share, their request, and the verbs `show` and `set`. */
#ifndef COMET_CLIENT_H
#define COMET_CLIENT_H

#include <jansson.h>

#include "nc_options.h"

/* The row of `--control SOCKET`, the same for every client verb. At `offset_` is a const char *. */
#define CLIENT_CONTROL_ROW(offset_)                                                                                    \
    {.name = "control",                                                                                                \
     .kind = NC_OPT_STRING,                                                                                            \
     .metavar = "SOCKET",                                                                                              \
     .help = "the box's control socket",                                                                               \
     .offset = (offset_)}

/* The state of the box that listens at `control`. Dies (nc_die) when no socket is named, or when no box answers. */
json_t *client_state(const char *control);

/* The verbs. */
int client_show(int argc, char **argv);
int client_set(int argc, char **argv);

#endif
