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
    [PL_RECEIVER_ALONE] = {"min_delay_ns",
                           "max_delay_ns",
                           "reordered_by_max",
                           "reordered_by_mean",
                           "reordered_late_max_ns",
                           "timeouts",
                           "fast_recoveries",
                           "ece_received",
                           "ce_reported",
                           "ce_reported_bytes",
                           "cwr_sent",
                           "ecn_reductions",
                           "max_unacknowledged_bytes",
                           "limits_ns",
                           "limits_as",
                           "bursts",
                           "stops",
                           "stopped_share",
                           "unresolved",
                           NULL},
};

/* The members of `rates` for the direction that the capture does not show. */
static const char *const of_rates[] = {
    [PL_BOTH_ENDS] = NULL, [PL_SENDER_ALONE] = "received_bps", [PL_RECEIVER_ALONE] = "sent_bps"};

enum { SENDER = 1 << PL_SENDER_ALONE, RECEIVER = 1 << PL_RECEIVER_ALONE };

/* Columns that cannot be known from the capture of one end alone, and at which ends. `only`: the table has the column
 * only if such an end is present. */
static const struct column {
    const char *table, *column;
    unsigned ends, only;
} columns[] = {
    {"segments", "t_sent_ns", RECEIVER, 0},
    {"segments", "t_received_ns", SENDER, 0},
    {"segments", "delay_ns", SENDER | RECEIVER, 0},
    {"segments", "sender_frame", RECEIVER, 0},
    {"segments", "receiver_frame", SENDER, 0},
    {"segments", "ecn_sent", RECEIVER, 0},
    {"segments", "ecn_received", SENDER, 0},
    {"segments", "t_acked_ns", RECEIVER, SENDER},
    {"segments", "rtt_ns", RECEIVER, SENDER},
    {"acks", "t_sent_ns", SENDER, 0},
    {"acks", "t_received_ns", RECEIVER, 0},
    {"losses", "t_sent_ns", RECEIVER, 0},
    {"losses", "queue_ns", SENDER | RECEIVER, 0},
    {"losses", "spacing_ns", SENDER | RECEIVER, 0},
    {"losses", "service_ns", RECEIVER, 0},
    {"rates", "sent_packets", RECEIVER, 0},
    {"rates", "sent_bytes", RECEIVER, 0},
    {"rates", "received_packets", SENDER, 0},
    {"rates", "received_bytes", SENDER, 0},
    {"rates", "flight_bytes", RECEIVER, 0},
    {"rates", "rtt_ns", RECEIVER, 0},
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

json_t *pl_not_known_columns(unsigned ends, unsigned present)
{
    json_t *tables = json_object();
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if ((columns[i].ends & ends) != ends || (columns[i].only & present) != columns[i].only)
            continue;
        json_t *list = json_object_get(tables, columns[i].table);
        if (!list) {
            list = json_array();
            json_object_set_new(tables, columns[i].table, list);
        }
        json_array_append_new(list, json_string(columns[i].column));
    }
    return tables;
}
