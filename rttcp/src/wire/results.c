#include "results.h"

#include <stdio.h>
#include <string.h>

#include "fields.h"

static const struct rttcp_field stream_fields[] = {
    NUMBER_FIELD(rttcp_stream_account, stream, RTTCP_STREAMS_MAX - 1),
    NUMBER_FIELD(rttcp_stream_account, bytes, 0),
    NUMBER_FIELD(rttcp_stream_account, calls, 0),
    NUMBER_FIELD(rttcp_stream_account, first_byte_ns, 0),
    NUMBER_FIELD(rttcp_stream_account, last_byte_ns, 0),
    NUMBER_FIELD(rttcp_stream_account, retransmits, 0),
    NUMBER_FIELD(rttcp_stream_account, mss_bytes, 0),
    NUMBER_FIELD(rttcp_stream_account, options, 0),
    NUMBER_FIELD(rttcp_stream_account, ecn_mode, 0),
    TEXT_FIELD(rttcp_stream_account, congestion),
    NUMBER_FIELD(rttcp_stream_account, bad_reads, 0),
    BOOL_FIELD(rttcp_stream_account, mismatch),
    NUMBER_FIELD(rttcp_stream_account, mismatch_offset, 0),
    TEXT_FIELD(rttcp_stream_account, expected),
    TEXT_FIELD(rttcp_stream_account, got),
    TEXT_FIELD(rttcp_stream_account, digest),
    TEXT_FIELD(rttcp_stream_account, local),
    TEXT_FIELD(rttcp_stream_account, remote),
};

static const struct rttcp_field side_fields[] = {
    NUMBER_FIELD(rttcp_side, bytes, 0),
    NUMBER_FIELD(rttcp_side, elapsed_ns, 0),
    NUMBER_FIELD(rttcp_side, cpu_user_ns, 0),
    NUMBER_FIELD(rttcp_side, cpu_system_ns, 0),
    NUMBER_FIELD(rttcp_side, calls, 0),
    NUMBER_FIELD(rttcp_side, voluntary_switches, 0),
    NUMBER_FIELD(rttcp_side, involuntary_switches, 0),
    NUMBER_FIELD(rttcp_side, maxrss_bytes, 0),
    NUMBER_FIELD(rttcp_side, minor_faults, 0),
    NUMBER_FIELD(rttcp_side, major_faults, 0),
    NUMBER_FIELD(rttcp_side, window_requested_bytes, RTTCP_WINDOW_MAX),
    NUMBER_FIELD(rttcp_side, window_granted_bytes, 0),
    NUMBER_FIELD(rttcp_side, window_clamp_bytes, 0),
    NUMBER_FIELD(rttcp_side, window_scale, 14),
    NUMBER_FIELD(rttcp_side, window_clamp_resets, 0),
    NUMBER_FIELD(rttcp_side, window_seen_max_bytes, 0),
    NUMBER_FIELD(rttcp_side, opening_bytes, 0),
    NUMBER_FIELD(rttcp_side, sndbuf_bytes, 0),
    NUMBER_FIELD(rttcp_side, rcvbuf_bytes, 0),
    NUMBER_FIELD(rttcp_side, mss_bytes, 0),
    NUMBER_FIELD(rttcp_side, first_byte_ns, 0),
    NUMBER_FIELD(rttcp_side, last_byte_ns, 0),
    NUMBER_FIELD(rttcp_side, drain_ns, 0),
    NUMBER_FIELD(rttcp_side, steady_bps, 0),
    NUMBER_FIELD(rttcp_side, peak_bps, 0),
    NUMBER_FIELD(rttcp_side, retransmits, 0),
    NUMBER_FIELD(rttcp_side, intervals_dropped, 0),
    NUMBER_FIELD(rttcp_side, t0_monotonic_ns, 0),
    NUMBER_FIELD(rttcp_side, t0_realtime_ns, 0),
    BOOL_FIELD(rttcp_side, partial),
    TEXT_FIELD(rttcp_side, congestion),
    TEXT_FIELD(rttcp_side, local),
    TEXT_FIELD(rttcp_side, remote),
};

static const struct rttcp_field exchange_fields[] = {
    NUMBER_FIELD(rttcp_exchange_account, exchanges, 0),       NUMBER_FIELD(rttcp_exchange_account, response_bytes, 0),
    NUMBER_FIELD(rttcp_exchange_account, elapsed_ns, 0),      NUMBER_FIELD(rttcp_exchange_account, latency_min_ns, 0),
    NUMBER_FIELD(rttcp_exchange_account, latency_mean_ns, 0), NUMBER_FIELD(rttcp_exchange_account, latency_p50_ns, 0),
    NUMBER_FIELD(rttcp_exchange_account, latency_p90_ns, 0),  NUMBER_FIELD(rttcp_exchange_account, latency_p99_ns, 0),
    NUMBER_FIELD(rttcp_exchange_account, latency_p999_ns, 0), NUMBER_FIELD(rttcp_exchange_account, latency_max_ns, 0),
};

