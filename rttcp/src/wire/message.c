#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"

#define NUMBER_ROW(name, most) NUMBER_FIELD(rttcp_params, name, most),
#define FLAG_ROW(name) BOOL_FIELD(rttcp_params, name),
#define TEXT_ROW(name, size) TEXT_FIELD(rttcp_params, name),
static const struct rttcp_field params_fields[] = {RTTCP_PARAMS(NUMBER_ROW, FLAG_ROW, TEXT_ROW)};

static const struct rttcp_field reason_fields[] = {
    NUMBER_FIELD(rttcp_reason, status, 3),
    TEXT_FIELD(rttcp_reason, reason),
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

static const char *const roles[] = {"propose", "serve"};

json_t *rttcp_hello_encode(bool serving, const char *host)
{
    return rttcp_message("hello", json_pack("{s:s, s:i, s:s, s:s}", "magic", RTTCP_MAGIC, "version",
                                            RTTCP_PROTOCOL_VERSION, "role", roles[serving], "host", host));
}

int rttcp_hello_decode(const json_t *message, bool serving, char host[RTTCP_HOST_TEXT], struct nc_error *error)
{
    const char *magic = json_string_value(json_object_get(message, "magic"));
    const json_t *version = json_object_get(message, "version");
    if (!magic || strcmp(magic, RTTCP_MAGIC) != 0)
        return nc_fail(error, NC_EXIT_FAILED, "it does not speak the rttcp protocol");
    if (!json_is_integer(version) || json_integer_value(version) != RTTCP_PROTOCOL_VERSION)
        return nc_fail(error, NC_EXIT_FAILED,
                       "protocol version %" JSON_INTEGER_FORMAT " is not version %d: use the same rttcp at both ends",
                       json_integer_value(version), RTTCP_PROTOCOL_VERSION);
    const char *role = json_string_value(json_object_get(message, "role")),
               *from = json_string_value(json_object_get(message, "host"));
    if (!role || strcmp(role, roles[!serving]) != 0)
        return nc_fail(error, NC_EXIT_FAILED,
                       "it is a %s, too, by the role in its hello: use -t at one end, -r at the other",
                       serving ? "receiver" : "sender");
    if (host)
        snprintf(host, RTTCP_HOST_TEXT, "%s", from ? from : "");
    return 0;
}

json_t *rttcp_params_encode(const struct rttcp_params *params)
{
    json_t *object = rttcp_fields_encode(params_fields, FIELD_COUNT(params_fields), params), *streams = json_array();
    for (uint64_t i = 0; i < params->forward + params->reverse; i++)
        json_array_append_new(streams, json_pack("{s:s}", "direction", i < params->forward ? "send" : "receive"));
    json_object_set_new(object, "streams", streams);
    return object;
}

/* Counts the directions in the array. The forward ones must come first. */
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

/* Checks the other parameters of a proposal with request and response. Returns the fault as a text, or NULL. */
static const char *wrong_exchange(const struct rttcp_params *params)
{
    if ((params->request_bytes == 0) != (params->response_bytes == 0))
        return "request_bytes, response_bytes: want both above 0, or neither";
    if (!params->request_bytes)
        return NULL;
    if (params->bytes % params->request_bytes ||
        (params->bytes && params->bytes / params->request_bytes < params->forward))
        return "bytes: want whole requests, one for each stream or more";
    if (params->reverse || params->verify || params->zerocopy || params->skip_rx_copy || params->window_bytes ||
        params->pacing_bps || params->pacing_pps)
        return "request_bytes: not with reverse streams, verify, zerocopy, skip_rx_copy, window_bytes or a pace";
    return NULL;
}

int rttcp_params_decode(const json_t *object, struct rttcp_params *params, struct nc_error *error)
{
    memset(params, 0, sizeof *params);
    if (rttcp_fields_decode(params_fields, FIELD_COUNT(params_fields), object, params, error) < 0)
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
    else if (params->pace_burst_bytes && !params->pacing_bps)
        wrong = "pace_burst_bytes: only with pacing_bps";
    else if (params->verify && params->zerocopy)
        wrong = "zerocopy: not with verify, whose content differs from write to write";
    else if (params->verify && params->skip_rx_copy)
        wrong = "skip_rx_copy: not with verify, which has to see the content";
    else if (!count_streams(json_object_get(object, "streams"), params))
        wrong = "streams: want 1 to 128, with direction \"send\" first and then \"receive\"";
    else
        wrong = wrong_exchange(params);
    if (wrong)
        return nc_fail(error, NC_EXIT_FAILED, "%s", wrong);
    return 0;
}

static int differ(const char *key, const json_t *proposed, const json_t *answered, struct nc_error *error)
{
    char *was = json_dumps(proposed, JSON_ENCODE_ANY | JSON_COMPACT),
         *is = json_dumps(answered, JSON_ENCODE_ANY | JSON_COMPACT);
    nc_fail(error, NC_EXIT_FAILED, "the receiver answered %s %.80s where %.80s was proposed", key, is ? is : "?",
            was ? was : "?");
    free(was);
    free(is);
    return -1;
}

/* Compares the JSON forms, so that a new member cannot be forgotten here. */
int rttcp_params_compare(const struct rttcp_params *proposed, const struct rttcp_params *answered,
                         struct nc_error *error)
{
    int status = 0;
    json_t *want = rttcp_params_encode(proposed), *got = rttcp_params_encode(answered);
    for (void *at = json_object_iter(want); at && status == 0; at = json_object_iter_next(want, at)) {
        const char *key = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at), *answer = json_object_get(got, key);
        status = json_equal(value, answer) ? 0 : differ(key, value, answer, error);
    }
    json_decref(want);
    json_decref(got);
    return status;
}

