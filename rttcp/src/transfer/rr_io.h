/* Moves the messages of request and response over a stream's connection; rr.h has the rules. */
#ifndef RTTCP_RR_IO_H
#define RTTCP_RR_IO_H

#include "nc_error.h"
#include "transfer.h"

/* One call of send or recv, whichever end's turn it is. It blocks for a slice at most. ENDED_N: continue. The client
 * ends between two exchanges, the server at the end of the client's stream. transfer->bytes counts the requests of
 * complete exchanges, so the meter never sees a part of one. */
enum rttcp_ended rttcp_rr_once(struct rttcp_transfer *transfer, struct nc_error *error);

/* After the end: shuts the connection down. The client then awaits the server's end of the stream. Returns `ended`, or
 * ENDED_ERROR when more octets arrive than answers are due. */
enum rttcp_ended rttcp_rr_close(struct rttcp_transfer *transfer, enum rttcp_ended ended, struct nc_error *error);

#endif