/* clang-format off */
static const struct rttcp_field summary_fields[] = {
    NUMBER_FIELD(rttcp_summary, bytes, 0),
    NUMBER_FIELD(rttcp_summary, connect_ns, 0),
    NUMBER_FIELD(rttcp_summary, first_byte_ns, 0),
    NUMBER_FIELD(rttcp_summary, drain_ns, 0),
    NUMBER_FIELD(rttcp_summary, short_term_bps, 0),
    NUMBER_FIELD(rttcp_summary, steady_bps, 0),
    NUMBER_FIELD(rttcp_summary, peak_bps, 0),
    NUMBER_FIELD(rttcp_summary, elapsed_ns, 0),
    NUMBER_FIELD(rttcp_summary, retransmits, 0),
    BOOL_FIELD(rttcp_summary, complete),
    TEXT_FIELD(rttcp_summary, verified),
    TEXT_FIELD(rttcp_summary, ended_by),
};
/* clang-format on */

json_t *rttcp_stream_encode(const struct rttcp_stream_account *account)
{
    return rttcp_fields_encode(stream_fields, FIELD_COUNT(stream_fields), account);
}

int rttcp_stream_decode(const json_t *object, struct rttcp_stream_account *account, struct nc_error *error)
{
    return rttcp_fields_decode(stream_fields, FIELD_COUNT(stream_fields), object, account, error);
}

void rttcp_side_release(struct rttcp_side *side)
{
    json_decref(side->tcp_info);
    json_decref(side->intervals);
    json_decref(side->streams);
    side->tcp_info = side->intervals = side->streams = NULL;
}

json_t *rttcp_exchange_encode(const struct rttcp_exchange_account *account)
{
    return rttcp_fields_encode(exchange_fields, FIELD_COUNT(exchange_fields), account);
}

json_t *rttcp_side_encode(const struct rttcp_side *side)
{
    json_t *object = rttcp_fields_encode(side_fields, FIELD_COUNT(side_fields), side);
    if (side->tcp_info)
        json_object_set(object, "tcp_info", side->tcp_info);
    if (side->has_exchange)
        json_object_set_new(object, "exchange", rttcp_exchange_encode(&side->exchange));
    return object;
}

int rttcp_side_decode(const json_t *object, struct rttcp_side *side, struct nc_error *error)
{
    const char *key;
    json_t *value;
    json_t *info = json_object_get(object, "tcp_info");
    if (rttcp_fields_decode(side_fields, FIELD_COUNT(side_fields), object, side, error) < 0)
        return -1;
    const json_t *exchange = json_object_get(object, "exchange");
    side->has_exchange = exchange != NULL;
    if (exchange &&
        rttcp_fields_decode(exchange_fields, FIELD_COUNT(exchange_fields), exchange, &side->exchange, error) < 0)
        return -1;
    json_decref(side->tcp_info);
    side->tcp_info = json_object();
    json_object_foreach(info, key, value) /* only keys that can be names of TCP_INFO fields */
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

int rttcp_intervals_decode(const json_t *message, struct rttcp_side *side, struct nc_error *error)
{
    const json_t *rows = json_object_get(message, "rows");
    if (!side->intervals)
        side->intervals = json_array();
    if (!json_is_array(rows) || json_array_size(rows) + json_array_size(side->intervals) > RTTCP_INTERVALS_MAX)
        return nc_fail(error, NC_EXIT_FAILED, "rows: want an array, and at most %d rows in all", RTTCP_INTERVALS_MAX);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (!is_interval(row))
            return nc_fail(error, NC_EXIT_FAILED, "rows: want [start_ns, end_ns, bytes] each");
        json_array_append(side->intervals, row);
    }
    return 0;
}

json_t *rttcp_summary_encode(const struct rttcp_summary *summary)
{
    return rttcp_fields_encode(summary_fields, FIELD_COUNT(summary_fields), summary);
}

int rttcp_summary_decode(const json_t *object, struct rttcp_summary *summary, struct nc_error *error)
{
    return rttcp_fields_decode(summary_fields, FIELD_COUNT(summary_fields), object, summary, error);
}
