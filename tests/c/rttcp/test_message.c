/* Every message must be decoded as it was encoded. Errors name the member that is missing, has another type or is out
 * of range. */
#include "check.h"
#include "report.h"

static struct nc_error error;

static struct rttcp_params good_params(void)
{
    return (struct rttcp_params){.bytes = 80 << 20,
                                 .length_bytes = 4096,
                                 .window_bytes = 262144,
                                 .interval_ns = 1000000000,
                                 .timeout_ns = 60000000000,
                                 .nodelay = true,
                                 .congestion = "reno",
                                 .align_bytes = 4096,
                                 .forward = 2,
                                 .reverse = 1};
}

static void params_come_back(void)
{
    struct rttcp_params in = good_params(), out;
    json_t *object = rttcp_params_encode(&in);
    CHECK_EQ(rttcp_params_decode(object, &out, &error), 0);
    CHECK_EQ(out.bytes, in.bytes);
    CHECK_EQ(out.window_bytes, 262144);
    CHECK_EQ(out.forward, 2);
    CHECK_EQ(out.reverse, 1);
    CHECK(out.nodelay);
    CHECK_STR(out.congestion, "reno");
    json_decref(object);
}

static const struct {
    const char *key, *json, *says;
} wrong_rows[] = {
    {"bytes", "-1", "bytes"},
    {"bytes", "1.5", "bytes"},
    {"bytes", "0", "bytes"},
    {"duration_ns", "5", "bytes"},
    {"length_bytes", "0", "length_bytes"},
    {"length_bytes", "67108865", "length_bytes"},
    {"length_bytes", "null", "length_bytes"},
    {"window_bytes", "100", "window_bytes"},
    {"window_bytes", "1073741825", "window_bytes"},
    {"interval_ns", "1", "interval_ns"},
    {"timeout_ns", "0", "timeout_ns"},
    {"nodelay", "1", "nodelay"},
    {"congestion", "7", "congestion"},
    {"congestion", "\"0123456789abcdef\"", "congestion"},
    {"streams", "[]", "streams"},
    {"streams", "[1]", "streams"},
    {"streams", "[{\"direction\":\"up\"}]", "streams"},
    {"streams", "[{\"direction\":\"receive\"},{\"direction\":\"send\"}]", "streams"},
    {"align_bytes", "3", "align_bytes"},
    {"dscp", "64", "dscp"},
    {"pacing_bps", "1000000000001", "pacing_bps"},
    {"peer_cpu", "\"12345678\"", "peer_cpu"},
    {"seed", "-1", "seed"},
    {"omit_ns", "-1", "omit_ns"},
};

static void wrong_params_are_named(void)
{
    for (size_t i = 0; i < sizeof wrong_rows / sizeof wrong_rows[0]; i++) {
        struct rttcp_params in = good_params(), out;
        json_t *object = rttcp_params_encode(&in);
        json_object_set_new(object, wrong_rows[i].key, json_loads(wrong_rows[i].json, JSON_DECODE_ANY, NULL));
        if (rttcp_params_decode(object, &out, &error) == 0 ||
            strncmp(error.text, wrong_rows[i].says, strlen(wrong_rows[i].says)) != 0) {
            fprintf(stderr, "row %zu: %s = %s: %s\n", i, wrong_rows[i].key, wrong_rows[i].json, error.text);
            exit(1);
        }
        json_decref(object);
    }
}

static void too_many_streams_are_refused(void)
{
    struct rttcp_params in = good_params(), out;
    in.forward = RTTCP_STREAMS_MAX;
    json_t *object = rttcp_params_encode(&in);
    CHECK_EQ(rttcp_params_decode(object, &out, &error), -1);
    json_decref(object);
    in.forward--;
    object = rttcp_params_encode(&in);
    CHECK_EQ(rttcp_params_decode(object, &out, &error), 0);
    json_decref(object);
}

static void contradictions_are_refused(void)
{
    struct rttcp_params rows[] = {good_params(), good_params(), good_params()}, out;
    rows[0].verify = rows[0].zerocopy = true;
    rows[1].pacing_bps = 1000000;
    rows[1].pacing_pps = 1000;
    rows[2].pace_burst_bytes = 1000000; /* of no pace */
    for (size_t i = 0; i < 3; i++) {
        json_t *object = rttcp_params_encode(&rows[i]);
        CHECK_EQ(rttcp_params_decode(object, &out, &error), -1);
        json_decref(object);
    }
}

