/* Everything known about one session at one end, and how it is put together. Output prints it. */
#ifndef RTTCP_REPORT_H
#define RTTCP_REPORT_H

#include <stdbool.h>
#include <sys/resource.h>

#include "error.h"
#include "message.h"
#include "meter.h"
#include "transfer.h"

struct rttcp_report {
    bool at_receiver; /* which end this is */
    char session[20];
    struct rttcp_params params; /* as negotiated */
    struct rttcp_side sender, receiver;
    struct rttcp_summary summary;
    char error[480]; /* "" when complete */
};

/* Fills in our side after the transfer: counters, processor use since `before`, socket's members, final TCP_INFO. Takes
 * the meter's intervals over. */
void rttcp_report_side(struct rttcp_side *side, int data_fd, struct rttcp_transfer *transfer, struct rttcp_meter *meter,
                       const struct rusage *before);

/* At the sender, with both sides known (or, when incomplete, only its own): the summary. */
void rttcp_report_summarise(struct rttcp_report *report, uint64_t connect_ns, uint64_t elapsed_ns, enum rttcp_ended ended);

/* {"valid":…, "reasons":[…]}: incomplete, sides that disagree, a window larger than asked for. */
json_t *rttcp_report_verdict(const struct rttcp_report *report);

/* The `end` line's object. */
json_t *rttcp_report_encode(const struct rttcp_report *report);

void rttcp_report_release(struct rttcp_report *report);

#endif
