/* A session as the JSON document of iperf3 3.12, so that programs that read iperf3's document can read ours: the same
 * keys with the same meaning, and everything else under the one key `rttcp` (the `end` object). As in iperf3, the final
 * sums count the bytes that each end's application moved during its own time; a sender's time ends with its last write.
 * `sum_received` includes the bytes of the omitted time and, unlike iperf3's, the bytes that were in flight when the
 * time was over. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nc_clock.h"
#include "nc_jsonl.h"
#include "output.h"

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NC_NS_PER_S;
}

static json_int_t column(const json_t *row, size_t i)
{
    return json_integer_value(json_array_get(row, i));
}

static json_t *endpoint_split(const char *text, json_int_t *port)
{
    char host[80];
    snprintf(host, sizeof host, "%s", text);
    char *colon = strrchr(host, ':');
    *port = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (colon)
        *colon = '\0';
    size_t length = strlen(host);
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        return json_string(host + 1);
    }
    return json_string(host);
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text ? text : "";
}

static json_t *connected(const json_t *stream)
{
    json_int_t local_port, remote_port;
    json_t *local = endpoint_split(text_of(stream, "local"), &local_port);
    json_t *remote = endpoint_split(text_of(stream, "remote"), &remote_port);
    return json_pack("{s:I, s:o, s:I, s:o, s:I}", "socket", json_integer_value(json_object_get(stream, "stream")) + 1,
                     "local_host", local, "local_port", local_port, "remote_host", remote, "remote_port", remote_port);
}

/* A direction of the session with the names of iperf3's document. */
struct shown {
    const struct rttcp_way *way;
    const json_t *details;
    uint64_t first; /* stream */
    bool sends;     /* this end */
};

static struct shown shown_of(const struct rttcp_report *report, int direction)
{
    return (struct shown){
        .way = &report->ways[direction],
        .details = report->details[direction],
        .first = direction == FORWARD ? 0 : report->params.forward,
        .sends = (direction == FORWARD) != report->serving,
    };
}

static const struct rttcp_side *ours_of(const struct shown *shown)
{
    return shown->sends ? &shown->way->sender : &shown->way->receiver;
}

static bool both_ways(const struct rttcp_report *report)
{
    return report->params.forward && report->params.reverse;
}

static json_t *start_of(const struct rttcp_report *report, const struct shown *shown)
{
    char when[64];
    size_t i;
    json_t *row, *streams = json_array();
    const struct rttcp_params *params = &report->params;
    const struct rttcp_way *way = shown->way;
    const struct rttcp_side *ours = ours_of(shown);
    struct shown reverse = shown_of(report, REVERSE);
    time_t at = (time_t)(ours->t0_realtime_ns / NC_NS_PER_S);
    struct tm utc;
    gmtime_r(&at, &utc);
    strftime(when, sizeof when, "%a, %d %b %Y %H:%M:%S GMT", &utc);
    json_array_foreach(ours->streams, i, row) json_array_append_new(streams, connected(row));
    if (both_ways(report))
        json_array_foreach(ours_of(&reverse)->streams, i, row) json_array_append_new(streams, connected(row));
    json_t *test = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:I, s:I}", "protocol", "TCP", "num_streams",
                             (json_int_t)(params->forward ? params->forward : params->reverse), "blksize",
                             (json_int_t)params->length_bytes, "omit", (json_int_t)(params->omit_ns / NC_NS_PER_S),
                             "duration", (json_int_t)(params->duration_ns / NC_NS_PER_S), "bytes",
                             (json_int_t)params->bytes, "blocks", (json_int_t)0, "reverse", params->forward == 0, "tos",
                             (json_int_t)(params->dscp << 2), "target_bitrate", (json_int_t)params->pacing_bps);
    json_int_t port;
    const json_t *first = json_array_get(ours->streams, 0);
    json_t *host = endpoint_split(text_of(first, "remote"), &port);
    const char *other = report->serving ? "accepted_connection" : "connecting_to";
    return json_pack("{s:o, s:{s:o, s:I}, s:I, s:I, s:I, s:s, s:s, s:{s:s, s:I}, s:s, s:I, s:I, s:I, s:o}", "connected",
                     streams, other, "host", host, "port", port, "target_bitrate", (json_int_t)params->pacing_bps,
                     "fq_rate", (json_int_t)params->pacing_bps, "sock_bufsize", (json_int_t)params->window_bytes,
                     "version", "rttcp", "system_info", "", "timestamp", "time", when, "timesecs", (json_int_t)at,
                     "cookie", report->session, "tcp_mss_default", (json_int_t)ours->mss_bytes, "sndbuf_actual",
                     (json_int_t)way->sender.sndbuf_bytes, "rcvbuf_actual", (json_int_t)way->receiver.rcvbuf_bytes,
                     "test_start", test);
}

/* How long a sender wrote. This is iperf3's time of a sender; our elapsed time includes the wait for the receiver's
 * confirmation. */
