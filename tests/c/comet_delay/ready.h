/* A direction that is ready for packets, set up as the box does it. */
#ifndef TEST_READY_H
#define TEST_READY_H

#include "direction.h"
#include "params.h"

enum { READY_SEED = 11, READY_MEMORY_BYTES = 64 << 20 };

/* With these parameters; empty texts mean the defaults. */
void direction_ready(struct direction *d, struct params params, uint64_t granularity_ns);

#endif
