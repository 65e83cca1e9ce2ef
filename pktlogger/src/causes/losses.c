/* Implements losses.h. */
#include "losses.h"

#include <math.h>
#include <stdlib.h>

#include "service.h"
#include "thresholds.h"

/* Fates that the box's record does not have: the part left the box with a wrong checksum; the part arrived, but the
 * capture missed it. */
enum { FATE_CORRUPTED = PL_NO_FATE - 1, FATE_UNSEEN = PL_NO_FATE - 2 };

enum pl_loss_cause pl_loss_possible(enum pl_loss_cause seen, unsigned ruled_out)
{
    const unsigned sides = 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND;
    unsigned possible = seen == PL_LOSS_ANYWHERE ? sides : 1U << seen;
    possible &= ~ruled_out;
    if (possible == 0 || (ruled_out && seen == PL_LOSS_UNKNOWN))
        possible = PL_PATH_CAUSES & ~ruled_out;
    if (possible == sides)
        return PL_LOSS_ANYWHERE;
    return possible && (possible & (possible - 1)) == 0 ? (enum pl_loss_cause)__builtin_ctz(possible) : PL_LOSS_UNKNOWN;
}

/* The cause that the captures show, unless the path cannot have it. No cause is named by elimination. */
static enum pl_loss_cause allowed(enum pl_loss_cause seen, unsigned ruled_out)
{
    const unsigned sides = 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND;
    if (seen == PL_LOSS_ANYWHERE)
        return (ruled_out & sides) == sides ? PL_LOSS_UNKNOWN : pl_loss_possible(seen, ruled_out & sides);
    return ruled_out & 1U << seen ? PL_LOSS_UNKNOWN : seen;
}

/* Bursty random loss shows as runs of several parts that are too short for an outage. */
static void find_bursts(struct pl_loss_causes *c)
{
    const unsigned explained = 1U << PL_LOSS_TAIL_DROP | 1U << PL_LOSS_AQM | 1U << PL_LOSS_POLICER;
    for (size_t i = 0; i < c->study->runs.n; i++) {
        const struct pl_lost_run *run = &c->study->runs.at[i];
        if (!(explained >> run->cause & 1))
            pl_bursts_add(&c->bursts, run->n, run->last_sent_ns - run->first_sent_ns);
    }
}

/* True when a nearby run lost the same octets. Then the contents of the packets decide, not the time. */
static bool same_octets(const struct pl_loss_causes *c, const struct pl_lost_run *run)
{
    size_t at = run ? (size_t)(run - c->study->runs.at) : 0,
           first = at > PL_SAME_OCTETS_RUNS ? at - PL_SAME_OCTETS_RUNS : 0;
    for (size_t i = first; run && i < c->study->runs.n && i <= at + PL_SAME_OCTETS_RUNS; i++) {
        const struct pl_lost_run *other = &c->study->runs.at[i];
        if (other != run && other->n == run->n && run->first_seq != run->last_seq &&
            other->first_flow == run->first_flow && other->first_seq == run->first_seq &&
            other->last_flow == run->last_flow && other->last_seq == run->last_seq)
            return true;
    }
    return false;
}

void pl_loss_causes_begin(struct pl_loss_causes *c, const struct pl_transfer *t, const struct pl_loss_study *study,
                          struct pl_time_spans *down, pl_loss_sink *sink, void *context)
{
    *c = (struct pl_loss_causes){.t = t, .study = study, .down = down, .sink = sink, .context = context};
    find_bursts(c);
}

/* Finds the common silence of all connections that overlaps the run most. Returns NULL if there is none. */
static const struct pl_silence *longest_silence(const struct pl_loss_causes *c)
{
    const struct pl_silences *all = c->t->silent;
    const struct pl_silence *longest = NULL;
    int64_t most_ns = -1;
    for (size_t i = 0; i < all->list.n && all->list.at[i].first_lost_ns <= c->last_lost_ns; i++) {
        const struct pl_silence *silence = &all->list.at[i];
        int64_t from_ns = silence->first_lost_ns > c->first_lost_ns ? silence->first_lost_ns : c->first_lost_ns;
        int64_t until_ns = silence->last_lost_ns < c->last_lost_ns ? silence->last_lost_ns : c->last_lost_ns;
        if (until_ns - from_ns > most_ns) {
            most_ns = until_ns - from_ns;
            longest = silence;
        }
    }
    return longest;
}

