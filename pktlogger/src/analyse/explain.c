/* Implements explain.h. */
#include "explain.h"

#include "aggregate.h"
#include "outages.h"
#include "path_base.h"
#include "path_down.h"
#include "service.h"
#include "thresholds.h"

static void put_limit(void *context, const struct pl_limit *limit)
{
    struct pl_explain *explain = context;
    explain->t->limit_ns[limit->cause] += limit->t1_ns - limit->t0_ns;
    pl_tables_put_limit(explain->tables, limit);
}

static void put_loss(void *context, const struct pl_loss *loss)
{
    struct pl_explain *explain = context;
    explain->t->loss_causes[loss->cause]++;
    explain->t->loss_seen_causes[loss->seen_cause]++;
    pl_tables_put_loss(explain->tables, loss);
}

/* For a connection alone between its hosts: finds outages that lost both data and acknowledgements. Where there are
 * several connections, silences.h looks at all of them. */
static int find_both_ways(struct pl_explain *explain)
{
    const struct pl_transfer *t = explain->t;
    struct pl_ack_outages gatherer;
    struct pl_ack ack;
    int result = 0;
    if (t->ends != PL_BOTH_ENDS || t->silent || !t->not_arrived)
        return 0;
    pl_ack_outages_begin(&gatherer, t, NULL, &explain->ack_runs, true);
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_ack(explain->tables, t, &cursor, &ack); cursor.row++)
        result = pl_ack_outages_add(&gatherer, &ack);
    if (result < 0 || pl_ack_outages_end(&gatherer) < 0)
        return -1;
    const struct pl_both_ways_time time = {{t->max_delay_ns, gatherer.longest_ns}, t->last_ns - t->first_ns};
    pl_both_ways_find(&explain->own.losses, &explain->ack_runs, &time);
    return 0;
}

/* Finds the cause of each loss, and the times in which nothing passed the path. */
static int judge_losses(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    struct pl_loss_causes causes;
    struct pl_segment part = {.t_box_in_ns = -1, .t_box_exit_ns = -1, .t_box_out_ns = -1};
    struct pl_cursor cursor = {0};
    uint64_t at;
    int result = 0;
    pl_loss_causes_begin(&causes, t, &explain->study->losses, &explain->down, put_loss, explain);
    while (result == 0 && t->not_arrived &&
           (explain->tables->boxed ? pl_tables_segment(explain->tables, t, &cursor, &part, &at)
                                   : pl_tables_passage(explain->tables, t, &cursor, &part))) {
        result = pl_loss_causes_add(&causes, &part);
        cursor.row++;
    }
    return pl_loss_causes_end(&causes) < 0 ? -1 : result;
}

/* Finds the times in which nothing passed the reverse path, and how much longer acknowledgements take on average than
 * on an empty reverse path. Each acknowledgement's extra delay is weighted by the time since the previous one was sent,
 * because the sender lacks that time's information until the acknowledgement arrives. Weights by the time between
 * arrivals would give too small an average where data on the reverse path bunch acknowledgements: the first of a bunch
 * has waited longest, and the last, which precedes the long gap, has not waited. */
static int judge_acks(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    if (t->ends != PL_BOTH_ENDS)
        return 0;
    struct pl_ack_outages outages;
    struct pl_ack ack;
    double sum_ns = 0;
    int64_t first_ns = -1, last_ns = -1;
    int result = 0;
    pl_ack_outages_begin(&outages, t, &explain->down, &explain->ack_runs, false);
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_ack(explain->tables, t, &cursor, &ack); cursor.row++) {
        result = pl_ack_outages_add(&outages, &ack);
        if (ack.t_received_ns < 0 || ack.t_sent_ns < last_ns)
            continue;
        first_ns = first_ns < 0 ? ack.t_sent_ns : first_ns;
        double wait_ns = (double)(ack.t_received_ns - ack.t_sent_ns - t->ack_base.least_ns);
        sum_ns += last_ns < 0 ? 0 : wait_ns * (double)(ack.t_sent_ns - last_ns);
        last_ns = ack.t_sent_ns;
    }
    t->signs.ack_queue_ns = last_ns > first_ns ? (int64_t)(sum_ns / (double)(last_ns - first_ns)) : 0;
    return pl_ack_outages_end(&outages) < 0 ? -1 : result;
}

