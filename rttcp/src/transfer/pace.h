/* The pacer of a stream at work: looks at the clock, and sleeps (pacer.h decides). */
#ifndef RTTCP_PACE_H
#define RTTCP_PACE_H

#include "transfer.h"

/* For a sender that is one of `streams`, before its first write. */
void rttcp_pace_begin(struct rttcp_transfer *stream, uint64_t streams);

/* Whether the writes are small because the pace is low (pacer.h). */
bool rttcp_pace_small(const struct rttcp_transfer *stream);

/* After a write of `bytes`. Sleeps for as long as the pace asks, and for a slice at most. Returns whether the pace asks
 * for more sleep: then the caller does not write, but calls again with 0. */
bool rttcp_pace_rest(struct rttcp_transfer *stream, uint64_t bytes);

#endif
