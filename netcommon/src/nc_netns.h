/* Network namespaces. A specification is a process id (`1234`: that process's namespace), an absolute path, or a name
 * under /run/netns as `ip netns` makes them. */
#ifndef NC_NETNS_H
#define NC_NETNS_H

#include <stddef.h>

/* Opens the namespace; returns a descriptor, or -1 with a reason that names the specification. */
int nc_netns_open(const char *spec, char *why, size_t why_size);

/* Moves the calling thread into the namespace and returns a descriptor of the one it left, or -1 (errno set). */
int nc_netns_enter(int netns_fd);

/* Back to where nc_netns_enter came from; closes the descriptor. Failing to return is fatal: the thread would go on in
 * the wrong namespace. */
void nc_netns_leave(int previous_fd);

/* Splits "NAME@SPEC" as given on command lines: copies NAME to name, points *spec behind the '@' or to NULL when there
 * is none (the tool's own namespace). -1 when NAME is empty or does not fit. */
int nc_netns_split(const char *text, char *name, size_t name_size, const char **spec);

#endif
