/* Binds this process to a processor. */
#ifndef RTTCP_AFFINITY_H
#define RTTCP_AFFINITY_H

#include "nc_error.h"

/* `cpu` is the processor's number; NULL or "": any. The error names `option`. */
int rttcp_affinity_set(const char *option, const char *cpu, struct nc_error *error);

/* The same for a choice made by the peer, which may only narrow what the administrator allows: by --cpu, taskset(1) or
 * CPUAffinity= of a unit. */
int rttcp_affinity_narrow(const char *option, const char *cpu, struct nc_error *error);

#endif
