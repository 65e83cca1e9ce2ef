/* A peer's reports at the end of a transfer, and the output that is printed from them. The first octet chooses the
 * role, the number of streams, `verify`, whether the transfer failed, and request and response. Every line of the rest
 * is sent as one message. Whatever the peer sends, each output format prints a complete document, and a failed transfer
 * is never valid. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DIGEST "0123456789abcdef0123456789abcdef"

static void say(int fd, const uint8_t *line, size_t n)
{
    const uint8_t head[RTTCP_FRAME_HEADER] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
    bool sent =
        send(fd, head, sizeof head, MSG_NOSIGNAL) == sizeof head && send(fd, line, n, MSG_NOSIGNAL) == (ssize_t)n;
    assert(sent);
}

/* This end's own report of a direction, with some streams that carried 1,000 bytes each. */
static void fill(struct rttcp_session *s, int direction, uint64_t streams)
{
    uint64_t first = direction == FORWARD ? 0 : s->report.params.forward;
    struct rttcp_side *side = rttcp_report_ours(&s->report, direction);
    *side = (struct rttcp_side){.bytes = 1000 * streams,
                                .elapsed_ns = NC_NS_PER_S,
                                .first_byte_ns = NC_NS_PER_MS,
                                .calls = streams,
                                .mss_bytes = 1448,
                                .t0_realtime_ns = 1700000000 * NC_NS_PER_S,
                                .congestion = "cubic",
                                .local = "[::1]:5010",
                                .remote = "127.0.0.1:40000",
                                .tcp_info = json_object()};
    if (s->report.params.request_bytes) {
        side->has_exchange = true;
        side->exchange = (struct rttcp_exchange_account){.exchanges = 10 * streams, .response_bytes = 500 * streams};
    }
    side->streams = json_array();
    side->intervals = json_pack("[[i, i, i]]", 0, 1000000000, 1000);
    for (uint64_t i = 0; i < streams; i++) {
        struct rttcp_stream_account account = {
            .stream = first + i, .bytes = 1000, .calls = 1, .digest = DIGEST, .local = "[::1]:1", .remote = "x"};
        json_array_append_new(side->streams, rttcp_stream_encode(&account));
    }
    s->report.details[direction] = json_pack("[[]]");
    s->report.ways[direction].summary.elapsed_ns = NC_NS_PER_S;
}

static struct rttcp_session *make_session(uint8_t choice, int fd)
{
    struct rttcp_session *s = rttcp_session_create(NULL, fd, choice & 1);
    assert(s);
    s->report.params = (struct rttcp_params){.bytes = 1000,
                                             .length_bytes = 4096,
                                             .interval_ns = RTTCP_INTERVAL_MIN_NS,
                                             .timeout_ns = NC_NS_PER_S,
                                             .verify = choice & 2,
                                             .forward = 1 + choice / 4 % 2,
                                             .reverse = choice / 8 % 3};
    if (choice & 0x80)
        s->report.params.request_bytes = 100, s->report.params.response_bytes = 50;
    snprintf(s->report.session, sizeof s->report.session, "fuzzed");
    fill(s, FORWARD, s->report.params.forward);
    fill(s, REVERSE, s->report.params.reverse);
    if (choice & 0x40)
        nc_fail(&s->error, NC_EXIT_FAILED, "data connection: reset");
    return s;
}

/* Judges the transfer as rttcp_session_settle does. */
static void settle(struct rttcp_session *s)
{
    struct nc_error late = {0};
    if (rttcp_receive_result(s, nc_now_ns() + NC_NS_PER_S, &late) < 0 && !s->error.text[0])
        s->error = late;
    rttcp_session_judge(s, s->error.text[0] ? -1 : 0);
}

/* Whatever the peer sent, the transfer is verified only if all of the peer's digests are there and equal this end's. */
static void check_verdict(struct rttcp_report *report, int direction)
{
    const struct rttcp_summary *summary = &report->ways[direction].summary;
    const struct rttcp_side *theirs = rttcp_report_theirs(report, direction);
    if (!report->params.verify || !rttcp_report_has(report, direction) || strcmp(summary->verified, "ok") != 0)
        return;
    for (uint64_t i = 0; i < (direction == FORWARD ? report->params.forward : report->params.reverse); i++)
        assert(strcmp(json_string_value(json_object_get(json_array_get(theirs->streams, i), "digest")), DIGEST) == 0);
    assert(!summary->complete || theirs->bytes == rttcp_report_ours(report, direction)->bytes);
}

static int count(const char *text, size_t n, void *bytes)
{
    (void)text;
    *(size_t *)bytes += n;
    return 0;
}

static void whole(json_t *document)
{
    size_t bytes = 0;
    assert(document && json_dump_callback(document, count, &bytes, JSON_REAL_PRECISION(12)) == 0 && bytes);
    json_decref(document);
}

static void print(struct rttcp_report *report)
{
    static FILE *null;
    if (!null)
        assert((null = fopen("/dev/null", "w")));
    json_t *end = rttcp_report_encode(report);
    assert(report->error[0] == 0 || json_string_value(json_object_get(end, "error")));
    assert(!rttcp_report_complete(report) || !report->error[0]);
    for (int d = 0; d < DIRECTIONS; d++) {
        check_verdict(report, d);
        json_t *verdict = rttcp_report_verdict(report, d);
        assert(!report->error[0] || json_is_false(json_object_get(verdict, "valid")));
        json_decref(verdict);
        rttcp_classic_print(null, 't', &report->params, &report->ways[d].sender);
        rttcp_classic_print(null, 'r', &report->params, &report->ways[d].receiver);
    }
    rttcp_human_end(null, report);
    whole(end);
    whole(rttcp_iperf3_encode(report));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2];
    if (size < 1 || size > 100000)
        return 0;
    assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    struct rttcp_session *s = make_session(data[0], ends[0]);
    int room = 1 << 20, lines = 0;
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    for (const uint8_t *at = data + 1, *end = data + size; at < end && lines < 100; lines++) {
        const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((newline ? newline : end) - at);
        say(ends[1], at, n);
        at += n + 1;
    }
    shutdown(ends[1], SHUT_WR);
    settle(s);
    print(&s->report);
    rttcp_session_release(s);
    close(ends[1]);
    return 0;
}
