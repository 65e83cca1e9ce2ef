/* Network namespaces. A specification is a process id (`1234`: the namespace of that process), an absolute path, or a
 * name under /run/netns as `ip netns` makes them. */
#ifndef NC_NETNS_H
#define NC_NETNS_H

#include <stddef.h>

#include "nc_error.h"

/* Opens the namespace. Returns a descriptor, or -1 with an error that names the specification. */
int nc_netns_open(const char *spec, struct nc_error *error);

/* Moves the calling thread into the namespace. Returns a descriptor of the namespace it left, or -1 with errno. */
int nc_netns_enter(int netns_fd);

/* Moves the thread back to the namespace that nc_netns_enter returned, and closes the descriptor. It ends the program
 * when that fails, because the thread would continue in the wrong namespace. */
void nc_netns_leave(int previous_fd);

/* Splits "NAME@SPEC" as given on command lines: copies NAME to `name`, and points *spec behind the '@', or to NULL when
 * there is no '@' (the tool's own namespace). -1 when NAME is empty or does not fit. */
int nc_netns_split(const char *text, char *name, size_t name_size, const char **spec);

#endif
