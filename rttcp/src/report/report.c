#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"
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

/* Returns whether this end sends the data of the direction. The proposing end sends the forward data, the serving end
 * the reverse data. */
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

/* The bytes that the receiver read. When its account is missing, the best known number is the bytes that its TCP
 * acknowledged, but only in a session with one stream; bytes_acked also counts the SYN. */
static uint64_t bytes_known(const struct rttcp_way *way, bool finished)
{
    if (finished || way->receiver.bytes)
        return way->receiver.bytes;
    uint64_t acknowledged = info_number(&way->sender, "bytes_acked");
    acknowledged -= acknowledged < way->preface_bytes ? acknowledged : way->preface_bytes;
    bool one = json_array_size(way->sender.streams) < 2;
    return one && acknowledged < way->sender.bytes ? acknowledged : one ? way->sender.bytes : 0;
}

static struct rttcp_evidence judge(const struct rttcp_report *report, int direction)
{
    const struct rttcp_params *params = &report->params;
    const struct rttcp_way *way = &report->ways[direction];
    struct rttcp_accounts accounts = {.sender = &way->sender,
                                      .receiver = &way->receiver,
                                      .first = direction == FORWARD ? 0 : params->forward,
                                      .n = direction == FORWARD ? params->forward : params->reverse,
                                      .verify = params->verify,
                                      .request_bytes = params->request_bytes,
                                      .response_bytes = params->response_bytes};
    return rttcp_evidence_judge(&accounts);
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
    struct rttcp_evidence evidence = {.verified = report->params.verify ? "unknown" : "off"};
    if (finished)
        evidence = judge(report, direction);
    snprintf(summary->verified, sizeof summary->verified, "%s", evidence.verified);
    if (!report->mismatch[0])
        memcpy(report->mismatch, evidence.wrong, sizeof report->mismatch);
    summary->complete = finished && ended != ENDED_SIGNAL && ended != ENDED_ERROR && !report->mismatch[0];
    snprintf(summary->ended_by, sizeof summary->ended_by, "%s", rttcp_ended_names[finished ? ended : ENDED_ERROR]);
}

static enum rttcp_ended ended_from(const char *name)
{
    for (int ended = 0; ended < ENDED_N; ended++)
        if (strcmp(name, rttcp_ended_names[ended]) == 0)
            return (enum rttcp_ended)ended;
    return ENDED_ERROR;
}

/* Writes a claim of the proposing end that contradicts this end's account to `text`; "" when there is none. The
 * proposing end's clock starts before this end's and stops after it, so its time cannot be shorter; 1 % is allowed for
 * differences of the clocks. */
static void doubt(const struct rttcp_report *report, int direction, const struct rttcp_summary *theirs,
                  char text[RTTCP_WRONG_TEXT])
{
    const size_t size = RTTCP_WRONG_TEXT;
    const struct rttcp_way *way = &report->ways[direction];
    bool bad = strcmp(theirs->verified, "mismatch") == 0 || strcmp(theirs->verified, "unknown") == 0;
    text[0] = '\0';
    if (bad && strcmp(theirs->verified, way->summary.verified) != 0)
        snprintf(text, size, "the other end (-t) says verified '%s', this end found '%s'", theirs->verified,
                 way->summary.verified);
    else if (strcmp(way->summary.ended_by, "error") == 0 || (!theirs->complete && way->summary.complete))
        snprintf(text, size, "the other end (-t) calls the transfer incomplete; this end found nothing wrong");
    else if (!ours_sends(report, direction) && theirs->elapsed_ns < way->receiver.elapsed_ns / 100 * 99)
        snprintf(text, size,
                 "the other end (-t) says that the transfer took %" PRIu64 " ns; this end alone took %" PRIu64 " ns",
                 theirs->elapsed_ns, way->receiver.elapsed_ns);
}

