/* Everything known about one session at one end, and how it is put together. Output prints it. */
#ifndef RTTCP_REPORT_H
#define RTTCP_REPORT_H

#include <stdbool.h>

#include "error.h"
#include "flow.h"
#include "message.h"

enum { FORWARD, REVERSE, DIRECTIONS };

struct rttcp_report {
    bool serving; /* which end this is: -r */
    char session[20];
    struct rttcp_params params; /* as negotiated */
    struct rttcp_way {
        struct rttcp_side sender, receiver; /* of the data */
        struct rttcp_summary summary;
    } ways[DIRECTIONS];
    json_t *details[DIRECTIONS]; /* of our intervals, a stream each (meter.h); owned; may be NULL */
    char error[480];             /* "" when complete */
    char mismatch[240];          /* "" or the first wrong octet, or a wrong count of them */
};

/* Whether the session has this direction. */
bool rttcp_report_has(const struct rttcp_report *report, int direction);

/* The direction that stands at the top of what is printed: forward unless there is only the other one. */
int rttcp_report_main(const struct rttcp_report *report);

/* Our account of a direction, and the other end's. */
struct rttcp_side *rttcp_report_ours(struct rttcp_report *report, int direction);
struct rttcp_side *rttcp_report_theirs(struct rttcp_report *report, int direction);

/* Fills in our side after the transfer: counters, processor use since flow->before, the first socket's members, final
 * TCP_INFO, the streams. Takes the meter's intervals over. */
void rttcp_report_side(struct rttcp_side *side, struct rttcp_flow *flow);

/* The receiving end, once connected: what was asked for, and what the window scale makes of it. */
void rttcp_report_window(struct rttcp_side *side, int fd, uint64_t window_bytes);

/* With both sides known (or, when incomplete, only ours): a direction's summary, but for connect_ns and elapsed_ns, which
 * are to be there. */
void rttcp_report_summarise(struct rttcp_report *report, int direction, enum rttcp_ended ended);

/* {"valid":…, "reasons":[…]}: incomplete, sides that disagree, wrong octets, a window larger than asked for. */
json_t *rttcp_report_verdict(const struct rttcp_report *report, int direction);

/* The `end` line's object. */
json_t *rttcp_report_encode(const struct rttcp_report *report);

bool rttcp_report_complete(const struct rttcp_report *report);
void rttcp_report_release(struct rttcp_report *report);

#endif