/* Finds the time in which nothing passed. If the connection is alone between its hosts, its own run shows it; otherwise
 * all connections between them do, even if each lost little. */
static void find_silence(struct pl_loss_causes *c, const struct pl_lost_run *run, const struct pl_segment *next)
{
    c->silent = (struct pl_time_span){c->first_lost_ns, c->last_lost_ns};
    c->silent_n = c->run.n;
    if (c->t->silent) {
        const struct pl_silence *silence = longest_silence(c);
        c->outage = silence && silence->outage;
        c->silent_n = silence ? silence->lost : 0;
        if (silence)
            c->silent = (struct pl_time_span){silence->first_lost_ns, silence->last_lost_ns};
        return;
    }
    int64_t from_ns = c->before.len ? c->before.t_sent_ns : c->first_lost_ns;
    c->both_ways = run && run->both_ways;
    c->outage =
        c->both_ways ||
        (c->silent_n >= PL_OUTAGE_PARTS && c->silent.t1_ns > c->silent.t0_ns &&
         !pl_bursts_make(&c->bursts, c->silent_n) &&
         (!next->len || pl_outage_shows(c->silent_n, c->silent.t1_ns - c->silent.t0_ns, next->t_sent_ns - from_ns)));
}

/* The rest of the queue when a part was sent, if nothing had been admitted during the whole run. */
static double left_ns(const struct pl_loss_causes *c, const struct pl_lost_run *run, int64_t t_sent_ns)
{
    if (c->study->several)
        return run ? run->left_ns - (double)(t_sent_ns - run->first_sent_ns) : -INFINITY;
    return (double)(pl_settled_ns(c->t, &c->before) - t_sent_ns) - c->study->base_ns;
}

/* The one-way delay of a part that arrived. */
static int64_t way_ns(const struct pl_loss_causes *c, const struct pl_segment *part)
{
    return pl_settled_ns(c->t, part) - part->t_sent_ns;
}

/* True when the queue drained during the run: by most of the run's time, the next part's queue was shorter than the
 * previous part's. A queue that drops because it is full stays full. */
static bool drained(const struct pl_loss_causes *c, const struct pl_segment *next, double lasted_ns)
{
    return c->before.len && next->len &&
           (double)(way_ns(c, &c->before) - way_ns(c, next)) > PL_OUTAGE_DRAINED * lasted_ns;
}

/* True when nothing was admitted for so long that only an outage explains it: longer than the longest queue takes to
 * drain, or long enough to drain it by half, or while a full queue drained. A full queue that is being served admits
 * parts much earlier. */
static bool went_on(const struct pl_loss_causes *c, const struct pl_lost_run *run, const struct pl_segment *next,
                    const struct pl_loss *row)
{
    double late_ns = PL_OUTAGE_LATE * c->study->late_ns, services_ns = PL_OUTAGE_SERVICES * (double)row->service_ns;
    double lasted_ns = (double)(c->silent.t1_ns - c->silent.t0_ns) - late_ns;
    if (c->both_ways)
        return lasted_ns + late_ns > services_ns;
    if (!c->outage || same_octets(c, run) || lasted_ns < PL_OUTAGE_NS || lasted_ns <= services_ns)
        return false;
    if (c->t->silent || lasted_ns > c->study->longest_ns ||
        (run && run->full && !c->study->managed && drained(c, next, lasted_ns)))
        return true;
    return c->study->drains_show && c->before.len &&
           left_ns(c, run, c->silent.t1_ns) + late_ns + services_ns < PL_OUTAGE_LEFT * c->study->longest_ns;
}

/* The cause that the captures show. Queue management may go on dropping until the queue is empty, and for as long
 * again: RED's average queue lags behind. */
