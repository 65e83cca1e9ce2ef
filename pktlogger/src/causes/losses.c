/* Implements losses.h. */
#include "losses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tally.h"

#define MS INT64_C(1000000)
#define WAITED_NS 20000     /* a part this much later than the quickest has waited in a queue */
#define OUTAGE_NS (10 * MS) /* a queue that is served lets a part in within this time */
#define OUTAGE_PARTS 3
#define SURPRISING 2.5 /* standard deviations */

/* In place of the box's fate: the part left the box, with a wrong checksum; it arrived, and the capture missed it. */
enum { FATE_CORRUPTED = PL_NO_FATE - 1, FATE_UNSEEN = PL_NO_FATE - 2 };

/* clang-format off */
static const char *const names[PL_LOSS_N][2] = {
    [PL_LOSS_TAIL_DROP] = {"tail_drop", "a full queue"},
    [PL_LOSS_AQM] = {"aqm", "active queue management"},
    [PL_LOSS_BEFORE] = {"random_before", "chance, before the bottleneck"},
    [PL_LOSS_BEHIND] = {"random_behind", "chance, behind the bottleneck"},
    [PL_LOSS_ANYWHERE] = {"random", "chance, on one side of the bottleneck or the other"},
    [PL_LOSS_OUTAGE] = {"outage", "an outage"},
    [PL_LOSS_EMULATOR] = {"emulator", "the delay box itself"},
    [PL_LOSS_CORRUPTED] = {"corrupted", "corruption on the way"},
    [PL_LOSS_CAPTURE] = {"capture_loss", "the receiver's capture alone, for they were acknowledged"},
    [PL_LOSS_RECEIVER] = {"receiver", "a full buffer in the receiver"},
};
/* clang-format on */

const char *pl_loss_name(enum pl_loss_cause cause)
{
    return names[cause][0];
}

const char *pl_loss_words(enum pl_loss_cause cause)
{
    return names[cause][1];
}

static int64_t longest_queue(const struct pl_transfer *t)
{
    return t->min_delay_ns >= 0 ? t->max_delay_ns - t->min_delay_ns : 0;
}

/* A queue this long counts as full. */
static int64_t full_queue(const struct pl_transfer *t)
{
    int64_t longest_ns = longest_queue(t), less_ns = longest_ns / 16 > MS / 4 ? longest_ns / 16 : MS / 4;
    return longest_ns - less_ns > MS ? longest_ns - less_ns : MS;
}

/* Chance takes parts whatever queue they meet: the share of parts that met at least the queue of the lost one is then
 * even between 0 and 1, and the sum of its negative logarithm over n losses has mean n and variance n. Queue management
 * takes them where the queue is long. Full queues do not count on either side. */
static bool is_managed(const struct pl_transfer *t)
{
    unsigned full = pl_queue_bin(full_queue(t));
    double all = 0, longer = 0, surprise = 0;
    uint64_t lost = 0, lost_full = 0;
    for (unsigned bin = 0; bin < full; bin++)
        all += t->part_queues[bin];
    for (unsigned bin = PL_QUEUE_BINS; bin-- > full;)
        lost_full += t->loss_queues[bin];
    for (unsigned bin = full; bin-- > 0 && all > 0; longer += t->part_queues[bin]) {
        double share = (longer + t->part_queues[bin] / 2.0 + 0.5) / (all + 1);
        lost += t->loss_queues[bin];
        surprise -= (double)t->loss_queues[bin] * log(share);
    }
    return lost > 0 && lost_full * 3 <= lost && surprise > (double)lost + SURPRISING * sqrt((double)lost);
}

void pl_loss_causes_begin(struct pl_loss_causes *c, const struct pl_transfer *t, pl_loss_sink *sink, void *context)
{
    *c = (struct pl_loss_causes){.t = t, .sink = sink, .context = context, .managed = is_managed(t)};
}

