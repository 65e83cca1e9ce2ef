/* The interface of the congestion controls to rttcp. */
#ifndef CC_LOADER_H
#define CC_LOADER_H

#include "nc_error.h"

/* Runs `rttcp cc …`; argv[0] is "cc". Returns the exit status. */
int cc_main(int argc, char **argv);

/* For `--congestion TEXT` of a sender, where TEXT is "NAME" or "NAME:KEY=VALUE,…". When NAME is in the catalog, it
 * loads the algorithm until this process ends, and *kernel_name becomes the name for setsockopt. Other names and NULL
 * are passed on unchanged. Returns 0, or -1 with the error (status 2: wrong parameters, 3: the machine lacks
 * something). */
int cc_hold_for_transfer(const char *text, const char **kernel_name, struct nc_error *error);

#endif
