/* Implements summary.h. */
#include "summary.h"

#include <math.h>
#include <string.h>

#include "json.h"
#include "limits.h"
#include "losses.h"
#include "not_known.h"
#include "transfer_verdict.h"

/* clang-format off */
static const char *const event_kinds[] = {
    [PL_LOSS_BURST] = "loss_burst", [PL_RTO] = "rto", [PL_FAST_RETRANSMIT] = "fast_retransmit",
    [PL_ZERO_WINDOW] = "zero_window", [PL_RECEIVER_WINDOW] = "receiver_window", [PL_IDLE] = "idle",
    [PL_ECN_REDUCTION] = "ecn_reduction",
};
/* clang-format on */
_Static_assert(sizeof event_kinds / sizeof *event_kinds == PL_EVENT_KIND_N, "every kind of event has a name");

/* clang-format off */
static const char *const segment_kinds[] = {
    [PL_NEW] = "new", [PL_FAST] = "fast_retransmission", [PL_TIMEOUT] = "retransmission_after_timeout",
    [PL_SPURIOUS] = "spurious", [PL_PROBE] = "tail_loss_probe",
};
/* clang-format on */
_Static_assert(sizeof segment_kinds / sizeof *segment_kinds == PL_KIND_N, "every kind of segment has a name");

static json_t *names(const char *const *texts, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

double pl_stopped_share(const struct pl_transfer *t)
{
    int64_t stopped_ns = 0, elapsed_ns = t->last_ns - t->first_ns;
    for (size_t i = 0; i < t->stops.n; i++)
        stopped_ns += t->stops.at[i].t1_ns - t->stops.at[i].t0_ns;
    return t->segments == 0 ? -1 : elapsed_ns > 0 ? (double)stopped_ns / (double)elapsed_ns : 0;
}

static json_t *stops_json(const struct pl_transfer *t)
{
    json_t *list = json_array();
    for (size_t i = 0; i < t->stops.n; i++) {
        const struct pl_stop *stop = &t->stops.at[i];
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "t0_ns", (json_int_t)stop->t0_ns,
                            "t1_ns", (json_int_t)stop->t1_ns, "cause", pl_cause_name(stop->cause), "text", stop->text,
                            "lost_packets", (json_int_t)stop->packets, "lost_bytes", (json_int_t)stop->bytes,
                            "outage_packets", (json_int_t)stop->outage, "waited_ns", (json_int_t)stop->waited_ns,
                            "outstanding_bytes", (json_int_t)stop->outstanding_bytes, "full_queue", stop->full_queue,
                            "probe", stop->probe));
    }
    return list;
}

static void set(json_t *object, const char *name, uint64_t value)
{
    json_object_set_new(object, name, json_integer((json_int_t)value));
}

/* Sets a time, or null when it was not measured. */
static void set_time(json_t *object, const char *name, int64_t ns)
{
    json_object_set_new(object, name, ns < 0 ? json_null() : json_integer((json_int_t)ns));
}

/* The number of data parts for each fate in the box; null without its record. */
static json_t *box_json(const struct pl_transfer *t)
{
    const json_t *names = t->box ? json_object_get(t->box->description, "fates") : NULL, *name;
    json_t *counts = t->box ? json_object() : json_null();
    size_t fate;
    json_array_foreach((json_t *)(uintptr_t)names, fate, name) if (fate < PL_NO_FATE)
        json_object_set_new(counts, json_string_value(name), json_integer((json_int_t)t->box_fates[fate]));
    if (t->box)
        set(counts, "unseen", t->box_fates[PL_NO_FATE]);
    return counts;
}

static json_t *limit_names(void)
{
    json_t *list = json_array();
    for (int i = 0; i < PL_LIMIT_N; i++)
        json_array_append_new(list, json_string(pl_limit_name((enum pl_limit_cause)i)));
    return list;
}

/* The names of a set of causes. */
static json_t *loss_names(unsigned causes)
{
    json_t *list = json_array();
    for (int i = 0; i < PL_LOSS_N; i++)
        if (causes & 1U << i)
            json_array_append_new(list, json_string(pl_loss_name((enum pl_loss_cause)i)));
    return list;
}

