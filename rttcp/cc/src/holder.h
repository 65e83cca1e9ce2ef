/* Processes that hold an algorithm for others: `rttcp cc load` (in the background) and `rttcp cc hold` (in front). */
#ifndef CC_HOLDER_H
#define CC_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "catalog.h"

/* A process in the background that holds the link. Its id, or -1. It ends with this one unless `cc_holder_keep` is called. */
pid_t cc_holder_start(const struct cc_choice *choice, bool verbose, int *leash, struct rttcp_error *error);

/* Leaves it behind, until `cc_holder_end` or SIGTERM. */
int cc_holder_keep(int leash);

/* Ends one holder of the algorithm and waits for it: it is gone from the kernel when this was the last user. -1: there is none. */
int cc_holder_end(const struct cc_entry *entry, struct rttcp_error *error);

/* Waits for SIGINT or SIGTERM (or the parent's death when asked to). */
void cc_holder_wait(bool parent_death, pid_t parent);

#endif