static enum pl_loss_cause seen_cause(const struct pl_loss_causes *c, const struct pl_lost_run *run,
                                     const struct pl_segment *next, const struct pl_loss *row)
{
    enum pl_loss_cause cause = run && row->queue_ns >= 0 ? (enum pl_loss_cause)run->cause : PL_LOSS_UNKNOWN;
    bool silent = row->t_sent_ns >= c->silent.t0_ns && row->t_sent_ns <= c->silent.t1_ns;
    if (cause == PL_LOSS_POLICER || !silent || !went_on(c, run, next, row) || c->t->ruled_out & 1U << PL_LOSS_OUTAGE)
        return cause;
    if (c->study->managed && !c->both_ways)
        return c->study->drains_show && left_ns(c, run, c->last_lost_ns) > -c->study->longest_ns ? PL_LOSS_AQM
                                                                                                 : PL_LOSS_UNKNOWN;
    bool full_still = left_ns(c, run, row->t_sent_ns) + c->study->alike_ns >= c->study->longest_ns;
    return cause == PL_LOSS_TAIL_DROP && full_still ? PL_LOSS_TAIL_DROP : PL_LOSS_OUTAGE;
}

/* The cause by the box's record, which has the place and reason of each drop. Only records of earlier versions of the
 * box lack outages; there the captures decide. They also decide if the record lacks the part, because it never reached
 * the box: for example, a router refused it for its length. */
static enum pl_loss_cause box_cause(const struct pl_loss *row, enum pl_loss_cause seen, const struct pl_transfer *t)
{
    switch (row->cause) {
    case FATE_QUEUE:
    case FATE_PACE:
        return PL_LOSS_TAIL_DROP;
    case FATE_DRAIN:
        return PL_LOSS_RECEIVER;
    case FATE_AQM:
        return PL_LOSS_AQM;
    case FATE_POLICER:
        return PL_LOSS_POLICER;
    case FATE_LOSS:
        if (seen == PL_LOSS_OUTAGE && !(t->box && t->box->tells_outages))
            return seen;
        return row->spacing_ns > 0 ? PL_LOSS_BEHIND : PL_LOSS_BEFORE;
    case FATE_OUTAGE:
        return PL_LOSS_OUTAGE;
    case FATE_CORRUPTED:
        return PL_LOSS_CORRUPTED;
    default:
        return pl_box_dropped(row->cause) ? PL_LOSS_EMULATOR : t->box ? seen : pl_loss_possible(seen, t->ruled_out);
    }
}

/* How long a part waited in the box's queue, by its record. -1: the record does not say, or there may be queues
 * elsewhere. */
static int64_t box_queue_ns(const struct pl_loss_causes *c, const struct pl_segment *part)
{
    const struct pl_line *line = c->t->line;
    bool known = pl_line_known(line) && !line->in_front && !pl_line_queues_behind(line);
    if (!known || !part->len || part->t_box_in_ns < 0 || part->t_box_exit_ns < 0)
        return -1;
    double own_ns = pl_line_packet_ns(line, part->t_sent_ns, part->len + pl_transfer_headers(c->t));
    int64_t wait_ns = part->t_box_exit_ns - part->t_box_in_ns - (int64_t)own_ns;
    return wait_ns > 0 ? wait_ns : 0;
}

/* The queue that a run met. By the box's record it is the longer of the queues of the parts before and after the run;
 * without a record, `seen_ns`. */
static int64_t queue_beside_ns(const struct pl_loss_causes *c, const struct pl_segment *before,
                               const struct pl_segment *next, int64_t seen_ns)
{
    int64_t before_ns = box_queue_ns(c, before), next_ns = box_queue_ns(c, next);
    int64_t longer_ns = before_ns > next_ns ? before_ns : next_ns;
    return longer_ns >= 0 ? longer_ns : seen_ns;
}

/* The run of the study to which a waiting row belongs; NULL: none. */
static const struct pl_lost_run *studied_run(const struct pl_loss_causes *c, const struct pl_loss *row)
{
    return row->run == PL_NO_LOST_RUN ? NULL : &c->study->runs.at[row->run];
}

/* Whether a part arrived near the run: of the transfer itself, or of any that shares the queue. */
static bool has_near(const struct pl_loss_causes *c, const struct pl_lost_run *run, bool own, int64_t near_ns)
{
    if (!c->study->several)
        return own;
    return (run->before_sent_ns != INT64_MIN && run->first_sent_ns - run->before_sent_ns <= near_ns) ||
           (run->next_sent_ns != INT64_MAX && run->next_sent_ns - run->last_sent_ns <= near_ns);
}