static void accept_comes_back(void)
{
    struct rttcp_params params = good_params(), params_out;
    static struct rttcp_accept in = {.session = "0123456789abcdef", .streams = 3}, out;
    for (uint64_t i = 0; i < in.streams; i++)
        in.at[i] = (struct rttcp_port){40000 + i, 262144};
    json_t *message = rttcp_accept_encode(&in, &params);
    CHECK_STR(rttcp_message_type(message), "accept");
    CHECK_EQ(rttcp_accept_decode(message, &out, &params_out, &error), 0);
    CHECK_EQ(out.at[2].port, 40002);
    CHECK_STR(out.session, in.session);
    json_t *streams = json_object_get(message, "streams");
    json_object_set_new(json_array_get(streams, 0), "port", json_integer(0));
    CHECK_EQ(rttcp_accept_decode(message, &out, &params_out, &error), -1);
    json_array_remove(streams, 0);
    CHECK_EQ(rttcp_accept_decode(message, &out, &params_out, &error), -1);
    json_decref(message);
}

/* Every member of the proposal, each changed alone to another valid value. */
static void an_answer_that_changes_a_parameter_is_named(void)
{
    static const struct {
        const char *key, *json;
    } changes[] = {{"bytes", "83886081"},
                   {"omit_ns", "1"},
                   {"length_bytes", "67108864"},
                   {"window_bytes", "262143"},
                   {"mss_bytes", "1000"},
                   {"align_bytes", "8192"},
                   {"offset_bytes", "1"},
                   {"pacing_bps", "1000"},
                   {"pacing_pps", "1"},
                   {"dscp", "46"},
                   {"seed", "1"},
                   {"interval_ns", "10000000"},
                   {"timeout_ns", "1"},
                   {"nodelay", "false"},
                   {"verify", "true"},
                   {"zerocopy", "true"},
                   {"skip_rx_copy", "true"},
                   {"mptcp", "true"},
                   {"congestion", "\"bbr\""},
                   {"peer_cpu", "\"0\""},
                   {"streams", "[{\"direction\":\"send\"}]"}};
    struct rttcp_params proposed = good_params(), answered;
    json_t *object = rttcp_params_encode(&proposed);
    CHECK_EQ(rttcp_params_decode(object, &answered, &error), 0);
    CHECK_EQ(rttcp_params_compare(&proposed, &answered, &error), 0);
    CHECK_EQ(json_object_size(object), 4 + sizeof changes / sizeof changes[0]); /* and 4 that follow from others */
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char wanted[60];
        json_t *changed = json_copy(object);
        json_object_set_new(changed, changes[i].key, json_loads(changes[i].json, JSON_DECODE_ANY, NULL));
        CHECK_EQ(rttcp_params_decode(changed, &answered, &error), 0);
        CHECK_EQ(rttcp_params_compare(&proposed, &answered, &error), -1);
        snprintf(wanted, sizeof wanted, "the receiver answered %s ", changes[i].key);
        CHECK(strncmp(error.text, wanted, strlen(wanted)) == 0);
        json_decref(changed);
    }
    json_decref(object);
}

static void ports_and_windows_of_an_answer_are_checked(void)
{
    static const struct {
        uint64_t window, port, granted;
        const char *says;
    } answers[] = {{0, 40001, 0, NULL},
                   {8192, 40001, 8192, NULL},
                   {8192, 40001, 8192 + 16383, NULL}, /* rounded up to the largest scale */
                   {8192, 40001, 8192 + 16384, "granted a window of 24576 bytes where 8192"},
                   {8192, 40001, 8191, "granted a window of 8191"},
                   {0, 40001, 65536, "granted a window of 65536 bytes where 0"},
                   {0, 5010, 0, "port 5010 for stream 1, which the control connection has"},
                   {0, 40000, 0, "port 40000 for stream 1, which another stream has"}};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct rttcp_params params = {.window_bytes = answers[i].window};
        struct rttcp_accept accept = {.streams = 2,
                                      .at = {{40000, answers[i].window}, {answers[i].port, answers[i].granted}}};
        CHECK_EQ(rttcp_accept_check(&accept, &params, 5010, &error), answers[i].says ? -1 : 0);
        CHECK(!answers[i].says || strstr(error.text, answers[i].says));
    }
}

static void a_streams_account_comes_back(void)
{
    struct rttcp_stream_account out, in = {.stream = 3,
                                           .bytes = 99,
                                           .mismatch = true,
                                           .mismatch_offset = 12345,
                                           .expected = "0011223344556677",
                                           .got = "ff",
                                           .digest = "00ff"};
    json_t *object = rttcp_stream_encode(&in);
    CHECK_EQ(rttcp_stream_decode(object, &out, &error), 0);
    CHECK(out.mismatch && out.mismatch_offset == 12345);
    CHECK_STR(out.expected, in.expected);
    json_object_set_new(object, "stream", json_integer(RTTCP_STREAMS_MAX));
    CHECK_EQ(rttcp_stream_decode(object, &out, &error), -1);
    json_decref(object);
}