static uint64_t written_ns(const struct rttcp_side *sender)
{
    return sender->elapsed_ns > sender->drain_ns ? sender->elapsed_ns - sender->drain_ns : sender->elapsed_ns;
}

static json_t *rate_object(uint64_t start_ns, uint64_t end_ns, uint64_t bytes, bool sends)
{
    double length = seconds(end_ns - start_ns);
    return json_pack("{s:f, s:f, s:f, s:I, s:f, s:b}", "start", seconds(start_ns), "end", seconds(end_ns), "seconds",
                     length, "bytes", (json_int_t)bytes, "bits_per_second",
                     length > 0 ? (double)bytes * 8 / length : 0.0, "sender", sends);
}

/* Adds interval i of a direction to `interval`, with this end's row for each stream (meter.h). When the direction has
 * ended before interval i, the row has the times of `other` and no bytes. */
static void add_interval(json_t *interval, const struct rttcp_report *report, const struct shown *shown, size_t i,
                         const json_t *other, const char *sum_key)
{
    size_t at;
    json_t *detail, *streams = json_object_get(interval, "streams");
    const json_t *row = json_array_get(ours_of(shown)->intervals, i), *times = row ? row : other;
    json_int_t retransmits = 0;
    uint64_t start = (uint64_t)column(times, 0), end = (uint64_t)column(times, 1);
    uint64_t wrote_ns = written_ns(&shown->way->sender);
    if (shown->sends && start < wrote_ns && wrote_ns < end)
        end = wrote_ns; /* what follows is waiting */
    bool omitted = end <= report->params.omit_ns, sends = shown->sends;
    json_array_foreach(json_array_get(shown->details, i), at, detail)
    {
        json_t *stream = rate_object(start, end, (uint64_t)column(detail, DETAIL_BYTES), sends);
        json_object_set_new(stream, "socket", json_integer((json_int_t)(shown->first + at + 1)));
        json_object_set_new(stream, "omitted", json_boolean(omitted));
        if (sends) {
            retransmits += column(detail, DETAIL_RETRANSMITS);
            json_object_set_new(stream, "retransmits", json_integer(column(detail, DETAIL_RETRANSMITS)));
            json_object_set_new(stream, "snd_cwnd", json_integer(column(detail, DETAIL_CWND_BYTES)));
            json_object_set_new(stream, "snd_wnd", json_integer(column(detail, DETAIL_WINDOW)));
            json_object_set_new(stream, "rtt", json_integer(column(detail, DETAIL_RTT_US)));
            json_object_set_new(stream, "rttvar", json_integer(column(detail, DETAIL_RTTVAR_US)));
            json_object_set_new(stream, "pmtu", json_integer(column(detail, DETAIL_PMTU)));
        }
        json_array_append_new(streams, stream);
    }
    json_t *sum = rate_object(start, end, (uint64_t)column(row, 2), sends);
    json_object_set_new(sum, "omitted", json_boolean(omitted));
    if (sends)
        json_object_set_new(sum, "retransmits", json_integer(retransmits));
    json_object_set_new(interval, sum_key, sum);
}

/* Returns whether a sender only waited for the confirmation in this interval. iperf3 has no row for such an
 * interval. */
static bool only_waits(const struct shown *shown, const json_t *row)
{
    return shown->sends && column(row, 2) == 0 && (uint64_t)column(row, 0) >= written_ns(&shown->way->sender);
}

/* With --bidir an interval has the streams of both directions, and a sum of each. */
static json_t *intervals_of(const struct rttcp_report *report)
{
    json_t *intervals = json_array();
    struct shown first = shown_of(report, rttcp_report_main(report)), second = shown_of(report, REVERSE);
    const json_t *rows = ours_of(&first)->intervals, *more = both_ways(report) ? ours_of(&second)->intervals : NULL;
    for (size_t i = 0; i < json_array_size(rows) || i < json_array_size(more); i++) {
        if (!more && only_waits(&first, json_array_get(rows, i)))
            continue;
        json_t *interval = json_pack("{s:[]}", "streams");
        add_interval(interval, report, &first, i, json_array_get(more, i), "sum");
        if (more)
            add_interval(interval, report, &second, i, json_array_get(rows, i), "sum_bidir_reverse");
        json_array_append_new(intervals, interval);
    }
    return intervals;
}

static uint64_t number(const json_t *row, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(row, key));
}

