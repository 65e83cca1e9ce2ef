/* Joins the sender's and the receiver's capture of the same connections, and runs the steps of transfer.h on each
 * connection. */
#ifndef PL_ANALYSE_H
#define PL_ANALYSE_H

#include "transfer.h"

/* Receives each transfer when it is complete; the transfer is freed afterwards. Returns 0, or -1 to stop. */
typedef int pl_transfer_sink(void *context, const struct pl_transfer *transfer);

struct pl_joined {
    uint32_t flows;                                /* handed to the sink */
    uint32_t unmatched_sender, unmatched_receiver; /* flows of one capture that are not in the other */
};

/* Matches flows by addresses and ports, and by the SYN where both captures have it. Each flow is analysed in the
 * direction that left the sender's machine: the one whose first packet the sender's capture shows first. `box` is the
 * record of the delay box between the two ends, or NULL. */
enum pl_status pl_analyse(const struct pl_trace *sender, const struct pl_trace *receiver, const struct pl_box *box,
                          pl_transfer_sink *sink, void *context, struct pl_joined *joined);

#endif