static void side_and_intervals_come_back(void)
{
    struct rttcp_side in = {
        .bytes = 7, .peak_bps = 9, .congestion = "bbr", .tcp_info = json_pack("{s:i}", "rtt_us", 12)};
    struct rttcp_side out = {0};
    json_t *object = rttcp_side_encode(&in);
    CHECK_EQ(rttcp_side_decode(object, &out, &error), 0);
    CHECK_EQ(out.bytes, 7);
    CHECK_EQ(json_integer_value(json_object_get(out.tcp_info, "rtt_us")), 12);
    json_t *rows = json_array();
    for (int i = 0; i < 1201; i++)
        json_array_append_new(rows, json_pack("[i,i,i]", i, i + 1, 100));
    for (size_t at = 0; at < 1201; at += RTTCP_INTERVALS_A_MESSAGE) {
        json_t *part = rttcp_intervals_encode(0, rows, at, RTTCP_INTERVALS_A_MESSAGE);
        CHECK_EQ(rttcp_intervals_decode(part, &out, &error), 0);
        json_decref(part);
    }
    CHECK(json_equal(out.intervals, rows));
    json_decref(rows);
    json_t *bad = json_pack("{s:[[i,i]]}", "rows", 1, 2);
    CHECK_EQ(rttcp_intervals_decode(bad, &out, &error), -1);
    json_decref(bad);
    json_decref(object);
    rttcp_side_release(&in);
    rttcp_side_release(&out);
}

static json_t *two_streams(uint64_t bytes)
{
    struct rttcp_stream_account first = {.stream = 0, .bytes = bytes / 2}, second = {.stream = 1, .bytes = bytes / 2};
    return json_pack("[o,o]", rttcp_stream_encode(&first), rttcp_stream_encode(&second));
}

/* 80 MB in 15.5 s from connect to confirmation are 43.3 Mbit/s. A transfer that lost its peer is never complete. */
static void summary_is_bytes_over_connect_to_confirmation(void)
{
    struct rttcp_report report = {.params = good_params()};
    struct rttcp_way *way = &report.ways[FORWARD];
    report.params.reverse = 0;
    way->sender.bytes = way->receiver.bytes = 83886080;
    way->sender.streams = two_streams(83886080);
    way->receiver.streams = two_streams(83886080);
    way->receiver.peak_bps = 45000000;
    way->summary.elapsed_ns = 15500000000;
    way->receiver.first_byte_ns = 400000000; /* connecting counts */
    rttcp_report_summarise(&report, FORWARD, ENDED_BYTES);
    CHECK_EQ(way->summary.short_term_bps, 43296041);
    CHECK_EQ(way->summary.peak_bps, 45000000);
    CHECK(way->summary.complete);
    CHECK_STR(way->summary.verified, "off");
    way->receiver.bytes--;
    rttcp_report_summarise(&report, FORWARD, ENDED_BYTES);
    CHECK(!way->summary.complete);
    snprintf(report.error, sizeof report.error, "gone");
    rttcp_report_summarise(&report, FORWARD, ENDED_BYTES);
    CHECK(!way->summary.complete);
    CHECK_STR(way->summary.ended_by, "error");
    json_t *verdict = rttcp_report_verdict(&report, FORWARD);
    CHECK(json_is_false(json_object_get(verdict, "valid")));
    json_decref(verdict);
    rttcp_report_release(&report);
}

/* Whether a complete transfer is valid if the receiver offered this much of the granted window. */
static bool is_valid(uint64_t granted_bytes, uint64_t mss_bytes, uint64_t seen_bytes)
{
    struct rttcp_report report = {0};
    struct rttcp_way *way = &report.ways[FORWARD];
    way->summary.complete = true;
    way->sender.window_granted_bytes = granted_bytes;
    way->sender.mss_bytes = mss_bytes;
    way->sender.window_seen_max_bytes = seen_bytes;
    json_t *verdict = rttcp_report_verdict(&report, FORWARD);
    bool valid = json_is_true(json_object_get(verdict, "valid"));
    json_decref(verdict);
    return valid;
}

static void a_window_larger_than_granted_is_not_valid(void)
{
    CHECK(is_valid(8192, 1448, 8192));
    CHECK(!is_valid(8192, 1448, 65535));
}

static void a_super_packet_more_of_a_long_window_is_valid(void)
{
    CHECK(is_valid(112050176, 8948, 112132096));
    CHECK(!is_valid(112050176, 8948, 112050176 + 112050176 / 500));
}

int main(void)
{
    RUN(params_come_back);
    RUN(wrong_params_are_named);
    RUN(too_many_streams_are_refused);
    RUN(contradictions_are_refused);
    RUN(accept_comes_back);
    RUN(a_streams_account_comes_back);
    RUN(side_and_intervals_come_back);
    RUN(summary_is_bytes_over_connect_to_confirmation);
    RUN(an_answer_that_changes_a_parameter_is_named);
    RUN(ports_and_windows_of_an_answer_are_checked);
    RUN(a_window_larger_than_granted_is_not_valid);
    RUN(a_super_packet_more_of_a_long_window_is_valid);
    return 0;
}
