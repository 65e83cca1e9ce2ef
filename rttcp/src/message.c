#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fields.h"

#define N(table) (sizeof(table) / sizeof(table)[0])
#define NUM(type, member, most) {#member, FIELD_U64, offsetof(struct type, member), 0, most}
#define BOOL(type, member) {#member, FIELD_BOOL, offsetof(struct type, member), 0, 0}
#define TEXT(type, member) {#member, FIELD_TEXT, offsetof(struct type, member), sizeof((struct type *)0)->member, 0}

static const struct rttcp_field params_fields[] = {
    NUM(rttcp_params, bytes, 0),
    NUM(rttcp_params, duration_ns, 0),
    NUM(rttcp_params, omit_ns, 0),
    NUM(rttcp_params, length_bytes, RTTCP_LENGTH_MAX),
    NUM(rttcp_params, window_bytes, RTTCP_WINDOW_MAX),
    NUM(rttcp_params, mss_bytes, 65535),
    NUM(rttcp_params, align_bytes, RTTCP_ALIGN_MAX),
    NUM(rttcp_params, offset_bytes, RTTCP_ALIGN_MAX),
    NUM(rttcp_params, pacing_bps, RTTCP_PACING_MAX),
    NUM(rttcp_params, pacing_pps, RTTCP_PACING_MAX),
    NUM(rttcp_params, dscp, 63),
    NUM(rttcp_params, seed, 0),
    NUM(rttcp_params, interval_ns, 0),
    NUM(rttcp_params, timeout_ns, 0),
    BOOL(rttcp_params, nodelay),
    BOOL(rttcp_params, verify),
    BOOL(rttcp_params, zerocopy),
    BOOL(rttcp_params, skip_rx_copy),
    BOOL(rttcp_params, mptcp),
    TEXT(rttcp_params, congestion),
    TEXT(rttcp_params, peer_cpu),
};

static const struct rttcp_field reason_fields[] = {
    NUM(rttcp_reason, status, 3),
    TEXT(rttcp_reason, reason),
};

static const struct rttcp_field stream_fields[] = {
    NUM(rttcp_stream_account, stream, RTTCP_STREAMS_MAX - 1),
    NUM(rttcp_stream_account, bytes, 0),
    NUM(rttcp_stream_account, calls, 0),
    NUM(rttcp_stream_account, first_byte_ns, 0),
    NUM(rttcp_stream_account, last_byte_ns, 0),
    NUM(rttcp_stream_account, retransmits, 0),
    NUM(rttcp_stream_account, mss_bytes, 0),
    NUM(rttcp_stream_account, bad_reads, 0),
    BOOL(rttcp_stream_account, mismatch),
    NUM(rttcp_stream_account, mismatch_offset, 0),
    TEXT(rttcp_stream_account, expected),
    TEXT(rttcp_stream_account, got),
    TEXT(rttcp_stream_account, digest),
    TEXT(rttcp_stream_account, local),
    TEXT(rttcp_stream_account, remote),
};

static const struct rttcp_field side_fields[] = {
    NUM(rttcp_side, bytes, 0),
    NUM(rttcp_side, elapsed_ns, 0),
    NUM(rttcp_side, cpu_user_ns, 0),
    NUM(rttcp_side, cpu_system_ns, 0),
    NUM(rttcp_side, calls, 0),
    NUM(rttcp_side, voluntary_switches, 0),
    NUM(rttcp_side, involuntary_switches, 0),
    NUM(rttcp_side, maxrss_bytes, 0),
    NUM(rttcp_side, minor_faults, 0),
    NUM(rttcp_side, major_faults, 0),
    NUM(rttcp_side, window_requested_bytes, RTTCP_WINDOW_MAX),
    NUM(rttcp_side, window_granted_bytes, 0),
    NUM(rttcp_side, window_clamp_bytes, 0),
    NUM(rttcp_side, window_scale, 14),
    NUM(rttcp_side, window_clamp_resets, 0),
    NUM(rttcp_side, window_seen_max_bytes, 0),
    NUM(rttcp_side, opening_bytes, 0),
    NUM(rttcp_side, sndbuf_bytes, 0),
    NUM(rttcp_side, rcvbuf_bytes, 0),
    NUM(rttcp_side, mss_bytes, 0),
    NUM(rttcp_side, first_byte_ns, 0),
    NUM(rttcp_side, last_byte_ns, 0),
    NUM(rttcp_side, drain_ns, 0),
    NUM(rttcp_side, steady_bps, 0),
    NUM(rttcp_side, peak_bps, 0),
    NUM(rttcp_side, retransmits, 0),
    NUM(rttcp_side, intervals_dropped, 0),
    NUM(rttcp_side, t0_monotonic_ns, 0),
    NUM(rttcp_side, t0_realtime_ns, 0),
    BOOL(rttcp_side, partial),
    TEXT(rttcp_side, congestion),
    TEXT(rttcp_side, local),
    TEXT(rttcp_side, remote),
};

