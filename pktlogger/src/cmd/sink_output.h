/* What `pktlogger sink` prints. */
#ifndef PL_SINK_OUTPUT_H
#define PL_SINK_OUTPUT_H

#include "arrivals.h"

void pl_sink_print_end(bool human, const struct pl_arrivals *arrivals, uint64_t socket_drops);

#endif