json_t *rttcp_accept_encode(const struct rttcp_accept *accept, const struct rttcp_params *params)
{
    json_t *streams = json_array();
    for (uint64_t i = 0; i < accept->streams; i++)
        json_array_append_new(streams,
                              json_pack("{s:I, s:I}", "port", (json_int_t)accept->at[i].port, "window_granted_bytes",
                                        (json_int_t)accept->at[i].window_granted_bytes));
    return rttcp_message("accept", json_pack("{s:s, s:o, s:o}", "session", accept->session, "params",
                                             rttcp_params_encode(params), "streams", streams));
}

int rttcp_accept_decode(const json_t *message, struct rttcp_accept *accept, struct rttcp_params *params,
                        struct nc_error *error)
{
    static const struct rttcp_field session[] = {TEXT_FIELD(rttcp_accept, session)};
    static const struct rttcp_field stream[] = {
        NUMBER_FIELD(rttcp_port, port, 65535),
        NUMBER_FIELD(rttcp_port, window_granted_bytes, RTTCP_WINDOW_MAX + 65535)};
    const json_t *streams = json_object_get(message, "streams");
    memset(accept, 0, sizeof *accept);
    if (rttcp_fields_decode(session, FIELD_COUNT(session), message, accept, error) < 0 ||
        rttcp_params_decode(json_object_get(message, "params"), params, error) < 0)
        return -1;
    accept->streams = json_array_size(streams);
    if (accept->streams != params->forward + params->reverse)
        return nc_fail(error, NC_EXIT_FAILED, "streams: want a port for each");
    for (uint64_t i = 0; i < accept->streams; i++) {
        if (rttcp_fields_decode(stream, FIELD_COUNT(stream), json_array_get(streams, i), &accept->at[i], error) < 0)
            return -1;
        if (accept->at[i].port == 0)
            return nc_fail(error, NC_EXIT_FAILED, "port: want 1 to 65535");
    }
    return 0;
}

static int check_window(uint64_t granted, uint64_t window, struct nc_error *error)
{
    if (window ? granted >= window && granted - window < RTTCP_WINDOW_GRAIN : granted == 0)
        return 0;
    return nc_fail(error, NC_EXIT_FAILED,
                   "the receiver granted a window of %" PRIu64 " bytes where %" PRIu64
                   " were proposed; want that many, rounded up by less than %d",
                   granted, window, RTTCP_WINDOW_GRAIN);
}

int rttcp_accept_check(const struct rttcp_accept *accept, const struct rttcp_params *params, uint16_t control_port,
                       struct nc_error *error)
{
    for (uint64_t i = 0; i < accept->streams; i++) {
        uint64_t port = accept->at[i].port, twin = 0;
        while (accept->at[twin].port != port)
            twin++;
        if (port == control_port || twin < i)
            return nc_fail(error, NC_EXIT_FAILED,
                           "the receiver answered port %" PRIu64 " for stream %" PRIu64 ", which %s has already", port,
                           i, port == control_port ? "the control connection" : "another stream");
        if (check_window(accept->at[i].window_granted_bytes, params->window_bytes, error) < 0)
            return -1;
    }
    return 0;
}

int rttcp_direction_decode(const json_t *message, uint64_t *direction, struct nc_error *error)
{
    static const struct rttcp_field field = {"direction", FIELD_U64, 0, 0, 1};
    return rttcp_fields_decode(&field, 1, message, direction, error);
}

json_t *rttcp_reason_encode(const char *type, int status, const char *reason)
{
    struct rttcp_reason fields = {.status = (uint64_t)status};
    snprintf(fields.reason, sizeof fields.reason, "%s", reason);
    return rttcp_message(type, rttcp_fields_encode(reason_fields, FIELD_COUNT(reason_fields), &fields));
}

int rttcp_reason_decode(const json_t *message, struct rttcp_reason *reason, struct nc_error *error)
{
    return rttcp_fields_decode(reason_fields, FIELD_COUNT(reason_fields), message, reason, error);
}
