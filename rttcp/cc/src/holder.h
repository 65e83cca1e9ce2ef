/* Processes that keep an algorithm loaded for others: `rttcp cc load` in the background and `rttcp cc hold` in the
 * foreground. */
#ifndef CC_HOLDER_H
#define CC_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "catalog.h"

/* Starts a process in the background that holds the link. Returns its id, or -1. It ends when this process ends, unless
 * cc_holder_keep is called. */
pid_t cc_holder_start(const struct cc_choice *choice, bool verbose, int *leash, struct nc_error *error);

/* Lets the holder outlive this process, until cc_holder_end or SIGTERM. Returns -1 when it has ended already. */
int cc_holder_keep(int leash);

/* Ends one holder of the algorithm and waits for its end. If it was the last user, the algorithm has then left the
 * kernel. Returns -1 when there is no holder or it does not end. */
int cc_holder_end(const struct cc_entry *entry, struct nc_error *error);

/* Waits for SIGINT or SIGTERM, and with `parent_death` also for the parent's death. */
void cc_holder_wait(bool parent_death, pid_t parent);

#endif
