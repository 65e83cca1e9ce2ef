/* Implements sink_output.h. */
#include "sink_output.h"

#include <inttypes.h>
#include <stdio.h>

#include "nc_jsonl.h"
#include "nc_range.h"

enum { SLOTS = 4 * PL_PROBE_FLOWS_MAX, LISTED_MAX = 64 };

/* The sum of all flows. */
struct total {
    uint64_t received, lost, duplicates, reordered, late, bytes, extent_max;
    double extent_sum, jitter_ns;
};

static void add(struct total *total, const struct pl_flow_account *account)
{
    total->received += account->received;
    total->lost += pl_flow_account_lost(account);
    total->duplicates += account->duplicates;
    total->reordered += account->reordered;
    total->late += account->late;
    total->bytes += account->bytes;
    total->extent_max = nc_max(total->extent_max, account->extent_max);
    total->extent_sum += account->extent_sum;
    total->jitter_ns += account->jitter_ns * (double)account->received;
}

static json_t *figures(const struct total *total)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I}", "received", (json_int_t)total->received, "lost",
                     (json_int_t)total->lost, "duplicates", (json_int_t)total->duplicates, "reordered",
                     (json_int_t)total->reordered, "late", (json_int_t)total->late, "bytes", (json_int_t)total->bytes,
                     "extent_max", (json_int_t)total->extent_max, "extent_mean",
                     total->reordered ? total->extent_sum / (double)total->reordered : 0.0, "jitter_ns",
                     (json_int_t)(total->received ? total->jitter_ns / (double)total->received : 0.0));
}

static json_t *flow_json(const struct pl_sink_flow *flow)
{
    struct total total = {.received = 0};
    add(&total, &flow->account);
    json_t *object = json_pack("{s:I, s:i, s:b}", "session", (json_int_t)flow->session, "flow", (int)flow->flow,
                               "ended", (int)flow->account.ended);
    json_t *more = figures(&total);
    json_object_update(object, more);
    json_decref(more);
    return object;
}

static void print_text(const struct pl_arrivals *arrivals, const struct total *total, uint64_t socket_drops)
{
    const struct nc_spread *delay = &arrivals->delay;
    uint64_t sent = total->received + total->late + total->lost;
    printf("%" PRIu64 " packets of %" PRIu64 " came, %" PRIu64 " lost (%.4f %%), %" PRIu64 " twice, %" PRIu64
           " reordered (extent at most %" PRIu64 ")\n",
           total->received, sent, total->lost, sent ? 100.0 * (double)total->lost / (double)sent : 0.0,
           total->duplicates, total->reordered, total->extent_max);
    printf("delay %.1f us (least), %.1f us (median), %.1f us (99 %%); jitter %.1f us\n",
           (double)arrivals->delay_min_ns / 1e3, (double)nc_spread_percentile(delay, 0.5) / 1e3,
           (double)nc_spread_percentile(delay, 0.99) / 1e3,
           total->received ? total->jitter_ns / (double)total->received / 1e3 : 0.0);
    if (arrivals->negative)
        printf("%" PRIu64 " packets came before they were sent: the two clocks differ, so delays mean nothing\n",
               arrivals->negative);
    if (socket_drops)
        printf("%" PRIu64 " messages were lost at this socket, not on the path; see --buffer\n", socket_drops);
}

void pl_sink_print_end(bool human, const struct pl_arrivals *arrivals, uint64_t socket_drops)
{
    struct total total = {.received = 0};
    json_t *flows = json_array();
    for (size_t i = 0; i < SLOTS; i++) {
        if (!arrivals->flows[i])
            continue;
        add(&total, &arrivals->flows[i]->account);
        if (json_array_size(flows) < LISTED_MAX)
            json_array_append_new(flows, flow_json(arrivals->flows[i]));
    }
    if (human) {
        print_text(arrivals, &total, socket_drops);
        json_decref(flows);
        return;
    }
    json_t *end = figures(&total);
    uint64_t span_ns = arrivals->last_ns - arrivals->first_ns;
    uint64_t delay_variation = nc_spread_percentile(&arrivals->delay, 0.99) - arrivals->delay.min;
    json_t *more = json_pack("{s:b, s:f, s:f, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "ended",
                             (int)pl_arrivals_ended(arrivals), "seconds", (double)span_ns / 1e9, "pps",
                             span_ns ? (double)(arrivals->packets - 1) * 1e9 / (double)span_ns : 0.0, "delay_ns",
                             nc_spread_json(&arrivals->delay), "delay_min_ns", (json_int_t)arrivals->delay_min_ns,
                             "delay_variation_p99_ns", (json_int_t)delay_variation, "negative_delays",
                             (json_int_t)arrivals->negative, "foreign", (json_int_t)arrivals->foreign, "socket_drops",
                             (json_int_t)socket_drops, "flows_n", (json_int_t)arrivals->flows_n, "flows", flows);
    json_object_update(end, more);
    json_decref(more);
    nc_jsonl_event(stdout, "end", end);
}
