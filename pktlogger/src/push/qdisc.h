/* Checks whether the queueing discipline on the route to an address honours departure times (SO_TXTIME). `fq` honours
 * those of CLOCK_MONOTONIC. Other disciplines ignore departure times silently, so all packets would leave at once. */
#ifndef PL_QDISC_H
#define PL_QDISC_H

#include <sys/socket.h>

#include "nc_error.h"

/* Returns 0, or -1 with the error (status 3), which names interface and discipline. */
int pl_qdisc_check_txtime(const struct sockaddr_storage *to, struct nc_error *error);

#endif