static const struct rttcp_field summary_fields[] = {
    NUM(rttcp_summary, bytes, 0),
    NUM(rttcp_summary, connect_ns, 0),
    NUM(rttcp_summary, first_byte_ns, 0),
    NUM(rttcp_summary, drain_ns, 0),
    NUM(rttcp_summary, short_term_bps, 0),
    NUM(rttcp_summary, steady_bps, 0),
    NUM(rttcp_summary, peak_bps, 0),
    NUM(rttcp_summary, elapsed_ns, 0),
    NUM(rttcp_summary, retransmits, 0),
    BOOL(rttcp_summary, complete),
    TEXT(rttcp_summary, verified),
    TEXT(rttcp_summary, ended_by),
};

json_t *rttcp_message(const char *type, json_t *fields)
{
    json_t *message = json_pack("{s:s}", "type", type);
    if (fields) {
        json_object_update_missing(message, fields);
        json_decref(fields);
    }
    return message;
}

const char *rttcp_message_type(const json_t *message)
{
    const char *type = json_string_value(json_object_get(message, "type"));
    return type ? type : "";
}

json_t *rttcp_hello_encode(const char *challenge)
{
    json_t *message =
        rttcp_message("hello", json_pack("{s:s, s:i}", "magic", RTTCP_MAGIC, "version", RTTCP_PROTOCOL_VERSION));
    if (challenge[0])
        json_object_set_new(message, "challenge", json_string(challenge));
    return message;
}

/* A text member of at most size - 1 octets, or "" */
static void take_text(const json_t *message, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(message, key));
    snprintf(out, size, "%s", text && strlen(text) < size ? text : "");
}

int rttcp_hello_decode(const json_t *message, char challenge[RTTCP_CHALLENGE_TEXT], char *why, size_t why_size)
{
    const char *magic = json_string_value(json_object_get(message, "magic"));
    const json_t *version = json_object_get(message, "version");
    if (!magic || strcmp(magic, RTTCP_MAGIC) != 0) {
        snprintf(why, why_size, "it does not speak the rttcp protocol");
        return -1;
    }
    if (!json_is_integer(version) || json_integer_value(version) != RTTCP_PROTOCOL_VERSION) {
        snprintf(why, why_size, "protocol version %" JSON_INTEGER_FORMAT " is not version %d: use the same rttcp at both ends",
                 json_integer_value(version), RTTCP_PROTOCOL_VERSION);
        return -1;
    }
    take_text(message, "challenge", challenge, RTTCP_CHALLENGE_TEXT);
    return 0;
}

void rttcp_proof_put(json_t *message, const struct rttcp_proof *proof)
{
    if (!proof->proof[0])
        return;
    json_object_set_new(message, "challenge", json_string(proof->challenge));
    json_object_set_new(message, "proof", json_string(proof->proof));
}

void rttcp_proof_take(const json_t *message, struct rttcp_proof *proof)
{
    take_text(message, "challenge", proof->challenge, sizeof proof->challenge);
    take_text(message, "proof", proof->proof, sizeof proof->proof);
}

json_t *rttcp_params_encode(const struct rttcp_params *params)
{
    json_t *object = rttcp_fields_encode(params_fields, N(params_fields), params), *streams = json_array();
    for (uint64_t i = 0; i < params->forward + params->reverse; i++)
        json_array_append_new(streams, json_pack("{s:s}", "direction", i < params->forward ? "send" : "receive"));
    json_object_set_new(object, "streams", streams);
    return object;
}

