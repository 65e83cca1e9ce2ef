/* Runs the pacer of a stream: reads the clock and sleeps as pacer.h decides. */
#ifndef RTTCP_PACE_H
#define RTTCP_PACE_H

#include "transfer.h"

/* Starts the pacer of a sender, before its first write. `streams`: how many senders share the pace. */
void rttcp_pace_begin(struct rttcp_transfer *stream, uint64_t streams);

/* Returns whether writes are small because of a low pace (pacer.h). */
bool rttcp_pace_small(const struct rttcp_transfer *stream);

/* After a write of `bytes`. Sleeps for as long as the pace requires, but for a slice at most. Returns true when more
 * sleep is required: then the caller must not write, but call again with 0. */
bool rttcp_pace_rest(struct rttcp_transfer *stream, uint64_t bytes);

#endif
