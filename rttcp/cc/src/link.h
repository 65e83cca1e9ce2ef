/* A congestion control in the kernel. An algorithm stays in the kernel while a process holds a descriptor of its
 * struct_ops link.
 *
 * The kernel counts the users. The first process that needs the algorithm creates the link, others open it, and when
 * the last descriptor closes, however its process ends, the kernel removes the algorithm. So nothing is left behind,
 * and no file, pin or counter can disagree with the kernel. Links need Linux 6.4.
 * Rejected: pins in a BPF file system. They outlive a crash and need that file system mounted.
 * Rejected: registration by the map alone, as `bpftool struct_ops register` does it. It stays until somebody remembers
 * to delete it. */
#ifndef CC_LINK_H
#define CC_LINK_H

#include <stdbool.h>

#include "catalog.h"

/* Returns a descriptor of the link of choice->entry, and creates the link when there is none. Returns -1 with status 3
 * when the machine lacks something, with status 1 when the algorithm is loaded with other parameters. Sockets that use
 * the algorithm keep its code after the last descriptor is closed. */
int cc_link_open(const struct cc_choice *choice, bool verbose, struct nc_error *error);

/* True when the algorithm is in the kernel; `loaded` then has its parameters. */
bool cc_link_state(const struct cc_entry *entry, struct cc_choice *loaded);

#endif