/* Adds the minima and maxima of stream i over all intervals, which iperf3 gives for a sender. */
static void add_extremes(json_t *sender, const json_t *details, size_t i)
{
    size_t n = 0, at;
    json_t *rows;
    json_int_t cwnd = 0, window = 0, most = 0, least = INT64_MAX, sum = 0;
    json_array_foreach(details, at, rows)
    {
        const json_t *row = json_array_get(rows, i);
        json_int_t rtt = column(row, DETAIL_RTT_US);
        cwnd = column(row, DETAIL_CWND_BYTES) > cwnd ? column(row, DETAIL_CWND_BYTES) : cwnd;
        window = column(row, DETAIL_WINDOW) > window ? column(row, DETAIL_WINDOW) : window;
        most = rtt > most ? rtt : most;
        least = rtt < least ? rtt : least;
        sum += rtt;
        n++;
    }
    json_object_set_new(sender, "max_snd_cwnd", json_integer(cwnd));
    json_object_set_new(sender, "max_snd_wnd", json_integer(window));
    json_object_set_new(sender, "max_rtt", json_integer(most));
    json_object_set_new(sender, "min_rtt", json_integer(n ? least : 0));
    json_object_set_new(sender, "mean_rtt", json_integer(n ? sum / (json_int_t)n : 0));
}

static void add_end_streams(json_t *streams, const struct shown *shown)
{
    size_t i;
    json_t *row;
    const struct rttcp_way *way = shown->way;
    bool sends = shown->sends;
    json_array_foreach(ours_of(shown)->streams, i, row)
    {
        const json_t *sent = json_array_get(way->sender.streams, i), *got = json_array_get(way->receiver.streams, i);
        json_t *sender = rate_object(0, written_ns(&way->sender), number(sent, "bytes"), sends);
        json_t *receiver = rate_object(0, way->receiver.elapsed_ns, number(got, "bytes"), sends);
        json_int_t socket = (json_int_t)number(row, "stream") + 1;
        json_object_set_new(sender, "socket", json_integer(socket));
        json_object_set_new(sender, "retransmits", json_integer((json_int_t)number(sent, "retransmits")));
        json_object_set_new(receiver, "socket", json_integer(socket));
        if (sends)
            add_extremes(sender, shown->details, i);
        json_array_append_new(streams, json_pack("{s:o, s:o}", "sender", sender, "receiver", receiver));
    }
}

static double percent(uint64_t ns, const struct rttcp_side *side)
{
    return side->elapsed_ns ? 100.0 * (double)ns / (double)side->elapsed_ns : 0.0;
}

static json_t *processor(const struct rttcp_side *host, const struct rttcp_side *remote)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "host_total",
                     percent(host->cpu_user_ns + host->cpu_system_ns, host), "host_user",
                     percent(host->cpu_user_ns, host), "host_system", percent(host->cpu_system_ns, host),
                     "remote_total", percent(remote->cpu_user_ns + remote->cpu_system_ns, remote), "remote_user",
                     percent(remote->cpu_user_ns, remote), "remote_system", percent(remote->cpu_system_ns, remote));
}

static void add_sums(json_t *end, const struct rttcp_way *way, bool sends, const char *suffix)
{
    char key[40];
    json_t *sent = rate_object(0, written_ns(&way->sender), way->sender.bytes, sends);
    json_object_set_new(sent, "retransmits", json_integer((json_int_t)way->sender.retransmits));
    snprintf(key, sizeof key, "sum_sent%s", suffix);
    json_object_set_new(end, key, sent);
    snprintf(key, sizeof key, "sum_received%s", suffix);
    json_object_set_new(end, key, rate_object(0, way->receiver.elapsed_ns, way->receiver.bytes, sends));
}

json_t *rttcp_iperf3_encode(const struct rttcp_report *report)
{
    struct shown shown = shown_of(report, rttcp_report_main(report)), reverse = shown_of(report, REVERSE);
    const struct rttcp_way *way = shown.way;
    bool sends = shown.sends;
    json_t *streams = json_array(), *end = json_pack("{s:o}", "streams", streams);
    add_end_streams(streams, &shown);
    add_sums(end, way, sends, "");
    if (both_ways(report)) {
        add_end_streams(streams, &reverse);
        add_sums(end, reverse.way, reverse.sends, "_bidir_reverse");
    }
    json_object_set_new(end, "cpu_utilization_percent",
                        processor(sends ? &way->sender : &way->receiver, sends ? &way->receiver : &way->sender));
    json_object_set_new(end, "sender_tcp_congestion", json_string(way->sender.congestion));
    json_object_set_new(end, "receiver_tcp_congestion", json_string(way->receiver.congestion));
    json_t *whole = rttcp_report_encode(report), *document;
    json_object_set_new(whole, "v", json_integer(1)); /* the `end` event as in the JSON lines */
    json_object_set_new(whole, "event", json_string("end"));
    const char *error = json_string_value(json_object_get(whole, "error"));
    document =
        json_pack("{s:o, s:o, s:o}", "start", start_of(report, &shown), "intervals", intervals_of(report), "end", end);
    if (error)
        json_object_set_new(document, "error", json_string(error));
    json_object_set_new(document, "rttcp", whole);
    return document;
}

json_t *rttcp_iperf3_error(const char *text)
{
    return json_pack("{s:{}, s:[], s:{}, s:o}", "start", "intervals", "end", "error", nc_jsonl_text(text));
}
