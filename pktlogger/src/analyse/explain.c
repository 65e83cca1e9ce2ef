/* Implements explain.h. */
#include "explain.h"

#include "in_a_row.h"
#include "loss_judge.h"
#include "outages.h"
#include "path_base.h"
#include "path_down.h"
#include "policer.h"
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

/* The time per byte from one arrival to the next. The smallest values come from packets that left the bottleneck back
 * to back. It starts as {0}. */
struct neighbours {
    struct pl_sample ns_a_byte;
    int64_t before_ns, t_ns;
    double bytes; /* of what arrived at t_ns */
};

/* Takes the next part that arrived; parts come in order of sending. Parts that arrive at the same time, such as those
 * of a super-packet, count as one. */
static int add_neighbour(struct neighbours *n, const struct pl_segment *part)
{
    double bytes = part->len + PL_HEADERS;
    int result = 0;
    if (n->bytes > 0 && part->t_received_ns == n->t_ns) {
        n->bytes += bytes;
        return 0;
    }
    if (n->before_ns && n->t_ns > n->before_ns)
        result = pl_sample_add(&n->ns_a_byte, (double)(n->t_ns - n->before_ns) / n->bytes);
    n->before_ns = n->t_ns;
    n->t_ns = part->t_received_ns;
    n->bytes = bytes;
    return result;
}

/* An upper bound of the bottleneck's time per byte, however much other traffic it carries; 0: not known. */
static double end_neighbours(struct neighbours *n)
{
    double found = 0;
    pl_sample_sort(&n->ns_a_byte);
    if (n->ns_a_byte.given >= PL_NEIGHBOURS_LEAST)
        found = pl_sample_quantile(&n->ns_a_byte, PL_NEIGHBOURS);
    pl_sample_free(&n->ns_a_byte);
    return found;
}

/* Reads the rows of a transfer to find the bottleneck's time for a byte, and the time for a byte of the quickest rows.
 * Returns 0, or -1 without memory. */
static int measure_service(struct pl_explain *explain, double *ns_a_byte, double *quickest)
{
    struct pl_service *service = calloc(1, sizeof *service);
    struct neighbours neighbours = {.bytes = 0};
    struct pl_segment part;
    int result = service ? 0 : -1;
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_passage(explain->tables, explain->t, &cursor, &part);
         cursor.row++)
        if (part.t_received_ns >= 0) {
            part.t_received_ns = pl_settled_ns(explain->t, &part);
            result = pl_service_add(service, &part, explain->t->low_delay_ns, explain->t->min_delay_ns);
            if (result == 0)
                result = add_neighbour(&neighbours, &part);
        }
    *quickest = service ? pl_service_quickest(service) : 0;
    *ns_a_byte = service ? pl_service_end(service) : 0;
    explain->t->slow_service_ns = service ? service->slow : 0;
    explain->t->serial_ns = end_neighbours(&neighbours);
    explain->t->shown_service_ns = service ? service->mean : 0;
    free(service);
    return result;
}

/* Finds the bottleneck's time for a byte, and the delays without queues. Each depends on the other where the path
 * changes: a longer path looks like a queue at first, and a sender that is slow for other reasons looks like a slow
 * bottleneck. */
static int measure_path(struct pl_explain *explain, double *ns_a_byte)
{
    struct pl_transfer *t = explain->t;
    double quickest, first;
    if (measure_service(explain, ns_a_byte, &quickest) < 0)
        return -1;
    first = *ns_a_byte < quickest ? *ns_a_byte : quickest;
    if (pl_path_base_see(t, explain->tables, first) < 0)
        return -1;
    if ((t->seen_base.levels.n > 1 || first < *ns_a_byte * PL_SERVICE_SAME) &&
        (measure_service(explain, ns_a_byte, &quickest) < 0 || pl_path_base_see(t, explain->tables, *ns_a_byte) < 0))
        return -1;
    return pl_path_base_find(t, explain->tables, *ns_a_byte);
}

/* Takes the next part in order of sending, for the policer and for the queues that parts next to lost ones met. Leaves
 * out parts lost to an outage, because they say nothing about queues. */
static int study_part(struct pl_explain *explain, struct pl_policer *policer, const struct pl_segment *part)
{
    bool lost = pl_lost(explain->t, part), arrived = !lost && part->t_received_ns >= 0;
    if (lost && pl_outage_of_all(explain->t->silent, &explain->silence_at, part->t_sent_ns))
        return 0;
    int result = lost      ? pl_loss_study_loss(&explain->study, part)
                 : arrived ? pl_loss_study_arrival(&explain->study, part)
                           : 0;
    int32_t run = lost ? (int32_t)explain->study.runs.n - 1 : PL_POLICED_PASSED;
    if (result < 0 || !(lost || arrived || part->unseen))
        return result;
    return pl_policer_add(policer, part->t_sent_ns, arrived ? part->t_received_ns : -1, part->len + PL_HEADERS, run);
}

/* Whether the parts that the policer dropped met no queue. A queue served at the policer's rate would hold a whole
 * burst, so delays would vary by the burst divided by the policer's rate. Behind a policer they vary only by the burst
 * divided by the line's rate, which is higher. */
static bool had_no_queue(const struct pl_loss_study *study, const struct pl_policer *policer,
                         const struct pl_policed *policed, double line_rate)
{
    size_t n = 0, queued = 0;
    double burst_ns = policed->burst / policed->rate * 1e9;
    double spread_ns = pl_sample_quantile(&study->own_delays, 1 - PL_POLICER_SPREAD) -
                       pl_sample_quantile(&study->own_delays, PL_POLICER_SPREAD);
    for (size_t i = 0; i < policer->parts.n; i++) {
        const struct pl_policed_part *part = &policer->parts.at[i];
        n += part->explained;
        queued += part->explained && study->runs.at[part->run].queue_ns >= PL_POLICER_QUEUE * burst_ns;
    }
    double most = policed->rate / line_rate + PL_POLICER_WAITS * (1 - policed->rate / line_rate);
    return !policed->open && queued * 2 < n && policed->waits < most && spread_ns < most * burst_ns;
}

