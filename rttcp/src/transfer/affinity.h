/* Binds this process to a processor. */
#ifndef RTTCP_AFFINITY_H
#define RTTCP_AFFINITY_H

#include "nc_error.h"

/* Binds this process to a processor. `cpu` is its number; NULL or "": any. The error names `option`. */
int rttcp_affinity_set(const char *option, const char *cpu, struct nc_error *error);

/* Binds this process to a processor that the peer chooses. It must be one that the administrator allows by --cpu,
 * taskset(1) or CPUAffinity= of a unit. */
int rttcp_affinity_narrow(const char *option, const char *cpu, struct nc_error *error);

#endif
