/* The keeper is a process that stays privileged when a daemon enters its sandbox (nc_sandbox.h): a child, forked before
 * the daemon reads a key or a packet, that performs only the few acts in the daemon's table. Rejected: leaving the
 * daemon the privileges that the acts need, such as the right to start nft. */
#ifndef NC_KEEPER_H
#define NC_KEEPER_H

#include <stdint.h>

#include "nc_error.h"

struct nc_keeper;

/* Performs an act, in the keeper. Returns 0, or -1 with an error. */
typedef int (*nc_keeper_act)(void *context, uint32_t what, uint64_t value, struct nc_error *error);

/* Forks the keeper, which has a copy of the context and keeps only these capabilities. NULL with an error. */
struct nc_keeper *nc_keeper_open(nc_keeper_act act, void *context, uint64_t capabilities, struct nc_error *error);

/* Asks the keeper for an act and waits for the answer. Returns -1 with an error on failure, or when the keeper is gone
 * or NULL. */
int nc_keeper_ask(struct nc_keeper *keeper, uint32_t what, uint64_t value, struct nc_error *error);

/* Ends the keeper and waits for it. A keeper whose daemon has died exits by itself and leaves everything as it is. */
void nc_keeper_close(struct nc_keeper *keeper);

#endif
