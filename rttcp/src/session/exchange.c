/* The exchange of accounts, which is the same at both ends. Intervals and streams are sent in separate messages,
 * because a message has at most 64 KB. */
#include <string.h>

#include "nc_clock.h"
#include "session.h"

static json_t *stream_message(int direction, json_t *row)
{
    return rttcp_message("stream", json_pack("{s:i, s:O}", "direction", direction, "account", row));
}

static int send_rows(struct rttcp_session *s, int direction, uint64_t deadline, struct nc_error *error)
{
    const struct rttcp_side *side = rttcp_report_ours(&s->report, direction);
    size_t i;
    json_t *row;
    json_array_foreach(side->streams, i,
                       row) if (rttcp_control_connection_send(&s->control, stream_message(direction, row), deadline,
                                                              error) < 0) return -1;
    for (size_t at = 0; at < json_array_size(side->intervals); at += RTTCP_INTERVALS_A_MESSAGE)
        if (rttcp_control_connection_send(
                &s->control,
                rttcp_intervals_encode((uint64_t)direction, side->intervals, at, RTTCP_INTERVALS_A_MESSAGE), deadline,
                error) < 0)
            return -1;
    return 0;
}

int rttcp_send_result(struct rttcp_session *s, uint64_t deadline, struct nc_error *error)
{
    json_t *ways = json_array();
    for (int d = 0; d < DIRECTIONS; d++) {
        json_t *way = json_object();
        if (rttcp_report_has(&s->report, d)) {
            json_object_set_new(way, "side", rttcp_side_encode(rttcp_report_ours(&s->report, d)));
            if (!s->report.serving)
                json_object_set_new(way, "summary", rttcp_summary_encode(&s->report.ways[d].summary));
        }
        json_array_append_new(ways, way);
    }
    json_t *result = rttcp_message("result", json_pack("{s:o}", "ways", ways));
    int status = 0;
    for (int d = 0; d < DIRECTIONS && status == 0; d++)
        status = send_rows(s, d, deadline, error);
    if (status == 0)
        return rttcp_control_connection_send(&s->control, result, deadline, error);
    json_decref(result);
    return -1;
}

static int decode_result(struct rttcp_session *s, const json_t *message, struct nc_error *error)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        const json_t *way = json_array_get(json_object_get(message, "ways"), (size_t)d);
        if (!rttcp_report_has(&s->report, d))
            continue;
        if (rttcp_side_decode(json_object_get(way, "side"), rttcp_report_theirs(&s->report, d), error) < 0)
            return -1;
        const json_t *summary = json_object_get(way, "summary");
        if (s->report.serving && rttcp_summary_decode(summary, &s->report.ways[d].summary, error) < 0)
            return -1;
    }
    return 0;
}

/* Adds a row to the table of streams. The row is decoded and encoded again, so that no part of the peer's message is
 * kept unchecked. */
static int take_stream(struct rttcp_side *side, const json_t *message, struct nc_error *error)
{
    struct rttcp_stream_account account = {0};
    if (rttcp_stream_decode(json_object_get(message, "account"), &account, error) < 0)
        return -1;
    if (!side->streams)
        side->streams = json_array();
    if (json_array_size(side->streams) < RTTCP_STREAMS_MAX)
        json_array_append_new(side->streams, rttcp_stream_encode(&account));
    return 0;
}

/* Returns 1 when more messages follow, 0 when this was the result, -1 on an error. */
static int take_result(struct rttcp_session *s, const json_t *message, struct nc_error *error)
{
    struct nc_error wrong = {0};
    uint64_t direction = 0;
    const char *type = rttcp_message_type(message);
    if (strcmp(type, "progress") == 0 || strcmp(type, "confirm") == 0 || strcmp(type, "stop") == 0 ||
        (strcmp(type, "abort") == 0 && s->error.text[0]))
        return 1; /* the peer sent it before our last message arrived */
    int status = -1;
    if (strcmp(type, "result") == 0)
        status = decode_result(s, message, &wrong);
    else if (strcmp(type, "intervals") != 0 && strcmp(type, "stream") != 0)
        return rttcp_control_connection_unexpected(message, "result", error);
    else if (rttcp_direction_decode(message, &direction, &wrong) == 0) {
        struct rttcp_side *side = rttcp_report_theirs(&s->report, (int)direction);
        status = type[0] == 'i' ? rttcp_intervals_decode(message, side, &wrong) : take_stream(side, message, &wrong);
        status = status == 0 ? 1 : status;
    }
    return status >= 0 ? status
                       : nc_fail(error, NC_EXIT_FAILED, "control connection: the peer's %s: %s", type, wrong.text);
}

int rttcp_receive_result(struct rttcp_session *s, uint64_t deadline, struct nc_error *error)
{
    while (nc_now_ns() < deadline) {
        json_t *message = NULL;
        enum rttcp_got got = rttcp_control_connection_poll(&s->control, deadline, &message, error);
        if (got == GOT_BAD)
            return -1;
        if (got == GOT_CLOSED)
            return nc_fail(error, NC_EXIT_FAILED, "the peer went away before it sent its result");
        if (got == GOT_NOTHING)
            continue;
        int status = take_result(s, message, error);
        json_decref(message);
        if (status <= 0)
            return status;
    }
    return nc_fail(error, NC_EXIT_FAILED, "the peer did not send its result in time");
}
