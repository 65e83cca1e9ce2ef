/* Implements not_known.h. */
#include "not_known.h"

#include <string.h>

static const char *const ends_names[] = {
    [PL_BOTH_ENDS] = "both", [PL_SENDER_ALONE] = "sender", [PL_RECEIVER_ALONE] = "receiver"};

static const char *const of_flows[][32] = {
    [PL_BOTH_ENDS] = {NULL},
    [PL_SENDER_ALONE] = {"min_delay_ns", "max_delay_ns", "reordered", "reordered_by_max", "reordered_by_mean",
                         "reordered_late_max_ns", "ce_received", "ce_received_bytes", "acked_unseen_bytes", "unseen",
                         NULL},
    [PL_RECEIVER_ALONE] = {"min_delay_ns", "max_delay_ns", "reordered_by_max", "reordered_by_mean",
                           "reordered_late_max_ns", "timeouts", "fast_recoveries", "ece_received", "ce_reported",
                           "ce_reported_bytes", "cwr_sent", "ecn_reductions", "max_unacknowledged_bytes", "limits_ns",
                           "bursts", "stops", "stopped_share", "unresolved", NULL},
};

/* Of `rates`: the way that the capture does not show. */
static const char *const of_rates[] = {
    [PL_BOTH_ENDS] = NULL, [PL_SENDER_ALONE] = "received_bps", [PL_RECEIVER_ALONE] = "sent_bps"};

struct column {
    const char *table, *column;
};
static const struct column of_sender[] = {
    {"segments", "t_received_ns"}, {"segments", "delay_ns"},      {"segments", "receiver_frame"},
    {"segments", "ecn_received"},  {"acks", "t_sent_ns"},         {"losses", "queue_ns"},
    {"losses", "spacing_ns"},      {"rates", "received_packets"}, {"rates", "received_bytes"},
};
static const struct column of_receiver[] = {
    {"segments", "t_sent_ns"}, {"segments", "delay_ns"},  {"segments", "sender_frame"}, {"segments", "ecn_sent"},
    {"acks", "t_received_ns"}, {"losses", "t_sent_ns"},   {"losses", "queue_ns"},       {"losses", "spacing_ns"},
    {"losses", "service_ns"},  {"rates", "sent_packets"}, {"rates", "sent_bytes"},      {"rates", "flight_bytes"},
    {"rates", "rtt_ns"},
};

const char *pl_ends_name(enum pl_ends ends)
{
    return ends_names[ends];
}

void pl_not_known_flow(json_t *flow, enum pl_ends ends)
{
    json_t *rates = json_object_get(flow, "rates"), *scale;
    size_t i;
    for (const char *const *name = of_flows[ends]; *name; name++)
        json_object_set_new(flow, *name, json_null());
    json_array_foreach(rates, i, scale) if (of_rates[ends]) json_object_set_new(scale, of_rates[ends], json_null());
}

json_t *pl_not_known_columns(enum pl_ends ends)
{
    const struct column *list = ends == PL_SENDER_ALONE ? of_sender : of_receiver;
    size_t sender_n = sizeof of_sender / sizeof *of_sender, receiver_n = sizeof of_receiver / sizeof *of_receiver;
    size_t n = ends == PL_BOTH_ENDS ? 0 : ends == PL_SENDER_ALONE ? sender_n : receiver_n;
    json_t *tables = json_object();
    for (size_t i = 0; i < n; i++) {
        json_t *columns = json_object_get(tables, list[i].table);
        if (!columns) {
            columns = json_array();
            json_object_set_new(tables, list[i].table, columns);
        }
        json_array_append_new(columns, json_string(list[i].column));
    }
    return tables;
}
