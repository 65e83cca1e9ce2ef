/* Implements explain.h. */
#include "explain.h"

#include "loss_judge.h"
#include "path_down.h"
#include "service.h"

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

/* Goes through the rows of a transfer for the bottleneck's time for a byte. Returns 0, or -1 without memory. */
static int measure_service(struct pl_explain *explain, double *ns_a_byte)
{
    struct pl_service *service = calloc(1, sizeof *service);
    struct pl_segment part;
    int result = service ? 0 : -1;
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_passage(explain->tables, explain->t, &cursor, &part);
         cursor.row++)
        if (part.t_received_ns >= 0)
            result = pl_service_add(service, &part, explain->t->low_delay_ns);
    *ns_a_byte = service ? pl_service_end(service) : 0;
    free(service);
    return result;
}

/* Goes through the rows of a transfer that lost parts for the queues beside them. */
static int study_losses(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    struct pl_segment part;
    double ns_a_byte;
    int result = measure_service(explain, &ns_a_byte);
    if (result < 0 || pl_loss_study_begin(&explain->study, t->min_rtt_ns, ns_a_byte) < 0)
        return -1;
    for (struct pl_cursor cursor = {0};
         result == 0 && t->not_arrived && pl_tables_passage(explain->tables, t, &cursor, &part); cursor.row++)
        if (pl_lost(t, &part))
            result = pl_loss_study_loss(&explain->study, &part);
        else if (part.t_received_ns >= 0)
            result = pl_loss_study_arrival(&explain->study, &part);
    return result < 0 ? -1 : pl_loss_judge(&explain->study);
}

/* Finds the cause of each loss, and when nothing passed the path. */
static int judge_losses(struct pl_explain *explain, int64_t back_ns)
{
    struct pl_transfer *t = explain->t;
    struct pl_loss_causes causes;
    struct pl_segment part;
    uint64_t at;
    int result = 0;
    pl_loss_causes_begin(&causes, t, &explain->study, &explain->down, back_ns, put_loss, explain);
    for (struct pl_cursor cursor = {0};
         result == 0 && t->not_arrived && pl_tables_segment(explain->tables, t, &cursor, &part, &at); cursor.row++)
        result = pl_loss_causes_add(&causes, &part);
    return pl_loss_causes_end(&causes) < 0 ? -1 : result;
}

static int judge_acks(struct pl_explain *explain, int64_t back_ns)
{
    struct pl_ack_outages outages;
    struct pl_ack ack;
    int result = 0;
    pl_ack_outages_begin(&outages, explain->t, back_ns, &explain->down);
    for (struct pl_cursor cursor = {0}; result == 0 && pl_tables_ack(explain->tables, explain->t, &cursor, &ack);
         cursor.row++)
        result = pl_ack_outages_add(&outages, &ack);
    return result < 0 ? -1 : pl_ack_outages_end(&outages);
}

static int study(struct pl_explain *explain)
{
    struct pl_transfer *t = explain->t;
    int64_t back_ns = t->min_rtt_ns > t->min_delay_ns && t->min_delay_ns > 0 ? t->min_rtt_ns - t->min_delay_ns : 0;
    if (pl_lateness_at_sender(&t->lateness, back_ns) < 0 || study_losses(explain) < 0 ||
        judge_losses(explain, back_ns) < 0 || judge_acks(explain, back_ns) < 0)
        return -1;
    return pl_time_spans_merge(&explain->down);
}

int pl_explain_begin(struct pl_explain *explain, struct pl_transfer *t, struct pl_tables *tables)
{
    *explain = (struct pl_explain){.t = t, .tables = tables};
    if (study(explain) < 0)
        return -1;
    const struct pl_limits_path path = {
        .flow = t->number,
        .mss = t->mss,
        .min_rtt_ns = t->min_rtt_ns > 0 ? t->min_rtt_ns : 1,
        .segment_ns = (int64_t)(explain->study.service * (t->mss + PL_HEADERS)),
        .down = &explain->down,
        .samples = t->samples ? pl_send_samples_of(t->samples, t->flow->side[t->dir].port, t->flow->side[!t->dir].port)
                              : (struct pl_samples_of){0},
        .always_data = t->always_data,
        .late = &t->lateness.ways[0],
        .sink = put_limit,
        .context = explain,
    };
    explain->limits = pl_limits_new(&path);
    t->sampled = path.samples.n;
    return explain->limits ? 0 : -1;
}

void pl_explain_part(struct pl_explain *explain, const struct pl_segment *segment)
{
    struct pl_transfer *t = explain->t;
    if (segment->transmission == 1)
        t->bytes += segment->len;
    else {
        t->retransmitted++;
        t->retransmitted_bytes += segment->len;
        t->spurious += segment->kind == PL_SPURIOUS;
    }
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

int64_t pl_explain_queue_ns(const struct pl_explain *explain, const struct pl_segment *segment)
{
    return segment->t_received_ns < 0 ? -1 : segment->delay_ns - explain->t->min_delay_ns;
}

void pl_explain_end(struct pl_explain *explain)
{
    pl_loss_study_free(&explain->study);
    pl_limits_free(explain->limits);
    pl_time_spans_free(&explain->down);
    explain->limits = NULL;
}