/* The time and the losses of each cause that occurred. */
static void add_causes(json_t *flow, const struct pl_transfer *t)
{
    json_t *limits = json_object(), *as = json_object(), *losses = json_object(), *seen = json_object();
    for (int i = 0; i < PL_LIMIT_N; i++) {
        const char *name = pl_limit_name((enum pl_limit_cause)i),
                   *group = pl_verdict_counts_as(t, (enum pl_limit_cause)i);
        if (t->limit_ns[i])
            set(limits, name, (uint64_t)t->limit_ns[i]);
        if (strcmp(name, group) != 0)
            json_object_set_new(as, name, json_string(group));
    }
    for (int i = 0; i < PL_LOSS_N; i++) {
        if (t->loss_causes[i])
            set(losses, pl_loss_name((enum pl_loss_cause)i), t->loss_causes[i]);
        if (t->loss_seen_causes[i])
            set(seen, pl_loss_name((enum pl_loss_cause)i), t->loss_seen_causes[i]);
    }
    json_object_set_new(flow, "limits_ns", limits);
    json_object_set_new(flow, "limits_as", as);
    set(flow, "samples", t->sampled);
    json_object_set_new(flow, "always_data", json_boolean(t->always_data));
    json_object_set_new(flow, "losses_by_cause", losses);
    json_object_set_new(flow, "losses_seen", seen);
}

struct pl_spread_bps pl_summary_rate(const struct pl_transfer *t, unsigned scale, int way)
{
    const struct pl_scale_sum *sum = &t->scales[scale];
    double n = (double)sum->intervals, a_byte = 8e9 / (double)t->pace->scales_ns[scale];
    if (sum->intervals == 0)
        return (struct pl_spread_bps){0};
    double mean = (double)sum->bytes[way] / n, variance = sum->squares[way] / n - mean * mean;
    return (struct pl_spread_bps){mean * a_byte, sqrt(variance > 0 ? variance : 0) * a_byte,
                                  (double)sum->most[way] * a_byte};
}

/* The rate at each time scale. */
static json_t *rates_json(const struct pl_transfer *t)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < t->pace->scale_n; i++) {
        struct pl_spread_bps sent = pl_summary_rate(t, i, 0), received = pl_summary_rate(t, i, 1);
        json_array_append_new(list, json_pack("{s:I, s:I, s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}}", "scale_ns",
                                              (json_int_t)t->pace->scales_ns[i], "intervals",
                                              (json_int_t)t->scales[i].intervals, "sent_bps", "mean", sent.mean,
                                              "deviation", sent.deviation, "max", sent.most, "received_bps", "mean",
                                              received.mean, "deviation", received.deviation, "max", received.most));
    }
    return list;
}

static json_t *bursts_json(const struct pl_transfer *t)
{
    const struct pl_trains *trains = &t->trains;
    json_t *sizes = json_array();
    size_t bins = PL_TRAIN_BINS;
    while (bins > 0 && trains->by_size[bins - 1] == 0)
        bins--;
    for (size_t i = 0; i < bins; i++)
        json_array_append_new(sizes, json_integer((json_int_t)trains->by_size[i]));
    return json_pack("{s:I, s:I, s:o, s:I, s:I, s:o}", "gap_ns", (json_int_t)t->pace->burst_gap_ns, "bursts",
                     (json_int_t)trains->n, "packets_mean",
                     trains->n ? json_real((double)trains->parts / (double)trains->n) : json_null(), "packets_max",
                     (json_int_t)trains->parts_max, "bytes_max", (json_int_t)trains->bytes_max, "by_packets", sizes);
}

