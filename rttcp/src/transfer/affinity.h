/* Binds this process to a processor. */
#ifndef RTTCP_AFFINITY_H
#define RTTCP_AFFINITY_H

#include "nc_error.h"

/* `cpu` is the processor's number; NULL or "": any. The error names `option`. */
int rttcp_affinity_set(const char *option, const char *cpu, struct nc_error *error);

#endif
