#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_jsonl.h"

bool rttcp_report_has(const struct rttcp_report *report, int direction)
{
    return (direction == FORWARD ? report->params.forward : report->params.reverse) > 0;
}

int rttcp_report_main(const struct rttcp_report *report)
{
    return report->params.forward || !report->params.reverse ? FORWARD : REVERSE;
}

/* The proposing end sends the forward data, so the serving end has the receiver's account of them. */
static bool ours_sends(const struct rttcp_report *report, int direction)
{
    return (direction == FORWARD) != report->serving;
}

struct rttcp_side *rttcp_report_ours(struct rttcp_report *report, int direction)
{
    struct rttcp_way *way = &report->ways[direction];
    return ours_sends(report, direction) ? &way->sender : &way->receiver;
}

struct rttcp_side *rttcp_report_theirs(struct rttcp_report *report, int direction)
{
    struct rttcp_way *way = &report->ways[direction];
    return ours_sends(report, direction) ? &way->receiver : &way->sender;
}

static uint64_t info_number(const struct rttcp_side *side, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(side->tcp_info, name));
}

/* The bytes that the receiver read. When its account is missing, the best known number is what its TCP acknowledged,
 * but only of a session with one stream; bytes_acked counts the SYN too. */
static uint64_t bytes_known(const struct rttcp_way *way, bool finished)
{
    if (finished || way->receiver.bytes)
        return way->receiver.bytes;
    uint64_t acknowledged = info_number(&way->sender, "bytes_acked");
    bool one = json_array_size(way->sender.streams) < 2;
    return one && acknowledged < way->sender.bytes ? acknowledged : one ? way->sender.bytes : 0;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

/* True when the two ends' digests of stream i differ. */
static bool digests_differ(const struct rttcp_way *way, size_t i)
{
    return strcmp(text_of(json_array_get(way->sender.streams, i), "digest"),
                  text_of(json_array_get(way->receiver.streams, i), "digest")) != 0;
}

/* Returns "ok", or "mismatch" with the first wrong octet in report->mismatch. */
static const char *verify(struct rttcp_report *report, const struct rttcp_way *way)
{
    size_t i;
    json_t *row;
    bool differ = false;
    json_array_foreach(way->receiver.streams, i, row)
    {
        differ |= digests_differ(way, i);
        if (!json_is_true(json_object_get(row, "mismatch")))
            continue;
        snprintf(
            report->mismatch, sizeof report->mismatch,
            "stream %" JSON_INTEGER_FORMAT ", offset %" JSON_INTEGER_FORMAT ": expected %s, got %s (hexadecimal): the "
            "path altered the data",
            json_integer_value(json_object_get(row, "stream")),
            json_integer_value(json_object_get(row, "mismatch_offset")), text_of(row, "expected"), text_of(row, "got"));
        return "mismatch";
    }
    if (differ)
        snprintf(report->mismatch, sizeof report->mismatch, "the two ends' digests differ");
    return differ ? "mismatch" : "ok";
}

/* Notes a wrong number of octets in a session in which nothing failed. */
static void count(struct rttcp_report *report, const struct rttcp_way *way)
{
    if (way->sender.bytes != way->receiver.bytes && !report->mismatch[0])
        snprintf(report->mismatch, sizeof report->mismatch,
                 "sent %" PRIu64 " bytes, received %" PRIu64
                 ": the path, or somebody else at the data port, altered the stream",
                 way->sender.bytes, way->receiver.bytes);
}

void rttcp_report_summarise(struct rttcp_report *report, int direction, enum rttcp_ended ended)
{
    struct rttcp_way *way = &report->ways[direction];
    struct rttcp_summary *summary = &way->summary;
    bool finished = !report->error[0];
    summary->bytes = bytes_known(way, finished);
    summary->first_byte_ns = way->receiver.first_byte_ns;
    summary->drain_ns = way->sender.drain_ns;
    summary->short_term_bps = rttcp_bps(summary->bytes, summary->elapsed_ns);
    summary->steady_bps = way->receiver.steady_bps;
    summary->peak_bps = way->receiver.peak_bps;
    summary->retransmits = way->sender.retransmits;
    const char *verified = !report->params.verify ? "off" : finished ? verify(report, way) : "unknown";
    snprintf(summary->verified, sizeof summary->verified, "%s", verified);
    if (finished)
        count(report, way);
    summary->complete = finished && ended != ENDED_SIGNAL && ended != ENDED_ERROR && !report->mismatch[0] &&
                        way->receiver.bytes == way->sender.bytes;
    snprintf(summary->ended_by, sizeof summary->ended_by, "%s", rttcp_ended_names[finished ? ended : ENDED_ERROR]);
}

static void give_reason(json_t *reasons, const char *format, uint64_t a, uint64_t b)
{
    char text[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, a, b);
#pragma GCC diagnostic pop
    json_array_append_new(reasons, json_string(text));
}

json_t *rttcp_report_verdict(const struct rttcp_report *report, int direction)
{
    const struct rttcp_way *way = &report->ways[direction];
    const struct rttcp_side *sender = &way->sender, *receiver = &way->receiver;
    json_t *reasons = json_array();
    if (report->error[0])
        json_array_append_new(reasons, nc_jsonl_text(report->error));
    else if (strcmp(way->summary.verified, "mismatch") == 0)
        json_array_append_new(reasons, nc_jsonl_text(report->mismatch));
    else if (!way->summary.complete)
        json_array_append_new(reasons, json_string("ended early"));
    if (!report->error[0] && sender->bytes != receiver->bytes)
        give_reason(reasons, "sent %" PRIu64 " bytes, received %" PRIu64, sender->bytes, receiver->bytes);
    /* the kernel may offer one or two segments more for a moment (window.c, step 3) */
    uint64_t allowed = sender->window_granted_bytes + 2 * sender->mss_bytes;
    if (sender->window_granted_bytes && sender->window_seen_max_bytes > allowed)
        give_reason(reasons, "the receiver offered a window of %" PRIu64 " bytes where %" PRIu64 " were granted",
                    sender->window_seen_max_bytes, sender->window_granted_bytes);
    return json_pack("{s:b, s:o}", "valid", json_array_size(reasons) == 0, "reasons", reasons);
}

static json_t *array_or_empty(json_t *array)
{
    return array ? json_incref(array) : json_array();
}

static json_t *whole_side(const struct rttcp_side *side)
{
    json_t *object = rttcp_side_encode(side);
    json_object_set_new(object, "intervals", array_or_empty(side->intervals));
    json_object_set_new(object, "streams", array_or_empty(side->streams));
    return object;
}

static json_t *way_encode(const struct rttcp_report *report, int direction)
{
    const struct rttcp_way *way = &report->ways[direction];
    json_t *summary = rttcp_summary_encode(&way->summary);
    json_object_set_new(summary, "verdict", rttcp_report_verdict(report, direction));
    return json_pack("{s:o, s:o, s:o}", "sender", whole_side(&way->sender), "receiver", whole_side(&way->receiver),
                     "summary", summary);
}

bool rttcp_report_complete(const struct rttcp_report *report)
{
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (rttcp_report_has(report, direction) && !report->ways[direction].summary.complete)
            return false;
    return !report->error[0];
}

json_t *rttcp_report_encode(const struct rttcp_report *report)
{
    int first = rttcp_report_main(report);
    bool both = report->params.forward && report->params.reverse;
    json_t *object = way_encode(report, first);
    json_object_set_new(object, "session", json_string(report->session));
    json_object_set_new(object, "direction", json_string(both ? "both" : first == FORWARD ? "forward" : "reverse"));
    json_object_set_new(object, "role", json_string(ours_sends(report, first) ? "sender" : "receiver"));
    json_object_set_new(object, "params", rttcp_params_encode(&report->params));
    json_object_set_new(object, "complete", json_boolean(rttcp_report_complete(report)));
    if (both)
        json_object_set_new(object, "reverse", way_encode(report, REVERSE));
    if (report->error[0] || report->mismatch[0])
        json_object_set_new(object, "error", nc_jsonl_text(report->error[0] ? report->error : report->mismatch));
    return object;
}

void rttcp_report_release(struct rttcp_report *report)
{
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        rttcp_side_release(&report->ways[direction].sender);
        rttcp_side_release(&report->ways[direction].receiver);
        json_decref(report->details[direction]);
        report->details[direction] = NULL;
    }
}
