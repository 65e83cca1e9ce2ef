/* Which processor the tool runs on. */
#ifndef RTTCP_AFFINITY_H
#define RTTCP_AFFINITY_H

#include "error.h"

/* "" : any. `option` is named in the error. */
int rttcp_affinity_set(const char *option, const char *cpu, struct rttcp_error *error);

#endif
