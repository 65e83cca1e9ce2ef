/* Implements study.h. */
#include "study.h"

#include <math.h>
#include <stdlib.h>

#include "in_a_row.h"
#include "loss_judge.h"
#include "outages.h"
#include "path_base.h"
#include "policer.h"
#include "service.h"
#include "thresholds.h"

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
static int measure_service(struct pl_study *study, const struct pl_tables *tables, double *ns_a_byte, double *quickest)
{
    struct pl_transfer *whole = study->of.whole;
    struct pl_service *service = calloc(1, sizeof *service);
    struct neighbours neighbours = {.bytes = 0};
    struct pl_passages passages;
    struct pl_segment part;
    int result = pl_passages_begin(&passages, tables, &study->of, false) < 0 || !service ? -1 : 0;
    while (result == 0 && pl_passages_next(&passages, &part))
        if (part.t_received_ns >= 0) {
            part.t_received_ns = pl_settled_ns(whole, &part);
            result = pl_service_add(service, &part, whole->low_delay_ns, whole->min_delay_ns);
            if (result == 0)
                result = add_neighbour(&neighbours, &part);
        }
    pl_passages_end(&passages);
    *quickest = service ? pl_service_quickest(service) : 0;
    *ns_a_byte = service ? pl_service_end(service) : 0;
    whole->slow_service_ns = service ? service->slow : 0;
    whole->serial_ns = end_neighbours(&neighbours);
    whole->shown_service_ns = service ? service->mean : 0;
    free(service);
    return result;
}

/* Finds the bottleneck's time for a byte, and the delays without queues. Each depends on the other where the path
 * changes: a longer path looks like a queue at first, and a sender that is slow for other reasons looks like a slow
 * bottleneck. */
static int measure_path(struct pl_study *study, const struct pl_tables *tables, double *ns_a_byte)
{
    struct pl_transfer *whole = study->of.whole;
    double quickest, first;
    if (measure_service(study, tables, ns_a_byte, &quickest) < 0)
        return -1;
    first = *ns_a_byte < quickest ? *ns_a_byte : quickest;
    if (pl_path_base_see(&study->of, tables, first) < 0)
        return -1;
    if ((whole->seen_base.levels.n > 1 || first < *ns_a_byte * PL_SERVICE_SAME) &&
        (measure_service(study, tables, ns_a_byte, &quickest) < 0 ||
         pl_path_base_see(&study->of, tables, *ns_a_byte) < 0))
        return -1;
    return pl_path_base_find(&study->of, tables, *ns_a_byte);
}

/* Takes the next part in order of sending, which is of `t`, to find the queues next to lost parts and a policer. Parts
 * lost to an outage say nothing about queues. `*silence`: the first silence of all connections that is not over. */