static int64_t waited(const struct pl_loss_causes *c, const struct pl_segment *segment)
{
    return segment->len && segment->t_received_ns >= 0 ? segment->delay_ns - c->t->min_delay_ns : -1;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* How long the bottleneck takes for a byte: the median of the last distances. 0: not known. */
static double service(const struct pl_loss_causes *c)
{
    double sorted[PL_SERVICES];
    unsigned n = c->service_n < PL_SERVICES ? c->service_n : PL_SERVICES;
    if (n < 3)
        return 0;
    memcpy(sorted, c->services, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare);
    return sorted[n / 2];
}

/* On which side of the bottleneck the run was lost. A part that waited follows its predecessor at the bottleneck's
 * rate, so a longer distance is the time of what was lost behind. */
static enum pl_loss_cause side(const struct pl_loss_causes *c, const struct pl_segment *next, const struct pl_loss *row)
{
    double part_ns = (double)row->service_ns;
    if (part_ns <= 0 || row->spacing_ns < 0 || waited(c, next) < WAITED_NS)
        return PL_LOSS_ANYWHERE;
    double others = (double)row->spacing_ns / part_ns - 1;
    return others > (double)c->run.n / 2 ? PL_LOSS_BEHIND : PL_LOSS_BEFORE;
}

static enum pl_loss_cause seen_cause(const struct pl_loss_causes *c, const struct pl_segment *next,
                                     const struct pl_loss *row)
{
    int64_t lasted_ns = c->last_lost_ns - c->first_lost_ns;
    if (c->run.n >= OUTAGE_PARTS && lasted_ns >= OUTAGE_NS && lasted_ns > 4 * row->service_ns)
        return PL_LOSS_OUTAGE;
    if (!c->managed && row->queue_ns >= full_queue(c->t))
        return PL_LOSS_TAIL_DROP;
    enum pl_loss_cause place = side(c, next, row);
    return c->managed && place != PL_LOSS_BEHIND ? PL_LOSS_AQM : place;
}

/* The box knows where and why; only the length of an outage shows at the ends alone. */
static enum pl_loss_cause box_cause(const struct pl_loss *row, enum pl_loss_cause seen)
{
    switch (row->cause) {
    case FATE_QUEUE:
    case FATE_PACE:
        return PL_LOSS_TAIL_DROP;
    case FATE_DRAIN:
        return PL_LOSS_RECEIVER;
    case FATE_AQM:
        return PL_LOSS_AQM;
    case FATE_LOSS:
        return seen == PL_LOSS_OUTAGE ? seen : row->spacing_ns > 0 ? PL_LOSS_BEHIND : PL_LOSS_BEFORE;
    case FATE_CORRUPTED:
        return PL_LOSS_CORRUPTED;
    default:
        return pl_box_dropped(row->cause) ? PL_LOSS_EMULATOR : seen;
    }
}

/* `next`: the part that arrived behind the run; len 0: none. A waiting row has the box's fate in `cause`, and in
 * spacing_ns whether it left the bottleneck. */
static void end_run(struct pl_loss_causes *c, const struct pl_segment *next)
{
    int64_t near_ns = c->t->min_rtt_ns > OUTAGE_NS ? c->t->min_rtt_ns : OUTAGE_NS;
    bool before = c->before.len && c->first_lost_ns - c->before.t_sent_ns <= near_ns;
    bool after = next->len && next->t_sent_ns - c->last_lost_ns <= near_ns;
    int64_t queue_ns = before ? waited(c, &c->before) : -1;
    if (after && waited(c, next) > queue_ns)
        queue_ns = waited(c, next);
    for (size_t i = 0; i < c->run.n; i++) {
        struct pl_loss row = c->run.at[i], told = row;
        row.run = (uint32_t)c->run.n;
        row.queue_ns = queue_ns;
        row.service_ns = (int64_t)(service(c) * (row.len + 52.0));
        row.spacing_ns = before && after ? next->t_received_ns - c->before.t_received_ns : -1;
        enum pl_loss_cause seen = told.cause == FATE_UNSEEN ? PL_LOSS_CAPTURE : seen_cause(c, next, &row);
        row.seen_cause = (uint8_t)seen;
        row.cause = (uint8_t)box_cause(&told, seen);
        c->sink(c->context, &row);
    }
    c->run.n = 0;
}

static void note_service(struct pl_loss_causes *c, const struct pl_segment *next)
{
    int64_t ns = next->t_received_ns - c->before.t_received_ns;
    if (c->run.n || !c->before.len || ns <= 0 || waited(c, next) < WAITED_NS ||
        next->seq != c->before.seq + c->before.len)
        return;
    c->services[c->service_n++ % PL_SERVICES] = (double)ns / (next->len + 52.0);
}

int pl_loss_causes_add(struct pl_loss_causes *c, const struct pl_segment *segment)
{
    if (pl_lost(c->t, segment) || segment->unseen) {
        struct pl_loss row = {.flow = c->t->number,
                              .len = segment->len,
                              .seq = segment->seq,
                              .t_sent_ns = segment->t_sent_ns,
                              .spacing_ns = segment->t_box_exit_ns,
                              .cause = pl_corrupted(segment) ? FATE_CORRUPTED
                                       : segment->unseen     ? FATE_UNSEEN
                                                             : segment->box_fate};
        if (c->run.n == PL_LOSS_RUN)
            end_run(c, &(struct pl_segment){.len = 0});
        if (c->run.n == 0)
            c->first_lost_ns = segment->t_sent_ns;
        c->last_lost_ns = segment->t_sent_ns;
        return PL_APPEND(&c->run, row);
    }
    if (segment->t_received_ns < 0)
        return 0;
    note_service(c, segment);
    if (c->run.n)
        end_run(c, segment);
    c->before = *segment;
    return 0;
}

void pl_loss_causes_end(struct pl_loss_causes *c)
{
    if (c->run.n)
        end_run(c, &(struct pl_segment){.len = 0});
    free(c->run.at);
    c->run.at = NULL;
}