/* Counts the array's directions; the forward ones come first. */
static bool count_streams(const json_t *streams, struct rttcp_params *params)
{
    for (size_t i = 0; i < json_array_size(streams); i++) {
        const char *direction = json_string_value(json_object_get(json_array_get(streams, i), "direction"));
        if (direction && strcmp(direction, "receive") == 0)
            params->reverse++;
        else if (direction && strcmp(direction, "send") == 0 && params->reverse == 0)
            params->forward++;
        else
            return false;
    }
    uint64_t n = params->forward + params->reverse;
    return n >= 1 && n <= RTTCP_STREAMS_MAX;
}

static bool power_of_two(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

int rttcp_params_decode(const json_t *object, struct rttcp_params *params, char *why, size_t why_size)
{
    memset(params, 0, sizeof *params);
    if (rttcp_fields_decode(params_fields, N(params_fields), object, params, why, why_size) < 0)
        return -1;
    const char *wrong = NULL;
    if ((params->bytes == 0) == (params->duration_ns == 0))
        wrong = "bytes, duration_ns: want one of them above 0";
    else if (params->length_bytes == 0)
        wrong = "length_bytes: want 1 or more";
    else if (params->window_bytes && params->window_bytes < RTTCP_WINDOW_MIN)
        wrong = "window_bytes: want 0, or 2048 or more";
    else if (params->interval_ns < RTTCP_INTERVAL_MIN_NS)
        wrong = "interval_ns: want 10 ms or more";
    else if (params->timeout_ns == 0)
        wrong = "timeout_ns: want more than 0";
    else if (!power_of_two(params->align_bytes))
        wrong = "align_bytes: want a power of two";
    else if (params->pacing_bps && params->pacing_pps)
        wrong = "pacing_bps, pacing_pps: want at most one of them above 0";
    else if (params->verify && params->zerocopy)
        wrong = "zerocopy: not with verify, whose content differs from write to write";
    else if (params->verify && params->skip_rx_copy)
        wrong = "skip_rx_copy: not with verify, which has to see the content";
    else if (!count_streams(json_object_get(object, "streams"), params))
        wrong = "streams: want 1 to 128, with direction \"send\" first and then \"receive\"";
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
        return -1;
    }
    return 0;
}

json_t *rttcp_accept_encode(const struct rttcp_accept *accept, const struct rttcp_params *params)
{
    json_t *streams = json_array();
    for (uint64_t i = 0; i < accept->streams; i++)
        json_array_append_new(streams, json_pack("{s:I, s:I}", "port", (json_int_t)accept->at[i].port,
                                                 "window_granted_bytes", (json_int_t)accept->at[i].window_granted_bytes));
    return rttcp_message("accept", json_pack("{s:s, s:o, s:o}", "session", accept->session, "params",
                                             rttcp_params_encode(params), "streams", streams));
}

int rttcp_accept_decode(const json_t *message, struct rttcp_accept *accept, struct rttcp_params *params, char *why,
                        size_t why_size)
{
    static const struct rttcp_field session[] = {TEXT(rttcp_accept, session)};
    static const struct rttcp_field stream[] = {NUM(rttcp_port, port, 65535),
                                                NUM(rttcp_port, window_granted_bytes, RTTCP_WINDOW_MAX + 65535)};
    const json_t *streams = json_object_get(message, "streams");
    memset(accept, 0, sizeof *accept);
    if (rttcp_fields_decode(session, N(session), message, accept, why, why_size) < 0 ||
        rttcp_params_decode(json_object_get(message, "params"), params, why, why_size) < 0)
        return -1;
    accept->streams = json_array_size(streams);
    if (accept->streams != params->forward + params->reverse) {
        snprintf(why, why_size, "streams: want a port for each");
        return -1;
    }
    for (uint64_t i = 0; i < accept->streams; i++) {
        if (rttcp_fields_decode(stream, N(stream), json_array_get(streams, i), &accept->at[i], why, why_size) < 0)
            return -1;
        if (accept->at[i].port == 0) {
            snprintf(why, why_size, "port: want 1 to 65535");
            return -1;
        }
    }
    return 0;
}

