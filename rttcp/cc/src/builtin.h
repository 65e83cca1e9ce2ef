/* The algorithms built into the kernel itself (kernel/tcp_lfp.c), as in the virtual-time kernel. */
#ifndef CC_BUILTIN_H
#define CC_BUILTIN_H

#include <stdbool.h>

#include "catalog.h"

/* True when the kernel has these algorithms built in. */
bool cc_builtin_present(void);

/* Sets the algorithm's parameters for every connection on the machine. Returns 0, or -1 with an error that names the
 * file that could not be written. */
int cc_builtin_set(const struct cc_choice *choice, struct nc_error *error);

#endif