/* Studies the transfer by itself, or with those that share its queue. */
static int study_path(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    explain->study = &explain->own;
    if (t->aggregate)
        return pl_aggregate_study(t->aggregate, t, explain->tables, &explain->study);
    explain->own = (struct pl_study){.of = {.whole = t, .transfers = &explain->t, .n = 1}};
    return pl_study_run(&explain->own, explain->tables);
}

static int study(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    int64_t back_ns = t->min_rtt_ns > t->min_delay_ns && t->min_delay_ns > 0 ? t->min_rtt_ns - t->min_delay_ns : 0;
    if (pl_lateness_at_sender(&t->lateness, back_ns) < 0 || study_path(explain) < 0 || find_both_ways(explain) < 0 ||
        judge_losses(explain) < 0 || judge_acks(explain) < 0)
        return -1;
    explain->own_ns_a_byte = explain->study->losses.service;
    return pl_time_spans_merge(&explain->down);
}

static void release_study(struct pl_explain *explain)
{
    pl_study_free(&explain->own);
    if (explain->study && explain->study != &explain->own)
        pl_aggregate_release(explain->t->aggregate);
    explain->study = NULL;
    free(explain->t->lost_runs.at);
    explain->t->lost_runs.at = NULL;
    explain->t->lost_runs.n = 0;
}

/* From when on both captures show the data; 0: from the first on. */
static int64_t shown_from_ns(const struct pl_transfer *t)
{
    if (t->receiver_first_ns > t->first_ns)
        return t->receiver_first_ns;
    return t->flow->side[t->dir].syn ? 0 : t->first_ns;
}

int pl_explain_begin(struct pl_explain *explain, struct pl_transfer *t, struct pl_tables *tables)
{
    *explain = (struct pl_explain){.t = t, .tables = tables};
    if (study(explain) < 0)
        return -1;
    if (t->samples)
        explain->samples = pl_send_samples_of(t->samples, t->flow->side[t->dir].port, t->flow->side[!t->dir].port);
    t->window_fixed = explain->samples.window_fixed;
    if (explain->samples.always != PL_UNKNOWN)
        t->always_data = explain->samples.always == PL_YES;
    const struct pl_limits_path path = {
        .flow = t->number,
        .mss = t->mss,
        .min_rtt_ns = t->min_rtt_ns > 0 ? t->min_rtt_ns : 1,
        .segment_ns = pl_line_known(t->line) ? pl_explain_segment_ns(t, t->first_ns)
                                             : (int64_t)(t->service_ns * (t->mss + PL_HEADERS)),
        .line_known = pl_line_known(t->line),
        .down = &explain->down,
        .samples = explain->samples,
        .always_data = t->always_data,
        .opening_bytes = t->opening_bytes,
        .data_end = t->data_end,
        .busy = t->busy,
        .line_alone = pl_line_known(t->line) && !pl_line_queues_behind(t->line) && !t->line->in_front,
        .passes_on = t->from_gateway,
        .middle = !t->flow->side[t->dir].syn,
        .shown_from_ns = shown_from_ns(t),
        .late = &t->lateness.ways[0],
        .sink = put_limit,
        .context = explain,
    };
    explain->limits = pl_limits_new(&path);
    t->sampled = path.samples.n;
    t->sets_rate = pl_samples_set_rate(&path.samples);
    release_study(explain); /* the object is large, and many connections may be open at a time */
    free(explain->ack_runs.at);
    explain->ack_runs.at = NULL;
    return explain->limits ? 0 : -1;
}

/* Detects an MTU black hole: a packet size that never arrives, however often it is sent, while smaller ones do. */
static void note_size(struct pl_signs *signs, const struct pl_segment *segment)
{
    bool arrived = segment->t_received_ns >= 0 || segment->unseen;
    if (arrived && segment->len > signs->largest_arrived)
        signs->largest_arrived = segment->len;
    if (!arrived && segment->transmission >= signs->stuck_tries) {
        signs->stuck_tries = segment->transmission;
        signs->stuck_len = segment->len;
    }
}

