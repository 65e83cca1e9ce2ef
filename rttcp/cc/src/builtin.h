/* The algorithms as part of the kernel itself (kernel/tcp_lfp.c), as in the virtual-time kernel. */
#ifndef CC_BUILTIN_H
#define CC_BUILTIN_H

#include <stdbool.h>

#include "catalog.h"

/* True when the kernel has them built in. */
bool cc_builtin_present(void);

/* Sets the algorithm's parameters, for every connection on the machine. 0, or -1 with the file that could not be written. */
int cc_builtin_set(const struct cc_choice *choice, struct rttcp_error *error);

#endif
