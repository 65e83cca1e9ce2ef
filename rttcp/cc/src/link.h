/* A congestion control in the kernel: an algorithm is there while somebody holds a descriptor of its struct_ops link.
 *
 * The kernel does the counting. Whoever wants the algorithm opens the link, the first one makes it; the last descriptor that is
 * closed, by whatever death, takes it away. So there is nothing to leave behind, and no file, pin or counter that could disagree
 * with the kernel. Rejected: pins in a BPF file system (outlive a crash, need it mounted) and registration by the map alone
 * (as `bpftool struct_ops register` does it: stays until somebody remembers to delete it). Links need Linux 6.4. */
#ifndef CC_LINK_H
#define CC_LINK_H

#include <stdbool.h>

#include "catalog.h"

/* A descriptor of the link of choice->entry, made if need be. -1: status 3 and what the machine lacks; 1 when it is loaded with
 * other parameters. Sockets that use the algorithm keep its code past the last descriptor. */
int cc_link_open(const struct cc_choice *choice, bool verbose, struct rttcp_error *error);

/* True when the algorithm is in the kernel, with its parameters then. */
bool cc_link_state(const struct cc_entry *entry, struct cc_choice *loaded);

/* 0, or -1 with what keeps this machine from having any: compiler at build time, kernel, BTF, privilege. */
int cc_link_possible(struct rttcp_error *error);

#endif
