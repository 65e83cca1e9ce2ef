/* Whether the queueing discipline on the way to an address takes times of departure (SO_TXTIME): `fq` does for
 * CLOCK_MONOTONIC. Others ignore them in silence, so that the packets would all leave at once; hence the check. */
#ifndef PL_QDISC_H
#define PL_QDISC_H

#include <sys/socket.h>

#include "nc_error.h"

/* Returns 0, or -1 with the error (status 3), which names interface and discipline. */
int pl_qdisc_check_txtime(const struct sockaddr_storage *to, struct nc_error *error);

#endif