void rttcp_report_adopt(struct rttcp_report *report, int direction)
{
    char text[RTTCP_WRONG_TEXT];
    struct rttcp_summary *summary = &report->ways[direction].summary, theirs = *summary;
    *summary = (struct rttcp_summary){.connect_ns = theirs.connect_ns, .elapsed_ns = theirs.elapsed_ns};
    rttcp_report_summarise(report, direction, ended_from(theirs.ended_by));
    doubt(report, direction, &theirs, text);
    if (!text[0])
        return;
    if (!report->mismatch[0])
        memcpy(report->mismatch, text, sizeof text);
    summary->complete = false;
    if (strcmp(theirs.verified, "mismatch") == 0 ||
        (strcmp(theirs.verified, "unknown") == 0 && strcmp(summary->verified, "mismatch") != 0))
        memcpy(summary->verified, theirs.verified, sizeof summary->verified);
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

/* The largest window that may have been offered. For a moment the kernel may offer one or two segments, or
 * super-packets, more (window.c, step 3). For a long window this excess is too small to show in any figure. */
static uint64_t most_offered(const struct rttcp_side *sender)
{
    uint64_t segments = 2 * sender->mss_bytes, share = sender->window_granted_bytes / 512;
    return sender->window_granted_bytes + (segments > share ? segments : share);
}

/* A kernel may run another congestion control than requested: Reno instead of DCTCP when ECN was not negotiated. */
static void compare_congestion(json_t *reasons, const struct rttcp_report *report, const struct rttcp_side *sender)
{
    size_t i;
    json_t *row;
    char text[200];
    const char *asked = report->params.congestion;
    json_array_foreach(sender->streams, i, row)
    {
        const char *ran = json_string_value(json_object_get(row, "congestion"));
        if (!asked[0] || !ran || !ran[0] || strcmp(ran, asked) == 0)
            continue;
        snprintf(text, sizeof text, "congestion control %s was asked for, the sender ran %s", asked, ran);
        json_array_append_new(reasons, nc_jsonl_text(text));
        return;
    }
}

json_t *rttcp_report_verdict(const struct rttcp_report *report, int direction)
{
    const struct rttcp_way *way = &report->ways[direction];
    const struct rttcp_side *sender = &way->sender, *receiver = &way->receiver;
    json_t *reasons = json_array();
    if (report->error[0])
        json_array_append_new(reasons, nc_jsonl_text(report->error));
    else if (report->mismatch[0])
        json_array_append_new(reasons, nc_jsonl_text(report->mismatch));
    else if (!way->summary.complete)
        json_array_append_new(reasons, json_string("ended early"));
    if (!report->error[0] && !report->mismatch[0] && sender->bytes != receiver->bytes)
        give_reason(reasons, "sent %" PRIu64 " bytes, received %" PRIu64, sender->bytes, receiver->bytes);
    if (sender->window_granted_bytes && sender->window_seen_max_bytes > most_offered(sender))
        give_reason(reasons, "the receiver offered a window of %" PRIu64 " bytes where %" PRIu64 " were granted",
                    sender->window_seen_max_bytes, sender->window_granted_bytes);
    compare_congestion(reasons, report, sender);
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

double rttcp_report_exchanges_per_s(const struct rttcp_exchange_account *account)
{
    return account->elapsed_ns ? (double)account->exchanges * NC_NS_PER_S / (double)account->elapsed_ns : 0;
}

/* The exchanges, as measured by the client. */
static json_t *exchange_summary(const struct rttcp_way *way)
{
    const struct rttcp_exchange_account *account = &way->sender.exchange;
    json_t *object = rttcp_exchange_encode(account);
    json_object_set_new(object, "request_bytes", json_integer((json_int_t)way->summary.bytes));
    json_object_set_new(object, "exchanges_per_s", json_real(rttcp_report_exchanges_per_s(account)));
    return object;
}

static json_t *way_encode(const struct rttcp_report *report, int direction)
{
    const struct rttcp_way *way = &report->ways[direction];
    json_t *summary = rttcp_summary_encode(&way->summary);
    json_object_set_new(summary, "verdict", rttcp_report_verdict(report, direction));
    if (report->params.request_bytes)
        json_object_set_new(summary, "exchange", exchange_summary(way));
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