void pl_explain_part(struct pl_explain *explain, const struct pl_segment *segment)
{
    struct pl_transfer *t = explain->t;
    if (segment->t_box_exit_ns > explain->box_exit_ns)
        explain->box_exit_ns = segment->t_box_exit_ns;
    uint64_t end = segment->seq + segment->len, fresh = segment->len;
    if (segment->transmission > 1) { /* a retransmission may also carry new octets, beyond the highest byte sent */
        fresh = end > explain->high ? end - (segment->seq > explain->high ? segment->seq : explain->high) : 0;
        t->retransmitted++;
        t->retransmitted_bytes += segment->len - fresh;
        t->spurious += segment->kind == PL_SPURIOUS;
    }
    t->bytes += fresh;
    explain->high = end > explain->high ? end : explain->high;
    note_size(&t->signs, segment);
    if (pl_lost(t, segment)) {
        t->lost++;
        t->lost_bytes += segment->len;
    } else if (segment->unseen)
        t->unseen++;
    else if (segment->t_received_ns < 0)
        t->in_flight_at_end++;
    if (t->box_fates)
        t->box_fates[segment->box_fate]++;
}

bool pl_explain_down(struct pl_explain *explain, int64_t t_ns)
{
    return pl_time_spans_cover(&explain->down, &explain->down_at, t_ns, t_ns + 1) > 0;
}

int64_t pl_explain_segment_ns(const struct pl_transfer *t, int64_t t_ns)
{
    return pl_line_known(t->line) ? (int64_t)pl_line_packet_ns(t->line, t_ns, t->mss + pl_transfer_headers(t)) : 0;
}

/* The bottleneck's time for a part. */
static double work_ns(const struct pl_explain *explain, const struct pl_segment *segment)
{
    const struct pl_transfer *t = explain->t;
    return pl_line_known(t->line)
               ? pl_line_packet_ns(t->line, segment->t_sent_ns, segment->len + pl_transfer_headers(t))
               : explain->own_ns_a_byte * (segment->len + PL_HEADERS);
}

/* How long a part waited in queues. With a record: in the box's queue, plus, where packets may queue behind the box,
 * the extra delay on the rest of the path. With captures only: the extra delay on the whole path, minus the part's own
 * time at the bottleneck. */
static int64_t queue_of(const struct pl_explain *explain, const struct pl_segment *segment)
{
    const struct pl_transfer *t = explain->t;
    double own_ns = work_ns(explain, segment);
    bool boxed = t->box && segment->t_box_in_ns >= 0 && segment->t_box_exit_ns >= 0;
    const struct pl_base *base = boxed ? &t->base : &t->seen_base;
    int64_t way_ns = segment->delay_ns - pl_base_at(base, segment->t_sent_ns), wait_ns = 0;
    if (boxed) {
        way_ns -= segment->t_box_exit_ns - segment->t_box_in_ns;
        wait_ns = pl_path_base_wait_ns(segment, explain->box_exit_ns, own_ns);
        if (pl_line_known(t->line) && !pl_line_at(t->line, segment->t_sent_ns)->queues_behind)
            way_ns = 0; /* a smaller rest is jitter, or lateness of the box */
    } else
        way_ns -= (int64_t)own_ns;
    return wait_ns + (way_ns > 0 ? way_ns : 0);
}

int64_t pl_explain_queue_ns(const struct pl_explain *explain, const struct pl_segment *segment)
{
    return segment->t_received_ns < 0 ? -1 : queue_of(explain, segment);
}

int64_t pl_explain_line_ns(const struct pl_explain *explain, const struct pl_segment *segment)
{
    if (!explain->t->box || segment->t_box_in_ns < 0 || segment->t_box_exit_ns < 0)
        return -1;
    return pl_path_base_wait_ns(segment, explain->box_exit_ns, work_ns(explain, segment));
}

void pl_explain_end(struct pl_explain *explain)
{
    release_study(explain);
    free(explain->ack_runs.at);
    pl_limits_free(explain->limits);
    pl_time_spans_free(&explain->down);
    explain->limits = NULL;
}