/* The marks that both ends show. A value is null if this kind of ECN does not show it, or if the record is missing. */
static void add_marks(json_t *flow, const struct pl_transfer *t)
{
    const struct pl_mark_sum *marks = &t->marks;
    bool accurate = pl_flow_ecn(t->flow) == PL_ECN_ACCURATE;
    json_object_set_new(flow, "ecn", pl_json_ecn(t->flow));
    json_object_set_new(flow, "ce_marked", t->box ? json_integer((json_int_t)marks->box_marked) : json_null());
    set(flow, "ce_received", marks->ce_received);
    set(flow, "ce_received_bytes", marks->ce_received_bytes);
    json_object_set_new(flow, "ece_received", accurate ? json_null() : json_integer((json_int_t)marks->ece_received));
    json_object_set_new(flow, "ce_reported", accurate ? json_integer((json_int_t)marks->ce_reported) : json_null());
    json_object_set_new(flow, "ce_reported_bytes",
                        accurate ? json_integer((json_int_t)marks->ce_reported_bytes) : json_null());
    json_object_set_new(flow, "cwr_sent", accurate ? json_null() : json_integer((json_int_t)marks->cwr_sent));
    set(flow, "ecn_reductions", marks->reductions);
}

static void add_order(json_t *flow, const struct pl_transfer *t)
{
    set(flow, "reordered", t->reordered);
    set(flow, "reordered_by_max", t->overtaken_max);
    json_object_set_new(flow, "reordered_by_mean",
                        t->reordered ? json_real((double)t->overtaken_sum / (double)t->reordered) : json_null());
    set_time(flow, "reordered_late_max_ns", t->reordered ? t->reordered_late_ns : -1);
}

/* The levels of the delay without queues, over time. */
static json_t *levels_json(const struct pl_base *base)
{
    json_t *list = json_array();
    for (size_t i = 0; i < base->levels.n; i++)
        json_array_append_new(list, json_pack("{s:I, s:I}", "t0_ns", (json_int_t)base->levels.at[i].t_ns, "delay_ns",
                                              (json_int_t)base->levels.at[i].delay_ns));
    return list;
}

static void add_delays(json_t *flow, const struct pl_transfer *t)
{
    static const struct pl_base none = {.levels = {.n = 0}};
    bool both = t->ends == PL_BOTH_ENDS;
    set_time(flow, "min_rtt_ns", t->min_rtt_ns);
    set_time(flow, "max_rtt_ns", t->max_rtt_ns);
    set_time(flow, "min_delay_ns", t->min_delay_ns);
    set_time(flow, "max_delay_ns", t->max_delay_ns);
    json_object_set_new(flow, "base",
                        json_pack("{s:o, s:o, s:o}", "data", levels_json(both ? &t->base : &none), "data_seen",
                                  levels_json(both ? &t->seen_base : &none), "acks", levels_json(&t->ack_base)));
}

/* How it is known which parts were lost. */
static const char *lost_by(const struct pl_transfer *t)
{
    static const char *const words[] = {
        [PL_BOTH_ENDS] = "both captures", [PL_SENDER_ALONE] = "acknowledgements", [PL_RECEIVER_ALONE] = "holes"};
    return t->lost_at_most ? "acknowledgements without SACK" : words[t->ends];
}

/* The verdict as an object; null where no cause is known. */
static json_t *verdict_json(const struct pl_transfer *t)
{
    struct pl_verdict verdict = pl_verdict_of(t);
    if (!verdict.known)
        return json_null();
    return json_pack("{s:s, s:o, s:f, s:o, s:s}", "cause", pl_verdict_name(&verdict), "share",
                     verdict.share < 0 ? json_null() : json_real(verdict.share), "rate_bps", verdict.rate_bps,
                     "possible_bps", verdict.then_bps > 0 ? json_real(verdict.then_bps) : json_null(), "text",
                     verdict.text);
}

/* Both end points by the receiver's capture; null if both captures show the same end points. */
static json_t *translated_json(const struct pl_transfer *t)
{
    if (!t->far_flow)
        return json_null();
    return json_pack("{s:o, s:o}", "sender", pl_json_endpoint(t->far_flow, t->receiver_dir), "receiver",
                     pl_json_endpoint(t->far_flow, !t->receiver_dir));
}