/* Looks for a full queue in a row with another one. The pair looks like one managed queue: the full queue overflows
 * while the other makes longer delays. If the pair explains most of the losses, they are tail drops. If it explains
 * some of them, or they are too few to decide, queue management is not named as their cause. */
static void find_in_a_row(struct pl_explain *explain, struct pl_policer *parts)
{
    struct pl_loss_study *study = &explain->study;
    if (!study->managed || !study->exact)
        return;
    struct pl_in_a_row found = pl_in_a_row_find(parts, study->service, study->low_ns);
    if (parts->runs >= PL_POLICER_RUNS && found.share < PL_IN_A_ROW_SOME)
        return;
    for (size_t i = 0; i < study->runs.n; i++)
        if (study->runs.at[i].cause == PL_LOSS_AQM)
            study->runs.at[i].cause = PL_LOSS_UNKNOWN;
    for (size_t i = 0; found.share >= PL_IN_A_ROW_MOST && i < parts->parts.n; i++)
        if (parts->parts.at[i].explained && !(explain->t->ruled_out & 1U << PL_LOSS_TAIL_DROP))
            study->runs.at[parts->parts.at[i].run].cause = PL_LOSS_TAIL_DROP;
}

/* Looks for a token bucket that explains losses. It is a policer, which becomes the cause of the losses that it
 * explains, unless it may be a queue that is too short to be seen. In both cases no loss keeps the cause "chance": that
 * was inferred from all losses together, and the bucket explains most of them. */
static void find_policer(struct pl_explain *explain, struct pl_policer *policer)
{
    struct pl_transfer *t = explain->t;
    double line_rate = t->serial_ns > 0 ? 1e9 / t->serial_ns : 0;
    struct pl_policed policed = pl_policer_find(policer, line_rate, explain->study.late_ns);
    const unsigned chance = 1U << PL_LOSS_ANYWHERE | 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND;
    bool possible = !(t->ruled_out & 1U << PL_LOSS_POLICER) && !pl_path_base_shared(t);
    if (policed.rate <= 0)
        return;
    possible = possible && had_no_queue(&explain->study, policer, &policed, line_rate);
    t->signs.policed_rate = possible ? policed.rate : 0;
    t->signs.policed_burst = possible ? policed.burst : 0;
    for (size_t i = 0; i < explain->study.runs.n; i++)
        if (chance >> explain->study.runs.at[i].cause & 1)
            explain->study.runs.at[i].cause = PL_LOSS_UNKNOWN;
    for (size_t i = 0; possible && i < policer->parts.n; i++)
        if (policer->parts.at[i].explained)
            explain->study.runs.at[policer->parts.at[i].run].cause = PL_LOSS_POLICER;
}

/* Reads the rows of a transfer that lost parts. */
static int study_losses(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    struct pl_policer policer = {.runs = 0};
    struct pl_segment part;
    double ns_a_byte;
    int result = measure_path(explain, &ns_a_byte);
    if (result < 0 || pl_loss_study_begin(&explain->study, t, pl_path_base_line(t, ns_a_byte)) < 0)
        return -1;
    t->service_ns = ns_a_byte;
    explain->own_ns_a_byte = explain->study.service;
    explain->study.uneven = pl_path_base_shared(t) || t->slow_service_ns > PL_VARIES * ns_a_byte;
    for (struct pl_cursor cursor = {0};
         result == 0 && t->not_arrived && pl_tables_passage(explain->tables, t, &cursor, &part); cursor.row++)
        result = study_part(explain, &policer, &part);
    if (result == 0)
        result = pl_loss_judge(&explain->study);
    if (result == 0) {
        find_in_a_row(explain, &policer);
        find_policer(explain, &policer);
    }
    pl_policer_free(&policer);
    return result;
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
    pl_both_ways_find(&explain->study, &explain->ack_runs, &time);
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
    pl_loss_causes_begin(&causes, t, &explain->study, &explain->down, put_loss, explain);
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

static int study(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    int64_t back_ns = t->min_rtt_ns > t->min_delay_ns && t->min_delay_ns > 0 ? t->min_rtt_ns - t->min_delay_ns : 0;
    if (pl_lateness_at_sender(&t->lateness, back_ns) < 0 || study_losses(explain) < 0 || find_both_ways(explain) < 0 ||
        judge_losses(explain) < 0 || judge_acks(explain) < 0)
        return -1;
    return pl_time_spans_merge(&explain->down);
}

int pl_explain_begin(struct pl_explain *explain, struct pl_transfer *t, struct pl_tables *tables)
{
    *explain = (struct pl_explain){.t = t, .tables = tables};
    if (study(explain) < 0)
        return -1;
    if (t->samples)
        explain->samples = pl_send_samples_of(t->samples, t->flow->side[t->dir].port, t->flow->side[!t->dir].port);
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
        .late = &t->lateness.ways[0],
        .sink = put_limit,
        .context = explain,
    };
    explain->limits = pl_limits_new(&path);
    t->sampled = path.samples.n;
    t->sets_rate = pl_samples_set_rate(&path.samples);
    pl_loss_study_free(&explain->study); /* the object is large, and many connections may be open at a time */
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
    pl_loss_study_free(&explain->study);
    free(explain->ack_runs.at);
    pl_limits_free(explain->limits);
    pl_time_spans_free(&explain->down);
    explain->limits = NULL;
}
