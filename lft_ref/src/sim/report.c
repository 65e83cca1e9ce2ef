/* A trial's result as a line of JSON or of a table. */
#include <stdio.h>

#include "nc_jsonl.h"
#include "sim.h"

static json_t *classes(const uint64_t values[LFT_CLASSES])
{
    json_t *object = json_object();
    for (int i = 0; i < LFT_CLASSES; i++)
        json_object_set_new(object, lft_class_names[i], json_integer((json_int_t)values[i]));
    return object;
}

static void put(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *result_fields(const struct sim_trial *trial, const struct sim_result *r)
{
    json_t *out = json_object();
    json_object_set_new(out, "recovery", json_string(lft_recovery_names[trial->recovery]));
    put(out, "rtt_ns", trial->rtt_ns);
    put(out, "loss_ppb", trial->loss_ppb);
    put(out, "limit_bps", trial->limit_bps);
    put(out, "seed", trial->seed);
    json_object_set_new(out, "complete", json_boolean(r->complete));
    json_object_set_new(out, "intact", json_boolean(r->intact));
    put(out, "connect_ns", r->connect_ns);
    put(out, "elapsed_ns", r->elapsed_ns);
    put(out, "delivered_bytes", r->delivered_bytes);
    put(out, "goodput_bps", (uint64_t)r->goodput_bps);
    put(out, "steady_bps", (uint64_t)r->steady_bps);
    put(out, "bound_bps", (uint64_t)r->bound_bps);
    json_object_set_new(out, "eta", json_real(r->eta));
    json_object_set_new(out, "cap_excess_packets", json_real(r->cap_excess_packets));
    put(out, "burst_peak_bytes", (uint64_t)r->burst_peak_bytes);
    json_object_set_new(out, "jain", json_real(r->jain));
    put(out, "request_ns", r->request_ns);
    put(out, "queue_peak_bytes", r->queue_peak_bytes);
    put(out, "path_packets", r->path_offered);
    put(out, "path_lost", r->path_lost);
    put(out, "path_dropped", r->path_dropped);
    put(out, "back_packets", r->back_offered);
    put(out, "back_bytes", r->back_bytes);
    put(out, "rx_buffers_peak", r->rx_buffers_peak);
    put(out, "tx_buffers_peak", r->tx_buffers_peak);
    return out;
}

static json_t *engine_fields(const struct sim_result *r)
{
    json_t *out = json_object();
    json_object_set_new(out, "frames", classes(r->sender.tx_frames));
    json_object_set_new(out, "wire_bytes", classes(r->sender.tx_wire_bytes));
    put(out, "repairs", r->sender.tx_repairs);
    put(out, "timeouts", r->sender.timeouts);
    put(out, "go_backs", r->sender.go_backs);
    put(out, "declared_lost", r->sender.declared_lost);
    put(out, "spurious", r->sender.spurious);
    put(out, "delivered", r->receiver.rx_delivered);
    put(out, "duplicates", r->receiver.rx_duplicates);
    put(out, "discarded", r->receiver.rx_out_of_order_discarded);
    put(out, "recovered", r->receiver.rx_recovered);
    put(out, "no_memory", r->receiver.rx_no_memory);
    put(out, "replayed", r->receiver.rx_replayed);
    put(out, "srtt_ns", r->state.srtt_ns);
    put(out, "rate_bps", r->state.rate_bps);
    return out;
}

void sim_report_head(void)
{
    printf("%-10s %8s %9s %10s %10s %6s %9s %9s %9s\n", "recovery", "rtt ms", "loss %", "goodput", "steady", "bound",
           "again %", "dup %", "time s");
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void human_line(const struct sim_trial *trial, const struct sim_result *r)
{
    uint64_t again = r->sender.tx_frames[LFT_CLASS_RETRANSMISSION] + r->sender.tx_frames[LFT_CLASS_REDUNDANT];
    printf("%-10s %8.1f %9.4f %10.1f %10.1f %5.1f%% %9.2f %9.2f %9.2f%s%s\n", lft_recovery_names[trial->recovery],
           (double)trial->rtt_ns / 1e6, (double)trial->loss_ppb / 1e7, r->goodput_bps / 1e6, r->steady_bps / 1e6,
           100 * (r->steady_bps > 0 ? r->steady_bps : r->goodput_bps) / r->bound_bps,
           share(again, r->sender.tx_frames[LFT_CLASS_DATA]),
           share(r->receiver.rx_duplicates, r->receiver.rx_delivered), (double)r->elapsed_ns / 1e9,
           r->complete ? "" : " INCOMPLETE", r->intact ? "" : " CORRUPT");
    fflush(stdout);
}

void sim_report(const struct sim_trial *trial, const struct sim_result *result, bool human)
{
    if (human) {
        human_line(trial, result);
        return;
    }
    json_t *fields = result_fields(trial, result);
    json_object_set_new(fields, "engine", engine_fields(result));
    nc_jsonl_event(stdout, "trial", fields);
}
