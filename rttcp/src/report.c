#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nc_clock.h"
#include "sock.h"
#include "tcpinfo.h"

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NC_NS_PER_S + (uint64_t)time.tv_usec * NC_NS_PER_US;
}

static void fill_usage(struct rttcp_side *side, const struct rusage *before)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    side->cpu_user_ns = timeval_ns(now.ru_utime) - timeval_ns(before->ru_utime);
    side->cpu_system_ns = timeval_ns(now.ru_stime) - timeval_ns(before->ru_stime);
    side->voluntary_switches = (uint64_t)(now.ru_nvcsw - before->ru_nvcsw);
    side->involuntary_switches = (uint64_t)(now.ru_nivcsw - before->ru_nivcsw);
    side->minor_faults = (uint64_t)(now.ru_minflt - before->ru_minflt);
    side->major_faults = (uint64_t)(now.ru_majflt - before->ru_majflt);
    side->maxrss_bytes = (uint64_t)now.ru_maxrss * 1024;
}

void rttcp_report_side(struct rttcp_side *side, int data_fd, struct rttcp_transfer *transfer, struct rttcp_meter *meter,
                       const struct rusage *before)
{
    struct rttcp_tcpinfo info;
    fill_usage(side, before);
    side->bytes = atomic_load(&transfer->bytes);
    side->calls = transfer->calls;
    side->first_byte_ns = transfer->first_byte_ns;
    side->window_clamp_resets = transfer->window_clamp_resets;
    side->opening_bytes = transfer->opening_bytes;
    side->window_seen_max_bytes = meter->window_seen_max_bytes;
    side->peak_bps = meter->peak_bps;
    side->intervals_dropped = meter->intervals_dropped;
    json_decref(side->intervals);
    side->intervals = meter->intervals;
    meter->intervals = NULL;
    json_decref(side->tcp_info);
    side->tcp_info = rttcp_tcpinfo_take(data_fd, &info) ? rttcp_tcpinfo_encode(&info, false) : json_object();
}

static uint64_t info_number(const struct rttcp_side *side, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(side->tcp_info, name));
}

void rttcp_report_summarise(struct rttcp_report *report, uint64_t connect_ns, uint64_t elapsed_ns, enum rttcp_ended ended)
{
    struct rttcp_summary *summary = &report->summary;
    bool finished = !report->error[0];
    /* without the receiver's word, what its TCP acknowledged is the best that is known; the SYN counts there */
    uint64_t acknowledged = info_number(&report->sender, "bytes_acked");
    summary->bytes = finished                              ? report->receiver.bytes
                     : acknowledged < report->sender.bytes ? acknowledged
                                                           : report->sender.bytes;
    summary->connect_ns = connect_ns;
    summary->first_byte_ns = report->receiver.first_byte_ns;
    summary->elapsed_ns = elapsed_ns;
    summary->short_term_bps = rttcp_bps(summary->bytes, elapsed_ns);
    summary->peak_bps = report->receiver.peak_bps;
    summary->retransmits = info_number(&report->sender, "total_retrans");
    summary->complete = finished && ended != ENDED_SIGNAL && report->receiver.bytes == report->sender.bytes;
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

json_t *rttcp_report_verdict(const struct rttcp_report *report)
{
    const struct rttcp_side *sender = &report->sender, *receiver = &report->receiver;
    json_t *reasons = json_array();
    if (report->error[0])
        json_array_append_new(reasons, json_string(report->error));
    else if (!report->summary.complete)
        json_array_append_new(reasons, json_string("ended early"));
    if (!report->error[0] && sender->bytes != receiver->bytes)
        give_reason(reasons, "sent %" PRIu64 " bytes, received %" PRIu64, sender->bytes, receiver->bytes);
    /* the kernel may offer one or two segments more for a moment (window.c, 3) */
    uint64_t allowed = sender->window_granted_bytes + 2 * sender->mss_bytes;
    if (sender->window_granted_bytes && sender->window_seen_max_bytes > allowed)
        give_reason(reasons, "the receiver offered a window of %" PRIu64 " bytes where %" PRIu64 " were granted",
                    sender->window_seen_max_bytes, sender->window_granted_bytes);
    return json_pack("{s:b, s:o}", "valid", json_array_size(reasons) == 0, "reasons", reasons);
}

static json_t *side_with_intervals(const struct rttcp_side *side)
{
    json_t *object = rttcp_side_encode(side);
    json_object_set_new(object, "intervals", side->intervals ? json_incref(side->intervals) : json_array());
    return object;
}

json_t *rttcp_report_encode(const struct rttcp_report *report)
{
    json_t *summary = rttcp_summary_encode(&report->summary);
    json_object_set_new(summary, "verdict", rttcp_report_verdict(report));
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:b}", "session", report->session, "role",
                               report->at_receiver ? "receiver" : "sender", "params", rttcp_params_encode(&report->params),
                               "sender", side_with_intervals(&report->sender), "receiver",
                               side_with_intervals(&report->receiver), "summary", summary, "complete",
                               report->summary.complete);
    if (report->error[0])
        json_object_set_new(object, "error", json_string(report->error));
    return object;
}

void rttcp_report_release(struct rttcp_report *report)
{
    rttcp_side_release(&report->sender);
    rttcp_side_release(&report->receiver);
}
