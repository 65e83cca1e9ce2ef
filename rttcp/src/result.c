/* The exchange of results, the same in both directions. */
#include <string.h>

#include "nc_clock.h"
#include "session.h"

int rttcp_send_result(struct rttcp_control *control, const struct rttcp_side *side, const struct rttcp_summary *summary,
                      struct rttcp_error *error)
{
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    for (size_t at = 0; at < json_array_size(side->intervals); at += RTTCP_INTERVALS_A_MESSAGE)
        if (rttcp_control_send(control, rttcp_intervals_encode(side->intervals, at, RTTCP_INTERVALS_A_MESSAGE), deadline,
                               error) < 0)
            return -1;
    json_t *fields = json_pack("{s:o}", "side", rttcp_side_encode(side));
    if (summary)
        json_object_set_new(fields, "summary", rttcp_summary_encode(summary));
    return rttcp_control_send(control, rttcp_message("result", fields), deadline, error);
}

static int decode_result(const json_t *message, struct rttcp_side *side, struct rttcp_summary *summary,
                         struct rttcp_error *error)
{
    char why[200];
    if (rttcp_side_decode(json_object_get(message, "side"), side, why, sizeof why) < 0 ||
        (summary && rttcp_summary_decode(json_object_get(message, "summary"), summary, why, sizeof why) < 0))
        return rttcp_fail(error, NC_EXIT_FAILED, "control connection: the peer's result: %s", why);
    return 0;
}

/* 1: more to come, 0: that was the result, -1 */
static int take_result(const json_t *message, struct rttcp_side *side, struct rttcp_summary *summary,
                       struct rttcp_error *error)
{
    char why[200];
    const char *type = rttcp_message_type(message);
    if (strcmp(type, "result") == 0)
        return decode_result(message, side, summary, error);
    if (strcmp(type, "intervals") != 0)
        return rttcp_control_unexpected(message, "result", error);
    if (rttcp_intervals_decode(message, side, why, sizeof why) == 0)
        return 1;
    return rttcp_fail(error, NC_EXIT_FAILED, "control connection: the peer's intervals: %s", why);
}

int rttcp_receive_result(struct rttcp_control *control, struct rttcp_side *side, struct rttcp_summary *summary,
                         struct rttcp_error *error)
{
    uint64_t deadline = nc_now_ns() + RTTCP_HANDSHAKE_NS;
    while (nc_now_ns() < deadline) {
        json_t *message = NULL;
        enum rttcp_got got = rttcp_control_poll(control, deadline, &message, error);
        if (got == GOT_BAD)
            return -1;
        if (got == GOT_CLOSED)
            return rttcp_fail(error, NC_EXIT_FAILED, "the peer went away before it sent its result");
        if (got == GOT_NOTHING)
            continue;
        int status = take_result(message, side, summary, error);
        json_decref(message);
        if (status <= 0)
            return status;
    }
    return rttcp_fail(error, NC_EXIT_FAILED, "the peer did not send its result in time");
}