/* Reports the parts lost before `next` arrived (len 0: nothing arrived). In the rows kept until now, `cause` holds the
 * box's fate, `run` the number of the study's run, and spacing_ns the time when the part left the bottleneck. */
static int end_run(struct pl_loss_causes *c, const struct pl_segment *next)
{
    for (size_t i = 0; !c->near && i < c->run.n; i++)
        c->near = studied_run(c, &c->run.at[i]);
    int64_t rtt_ns = pl_transfer_rtt_ns(c->t, c->first_lost_ns);
    int64_t near_ns = rtt_ns > PL_OUTAGE_NS ? rtt_ns : PL_OUTAGE_NS;
    bool before = c->before.len && c->first_lost_ns - c->before.t_sent_ns <= near_ns;
    bool after = next->len && next->t_sent_ns - c->last_lost_ns <= near_ns;
    int64_t down_ns = -1, last_ns = -1;
    static const struct pl_segment none = {.len = 0};
    find_silence(c, c->near, next);
    for (size_t i = 0; i < c->run.n; i++) {
        struct pl_loss row = c->run.at[i], told = row;
        const struct pl_lost_run *own = studied_run(c, &row), *run = own || c->study->several ? own : c->near;
        bool known = run && has_near(c, run, before || after, near_ns);
        row.run = (uint32_t)c->run.n;
        row.queue_ns = known ? (run->queue_ns > 0 ? (int64_t)run->queue_ns : 0) : -1;
        row.service_ns = (int64_t)(c->study->service * (row.len + PL_HEADERS));
        row.spacing_ns = before && after ? pl_settled_ns(c->t, next) - pl_settled_ns(c->t, &c->before) : -1;
        enum pl_loss_cause seen = told.cause == FATE_UNSEEN       ? PL_LOSS_CAPTURE
                                  : c->t->ends == PL_SENDER_ALONE ? PL_LOSS_UNKNOWN
                                                                  : seen_cause(c, run, next, &row);
        seen = allowed(seen, c->t->ruled_out);
        row.seen_cause = (uint8_t)seen;
        row.cause = (uint8_t)box_cause(&told, seen, c->t);
        row.queue_ns = queue_beside_ns(c, before ? &c->before : &none, after ? next : &none, row.queue_ns);
        down_ns = down_ns < 0 && row.cause == PL_LOSS_OUTAGE ? row.t_sent_ns : down_ns;
        last_ns = row.cause == PL_LOSS_OUTAGE ? row.t_sent_ns : last_ns;
        c->sink(c->context, &row);
    }
    c->run.n = 0;
    static const int64_t at_once[2] = {0, 0};
    return down_ns < 0
               ? 0
               : pl_down_add(c->down, &c->t->outages, down_ns, last_ns, before && down_ns == c->first_lost_ns, at_once);
}

int pl_loss_causes_add(struct pl_loss_causes *c, const struct pl_segment *segment)
{
    bool lost = pl_lost(c->t, segment);
    if (lost || (segment->unseen && c->t->ends == PL_BOTH_ENDS)) {
        struct pl_loss row = {.flow = c->t->number,
                              .run = lost ? c->t->lost_runs.at[c->lost++] : PL_NO_LOST_RUN,
                              .len = segment->len,
                              .seq = segment->seq,
                              .t_sent_ns = segment->t_sent_ns,
                              .spacing_ns = segment->t_box_exit_ns,
                              .cause = pl_corrupted(segment) ? FATE_CORRUPTED
                                       : segment->unseen     ? FATE_UNSEEN
                                                             : segment->box_fate};
        if (c->run.n == PL_LOSS_RUN && end_run(c, &(struct pl_segment){.len = 0}) < 0)
            return -1;
        if (c->run.n == 0)
            c->first_lost_ns = segment->t_sent_ns;
        c->last_lost_ns = segment->t_sent_ns;
        return PL_APPEND(&c->run, row);
    }
    if (segment->t_received_ns < 0)
        return 0;
    if (c->run.n && end_run(c, segment) < 0)
        return -1;
    c->before = *segment;
    c->near = NULL;
    return 0;
}

int pl_loss_causes_end(struct pl_loss_causes *c)
{
    int result = c->run.n ? end_run(c, &(struct pl_segment){.len = 0}) : 0;
    free(c->run.at);
    c->run.at = NULL;
    return result;
}
