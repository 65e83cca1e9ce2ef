/* What rttcp itself calls. */
#ifndef CC_LOADER_H
#define CC_LOADER_H

#include "error.h"

/* `rttcp cc …`: argv[1] is "cc". Returns the exit status. */
int cc_main(int argc, char **argv);

/* For `--congestion TEXT` of a sender, "NAME" or "NAME:KEY=VALUE,…": when NAME is one of this catalog it is in the kernel
 * from now until this process ends, and *kernel_name is what setsockopt takes. Other names, and NULL, are passed through. 0, or -1
 * with the error (status 2: parameters, 3: what the machine lacks). */
int cc_hold_for_transfer(const char *text, const char **kernel_name, struct rttcp_error *error);

#endif
