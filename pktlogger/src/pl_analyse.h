/* Joins the sender's and the receiver's capture of the same connections and runs the steps of pl_transfer.h on each. */
#ifndef PL_ANALYSE_H
#define PL_ANALYSE_H

#include "pl_transfer.h"

/* Gets each transfer complete; it is freed afterwards. 0, or -1 to stop. */
typedef int pl_transfer_sink(void *context, const struct pl_transfer *transfer);

struct pl_joined {
    uint32_t flows;              /* handed to the sink */
    uint32_t unmatched_sender, unmatched_receiver; /* flows of one capture without one in the other */
};

/* Flows are matched by addresses and ports, and by the SYN where both captures have it. Each is analysed in the
 * direction that left the sender's machine: the one whose first packet the sender's capture shows first. `box`: the record of
 * the delay box between, or NULL. */
enum pl_status pl_analyse(const struct pl_trace *sender, const struct pl_trace *receiver, const struct pl_box *box,
                          pl_transfer_sink *sink, void *context, struct pl_joined *joined);

#endif