json_t *rttcp_stream_encode(const struct rttcp_stream_account *account)
{
    return rttcp_fields_encode(stream_fields, N(stream_fields), account);
}

int rttcp_stream_decode(const json_t *object, struct rttcp_stream_account *account, char *why, size_t why_size)
{
    return rttcp_fields_decode(stream_fields, N(stream_fields), object, account, why, why_size);
}

int rttcp_direction_decode(const json_t *message, uint64_t *direction, char *why, size_t why_size)
{
    static const struct rttcp_field field = {"direction", FIELD_U64, 0, 0, 1};
    return rttcp_fields_decode(&field, 1, message, direction, why, why_size);
}

json_t *rttcp_reason_encode(const char *type, int status, const char *reason)
{
    struct rttcp_reason fields = {.status = (uint64_t)status};
    snprintf(fields.reason, sizeof fields.reason, "%s", reason);
    return rttcp_message(type, rttcp_fields_encode(reason_fields, N(reason_fields), &fields));
}

int rttcp_reason_decode(const json_t *message, struct rttcp_reason *reason, char *why, size_t why_size)
{
    return rttcp_fields_decode(reason_fields, N(reason_fields), message, reason, why, why_size);
}

void rttcp_side_release(struct rttcp_side *side)
{
    json_decref(side->tcp_info);
    json_decref(side->intervals);
    json_decref(side->streams);
    side->tcp_info = side->intervals = side->streams = NULL;
}

json_t *rttcp_side_encode(const struct rttcp_side *side)
{
    json_t *object = rttcp_fields_encode(side_fields, N(side_fields), side);
    if (side->tcp_info)
        json_object_set(object, "tcp_info", side->tcp_info);
    return object;
}

int rttcp_side_decode(const json_t *object, struct rttcp_side *side, char *why, size_t why_size)
{
    const char *key;
    json_t *value;
    json_t *info = json_object_get(object, "tcp_info");
    if (rttcp_fields_decode(side_fields, N(side_fields), object, side, why, why_size) < 0)
        return -1;
    json_decref(side->tcp_info);
    side->tcp_info = json_object();
    json_object_foreach(info, key, value) /* only what can be a TCP_INFO field */
        if (json_is_integer(value) && json_integer_value(value) >= 0 && strlen(key) < 40)
            json_object_set(side->tcp_info, key, value);
    return 0;
}

json_t *rttcp_intervals_encode(uint64_t direction, const json_t *rows, size_t first, size_t n)
{
    json_t *part = json_array();
    for (size_t i = first; i < first + n && i < json_array_size(rows); i++)
        json_array_append(part, json_array_get(rows, i));
    return rttcp_message("intervals", json_pack("{s:I, s:o}", "direction", (json_int_t)direction, "rows", part));
}

static bool is_interval(const json_t *row)
{
    for (size_t i = 0; i < 3; i++)
        if (!json_is_integer(json_array_get(row, i)) || json_integer_value(json_array_get(row, i)) < 0)
            return false;
    return json_array_size(row) == 3;
}

int rttcp_intervals_decode(const json_t *message, struct rttcp_side *side, char *why, size_t why_size)
{
    const json_t *rows = json_object_get(message, "rows");
    if (!side->intervals)
        side->intervals = json_array();
    if (!json_is_array(rows) || json_array_size(rows) + json_array_size(side->intervals) > RTTCP_INTERVALS_MAX) {
        snprintf(why, why_size, "rows: want an array, and at most %d rows in all", RTTCP_INTERVALS_MAX);
        return -1;
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (!is_interval(row)) {
            snprintf(why, why_size, "rows: want [start_ns, end_ns, bytes] each");
            return -1;
        }
        json_array_append(side->intervals, row);
    }
    return 0;
}

json_t *rttcp_summary_encode(const struct rttcp_summary *summary)
{
    return rttcp_fields_encode(summary_fields, N(summary_fields), summary);
}

int rttcp_summary_decode(const json_t *object, struct rttcp_summary *summary, char *why, size_t why_size)
{
    return rttcp_fields_decode(summary_fields, N(summary_fields), object, summary, why, why_size);
}
