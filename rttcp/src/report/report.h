/* Everything that one end knows about a session, from which the `end` line is made. output.h prints it. */
#ifndef RTTCP_REPORT_H
#define RTTCP_REPORT_H

#include <stdbool.h>

#include "evidence.h"
#include "nc_error.h"
#include "flow.h"
#include "results.h"

enum { FORWARD, REVERSE, DIRECTIONS };

struct rttcp_report {
    bool serving; /* which end this is: -r */
    char session[20];
    struct rttcp_params params; /* as negotiated */
    struct rttcp_way {
        struct rttcp_side sender, receiver; /* accounts of the data's sender and receiver */
        struct rttcp_summary summary;
        uint64_t preface_bytes; /* bytes that the sender's TCP sent on each connection before the data: the token
                                 * (join.h) */
    } ways[DIRECTIONS];
    json_t *details[DIRECTIONS];     /* rows of each stream in this end's intervals (meter.h); owned; may be NULL */
    char error[480];                 /* why the session failed; "" when it is complete */
    char mismatch[RTTCP_WRONG_TEXT]; /* "" or the fault found in the data or in their accounts (evidence.h) */
};

/* Returns whether the session has this direction. */
bool rttcp_report_has(const struct rttcp_report *report, int direction);

/* Returns the direction whose results are at the top level of the output: forward, if the session has it. */
int rttcp_report_main(const struct rttcp_report *report);

/* Return this end's account of a direction, and the other end's. */
struct rttcp_side *rttcp_report_ours(struct rttcp_report *report, int direction);
struct rttcp_side *rttcp_report_theirs(struct rttcp_report *report, int direction);

/* Fills in this end's side after the transfer: counters, processor use since flow->before, the values of the first
 * socket, the final TCP_INFO, the streams. The meter's intervals become the side's. */
void rttcp_report_side(struct rttcp_side *side, struct rttcp_flow *flow);

/* At the receiving end, once connected: records the requested window and the window after rounding by the window
 * scale. */
void rttcp_report_window(struct rttcp_side *side, int fd, uint64_t window_bytes);

/* Makes the summary of a direction from both sides or, when incomplete, from this end's. The caller has set connect_ns
 * and elapsed_ns. */
void rttcp_report_summarise(struct rttcp_report *report, int direction, enum rttcp_ended ended);

/* At the serving end, after it has received the proposing end's summary: keeps the values that only the proposing end
 * can know (connect_ns, elapsed_ns, ended_by), computes the rest from the accounts, and takes the worse of the two
 * verdicts. If its own verdict is the worse one, report->mismatch has the reason. */
void rttcp_report_adopt(struct rttcp_report *report, int direction);

/* Returns {"valid":…, "reasons":[…]}. Possible reasons: an incomplete session, sides that disagree, wrong octets,
 * missing digests, a window larger than granted. */
json_t *rttcp_report_verdict(const struct rttcp_report *report, int direction);

/* The `end` line's object. */
json_t *rttcp_report_encode(const struct rttcp_report *report);

/* Exchanges per second of all streams together, from the first request to the last response; 0 without any. */
double rttcp_report_exchanges_per_s(const struct rttcp_exchange_account *account);

bool rttcp_report_complete(const struct rttcp_report *report);
void rttcp_report_release(struct rttcp_report *report);

#endif