/* The object of one flow. */
static json_t *flow_object(const struct pl_transfer *t)
{
    json_t *flow = json_object();
    double share = pl_stopped_share(t);
    bool any = t->segments > 0;
    set(flow, "flow", t->number);
    json_object_set_new(flow, "sender", pl_json_endpoint(t->flow, t->dir));
    json_object_set_new(flow, "receiver", pl_json_endpoint(t->flow, !t->dir));
    json_object_set_new(flow, "translated", translated_json(t));
    json_object_set_new(flow, "ends", json_string(pl_ends_name(t->ends)));
    const struct pl_side *side = &t->flow->side[t->dir];
    json_object_set_new(flow, "isn", side->based ? json_integer(side->base) : json_null());
    json_object_set_new(flow, "mss_in_use", t->mss_said ? json_integer(t->mss) : json_null());
    json_object_set_new(flow, "window_scaled",
                        t->scale_known ? json_boolean(t->window_shift || pl_flow_scaled(t->flow)) : json_null());
    json_object_set_new(flow, "window_scale_least", t->scale_known ? json_null() : json_integer(t->scale_least));
    set_time(flow, "t0_ns", any ? t->first_ns : -1);
    set_time(flow, "t1_ns", any ? t->last_ns : -1);
    set(flow, "elapsed_ns", any ? (uint64_t)(t->last_ns - t->first_ns) : 0);
    set(flow, "bytes", t->bytes);
    set(flow, "segments", t->segments);
    set(flow, "retransmitted", t->retransmitted);
    set(flow, "retransmitted_bytes", t->retransmitted_bytes);
    set(flow, "lost", t->lost);
    set(flow, "lost_bytes", t->lost_bytes);
    json_object_set_new(flow, "lost_by", json_string(lost_by(t)));
    set(flow, "spurious", t->spurious);
    set(flow, "timeouts", t->timeouts);
    set(flow, "fast_recoveries", t->fast_recoveries);
    set(flow, "duplicate_acks", t->duplicate_acks);
    add_order(flow, t);
    add_marks(flow, t);
    set(flow, "in_flight_at_end", t->in_flight_at_end);
    set(flow, "acked_unseen_bytes", t->acked_unseen_bytes);
    set(flow, "unseen", t->unseen);
    set(flow, "unresolved", t->unresolved);
    add_delays(flow, t);
    set(flow, "max_unacknowledged_bytes", t->max_unacknowledged_bytes);
    add_causes(flow, t);
    json_object_set_new(flow, "box", box_json(t));
    json_object_set_new(flow, "rates", rates_json(t));
    json_object_set_new(flow, "bursts", bursts_json(t));
    json_object_set_new(flow, "stops", stops_json(t));
    json_object_set_new(flow, "verdict", verdict_json(t));
    json_object_set_new(flow, "stopped_share", share < 0 ? json_null() : json_real(share));
    pl_not_known_flow(flow, t->ends);
    return flow;
}

/* The flow with the most data; null without flows. */
static json_t *main_flow(const json_t *flows)
{
    json_t *best = NULL, *flow;
    json_int_t most = -1;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)flows, i,
                       flow) if (json_integer_value(json_object_get(flow, "bytes")) > most)
    {
        most = json_integer_value(json_object_get(flow, "bytes"));
        best = json_object_get(flow, "flow");
    }
    return best ? json_incref(best) : json_null();
}

static json_t *ppm(double drift)
{
    return drift < 0 ? json_null() : json_real(drift * 1e6);
}