static int study_part(struct pl_study *study, struct pl_policer *policer, struct pl_transfer *t, size_t *silence,
                      const struct pl_segment *part)
{
    bool lost = pl_lost(t, part), arrived = !lost && part->t_received_ns >= 0;
    if (lost && pl_outage_of_all(t->silent, silence, part->t_sent_ns))
        return PL_APPEND(&t->lost_runs, PL_NO_LOST_RUN);
    int result = lost      ? pl_loss_study_loss(&study->losses, part, t->number)
                 : arrived ? pl_loss_study_arrival(&study->losses, part)
                           : 0;
    int32_t run = lost ? (int32_t)study->losses.runs.n - 1 : PL_POLICED_PASSED;
    if (result == 0 && lost)
        result = PL_APPEND(&t->lost_runs, (uint32_t)run);
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
static void find_in_a_row(struct pl_loss_study *study, struct pl_policer *parts)
{
    if (!study->managed || !study->exact)
        return;
    struct pl_in_a_row found = pl_in_a_row_find(parts, study->service, study->low_ns);
    if (parts->runs >= PL_POLICER_RUNS && found.share < PL_IN_A_ROW_SOME)
        return;
    for (size_t i = 0; i < study->runs.n; i++)
        if (study->runs.at[i].cause == PL_LOSS_AQM)
            study->runs.at[i].cause = PL_LOSS_UNKNOWN;
    for (size_t i = 0; found.share >= PL_IN_A_ROW_MOST && i < parts->parts.n; i++)
        if (parts->parts.at[i].explained && !(study->t->ruled_out & 1U << PL_LOSS_TAIL_DROP))
            study->runs.at[parts->parts.at[i].run].cause = PL_LOSS_TAIL_DROP;
}

/* Octets behind a part in the queue when it was its turn to leave, as `*ahead` octets of the first `*next` parts were
 * sent by then. They count as if none was dropped before its own turn. */
static double behind(const struct pl_policer *parts, size_t i, double sent, double base_ns, size_t *next, double *ahead)
{
    const struct pl_policed_part *part = &parts->parts.at[i];
    int64_t exit_ns = part->t_sent_ns + part->delay_ns - (int64_t)base_ns;
    for (; *next < parts->parts.n && parts->parts.at[*next].t_sent_ns <= exit_ns; ++*next)
        *ahead += parts->parts.at[*next].bytes;
    return *ahead - sent;
}

/* A queue that drops its oldest part when it is full looks like a managed one, for that part met a shorter queue when it
 * came. But each time about as many octets are behind it as ever. Where this holds for most of the losses, queue
 * management is not named as their cause. */
static void find_head_drops(struct pl_loss_study *study, const struct pl_policer *parts)
{
    double most = 0, runs = 0, full = 0;
    for (int pass = 0; study->several && study->managed && study->exact && pass < 2; pass++) {
        double sent = 0, ahead = 0;
        size_t next = 0;
        int32_t before = PL_POLICED_PASSED;
        for (size_t i = 0; i < parts->parts.n; i++) {
            const struct pl_policed_part *part = &parts->parts.at[i];
            sent += part->bytes;
            double queued = behind(parts, i, sent, study->low_ns, &next, &ahead);
            if (pass == 0)
                most = fmax(most, queued);
            else if (part->run >= 0 && part->run != before && study->runs.at[part->run].cause == PL_LOSS_AQM) {
                runs++;
                full += queued >= PL_HEAD_FULL * most;
            }
            before = part->run;
        }
    }
    for (size_t i = 0; full > 0 && full >= PL_HEAD_MOST * runs && i < study->runs.n; i++)
        if (study->runs.at[i].cause == PL_LOSS_AQM)
            study->runs.at[i].cause = PL_LOSS_UNKNOWN;
}

/* Looks for a token bucket that explains losses. It is a policer, which becomes the cause of the losses that it
 * explains, unless it may be a queue that is too short to be seen. In both cases no loss keeps the cause "chance": that
 * was inferred from all losses together, and the bucket explains most of them. Where it is a policer, no loss keeps the
 * cause "aqm" either: bursts behind a policer look like a managed queue. */
static void find_policer(struct pl_study *study, struct pl_policer *policer)
{
    struct pl_transfer *whole = study->of.whole;
    double line_rate = whole->serial_ns > 0 ? 1e9 / whole->serial_ns : 0;
    struct pl_policed policed = pl_policer_find(policer, line_rate, study->losses.late_ns);
    unsigned inferred = 1U << PL_LOSS_ANYWHERE | 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND;
    bool possible = !(whole->ruled_out & 1U << PL_LOSS_POLICER) && !pl_path_base_shared(whole);
    if (policed.rate <= 0)
        return;
    possible = possible && had_no_queue(&study->losses, policer, &policed, line_rate);
    if (possible)
        inferred |= 1U << PL_LOSS_AQM;
    whole->signs.policed_rate = possible ? policed.rate : 0;
    whole->signs.policed_burst = possible ? policed.burst : 0;
    for (size_t i = 0; i < study->losses.runs.n; i++)
        if (inferred >> study->losses.runs.at[i].cause & 1)
            study->losses.runs.at[i].cause = PL_LOSS_UNKNOWN;
    for (size_t i = 0; possible && i < policer->parts.n; i++)
        if (policer->parts.at[i].explained)
            study->losses.runs.at[policer->parts.at[i].run].cause = PL_LOSS_POLICER;
}

/* A policer that several transfers overload drops many parts at any length of the queue behind it, as chance would. Where
 * no rate and burst explain so many losses, chance is not named. */
static void doubt_chance(struct pl_loss_study *study)
{
    const unsigned chance = 1U << PL_LOSS_ANYWHERE | 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND;
    double lost = 0;
    for (size_t i = 0; i < study->runs.n; i++)
        lost += study->runs.at[i].n;
    bool many = lost > PL_CHANCE_SEVERAL * (lost + (double)study->n);
    for (size_t i = 0; study->several && many && i < study->runs.n; i++)
        if (chance >> study->runs.at[i].cause & 1 && !(study->t->ruled_out & 1U << PL_LOSS_POLICER))
            study->runs.at[i].cause = PL_LOSS_UNKNOWN;
}

/* Goes through the parts of transfers that lost some. */
static int study_losses(struct pl_study *study, const struct pl_tables *tables, struct pl_policer *policer)
{
    struct pl_passages passages;
    struct pl_segment part;
    size_t silence = 0;
    int result = pl_passages_begin(&passages, tables, &study->of, false);
    while (result == 0 && study->of.whole->not_arrived && pl_passages_next(&passages, &part))
        result = study_part(study, policer, passages.t, &silence, &part);
    pl_passages_end(&passages);
    return result < 0 ? -1 : pl_loss_judge(&study->losses);
}

int pl_study_run(struct pl_study *study, const struct pl_tables *tables)
{
    struct pl_transfer *whole = study->of.whole;
    struct pl_policer policer = {.runs = 0};
    double ns_a_byte;
    if (measure_path(study, tables, &ns_a_byte) < 0 ||
        pl_loss_study_begin(&study->losses, whole, pl_path_base_line(whole, ns_a_byte)) < 0)
        return -1;
    whole->service_ns = ns_a_byte;
    study->losses.several = study->of.n > 1;
    study->losses.uneven = pl_path_base_shared(whole) || whole->slow_service_ns > PL_VARIES * ns_a_byte;
    int result = study_losses(study, tables, &policer);
    if (result == 0) {
        find_in_a_row(&study->losses, &policer);
        find_head_drops(&study->losses, &policer);
        find_policer(study, &policer);
        doubt_chance(&study->losses);
    }
    pl_policer_free(&policer);
    return result;
}

void pl_study_free(struct pl_study *study)
{
    pl_loss_study_free(&study->losses);
}