/* The relation of the receiver's clock to the sender's (clocks/clock.h). */
static json_t *clock_json(const struct pl_clock *clock)
{
    json_t *steps = json_array(), *object = json_object();
    bool estimated = clock->kind == PL_CLOCK_ONE || clock->kind == PL_CLOCK_TWO;
    for (unsigned i = 1; i < clock->piece_n; i++)
        json_array_append_new(steps,
                              json_pack("{s:I, s:I}", "t_ns", (json_int_t)clock->pieces[i].t_ns, "step_ns",
                                        (json_int_t)(clock->pieces[i].offset_ns - clock->pieces[i - 1].offset_ns)));
    json_object_set_new(object, "clock", json_string(pl_clock_name(clock)));
    json_object_set_new(object, "offset_ns",
                        clock->kind == PL_CLOCK_UNKNOWN
                            ? json_null()
                            : json_integer(clock->piece_n ? (json_int_t)clock->pieces[0].offset_ns : 0));
    set_time(object, "at_ns", clock->at_ns > 0 ? clock->at_ns : -1);
    json_object_set_new(object, "drift_ppm",
                        clock->kind == PL_CLOCK_UNKNOWN ? json_null() : json_real(clock->drift * 1e6));
    set_time(object, "uncertainty_ns", estimated ? clock->error_ns : -1);
    set_time(object, "asymmetry_ns", estimated ? clock->bound_ns : -1);
    json_object_set_new(object, "drift_uncertainty_ppm", estimated ? ppm(clock->drift_error) : json_null());
    json_object_set_new(object, "steps", steps);
    json_object_set_new(object, "stepped",
                        clock->piece_n > 1 ? json_string(clock->stepped ? "receiver" : "sender") : json_null());
    json_object_set_new(object, "packets",
                        json_pack("[I, I]", (json_int_t)clock->packets[0], (json_int_t)clock->packets[1]));
    return object;
}

static json_t *capture_json(const struct pl_analysis *analysis, int end)
{
    return pl_has_end(analysis, end) ? pl_json_capture(&analysis->surveys[end].index) : json_null();
}

/* The columns that are null in all connections, and those that are null depending on the end at which a connection was
 * captured. */
static void add_not_known(json_t *root, const struct pl_analysis *analysis)
{
    json_t *by_ends = json_object();
    unsigned present = 0;
    for (int ends = PL_BOTH_ENDS; ends <= PL_RECEIVER_ALONE; ends++)
        present |= pl_analysis_count(analysis, (enum pl_ends)ends) ? 1U << ends : 0;
    for (int ends = PL_BOTH_ENDS; ends <= PL_RECEIVER_ALONE; ends++)
        if (present & 1U << ends)
            json_object_set_new(by_ends, pl_ends_name((enum pl_ends)ends), pl_not_known_columns(1U << ends, present));
    json_object_set_new(root, "not_known", pl_not_known_columns(present, present));
    json_object_set_new(root, "not_known_by_ends", by_ends);
}

json_t *pl_summary(const struct pl_analysis *analysis)
{
    json_t *flows = json_array();
    bool both = analysis->ends == PL_BOTH_ENDS;
    for (uint32_t i = 0; i < analysis->n; i++)
        json_array_append_new(flows, flow_object(&analysis->transfers[i]));
    json_t *root =
        json_pack("{s:i, s:o, s:o, s:{s:o, s:o}, s:{s:I, s:I}, s:o, s:o}", "v", 1, "event_kinds",
                  names(event_kinds, PL_EVENT_KIND_N), "segment_kinds", names(segment_kinds, PL_KIND_N), "captures",
                  "sender", capture_json(analysis, PL_SENDER), "receiver", capture_json(analysis, PL_RECEIVER),
                  "unmatched_flows", "sender", (json_int_t)analysis->unmatched[PL_SENDER], "receiver",
                  (json_int_t)analysis->unmatched[PL_RECEIVER], "main_flow", main_flow(flows), "flows", flows);
    json_object_set_new(root, "ends", json_string(pl_ends_name(analysis->ends)));
    json_object_set_new(root, "swapped", json_boolean(analysis->swapped));
    add_not_known(root, analysis);
    json_object_set_new(root, "clock", both ? clock_json(&analysis->clock) : json_null());
    json_object_set_new(root, "limit_causes", limit_names());
    json_object_set_new(root, "loss_causes", loss_names(~0U));
    json_object_set_new(root, "ruled_out", loss_names(analysis->ruled_out));
    json_object_set(root, "box", analysis->box ? analysis->box->description : json_null());
    return root;
}
