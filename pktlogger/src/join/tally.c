/* Implements tally.h. */
#include "tally.h"

#include "sort.h"

/* The first delays are kept exactly. When there are many, a histogram replaces them, with 256 bins for each power of
 * two: its error is at most 0.4 % of a delay. */
enum { EXACT_MAX = 4096, BIN_BITS = 8, BINS = (65 - BIN_BITS) << BIN_BITS };

static void note_rtt(struct pl_transfer *t, int64_t rtt_ns)
{
    if (rtt_ns < 0)
        return;
    if (t->min_rtt_ns < 0 || rtt_ns < t->min_rtt_ns)
        t->min_rtt_ns = rtt_ns;
    if (rtt_ns > t->max_rtt_ns)
        t->max_rtt_ns = rtt_ns;
}

void pl_tally_begin(struct pl_tally *tally, struct pl_transfer *transfer)
{
    *tally = (struct pl_tally){.t = transfer, .trips = pl_round_trips_begin(transfer->flow)};
    transfer->min_rtt_ns = transfer->max_rtt_ns = transfer->min_delay_ns = transfer->max_delay_ns = -1;
}

int pl_tally_packet(struct pl_tally *tally, const struct pl_row *row)
{
    struct pl_round_trip trip;
    if (pl_round_trips_packet(&tally->trips, row, tally->t->dir, &trip) < 0)
        return -1;
    note_rtt(tally->t, trip.ns);
    if (trip.answer && row->t_ns > tally->last_answer_ns)
        tally->last_answer_ns = row->t_ns;
    return 0;
}

static uint32_t bin_of(uint64_t value)
{
    if (value < 1u << BIN_BITS)
        return (uint32_t)value;
    unsigned shift = 63 - BIN_BITS - (unsigned)__builtin_clzll(value);
    return ((shift + 1) << BIN_BITS) + (uint32_t)(value >> shift) - (1u << BIN_BITS);
}

static int64_t value_of(uint32_t bin)
{
    if (bin < 1u << BIN_BITS)
        return bin;
    unsigned shift = (bin >> BIN_BITS) - 1;
    return (int64_t)(((uint64_t)(bin & ((1u << BIN_BITS) - 1)) + (1u << BIN_BITS)) << shift);
}

static int note_delay(struct pl_tally *tally, int64_t delay_ns)
{
    struct pl_transfer *t = tally->t;
    if (t->min_delay_ns < 0 || delay_ns < t->min_delay_ns)
        t->min_delay_ns = delay_ns;
    if (delay_ns > t->max_delay_ns)
        t->max_delay_ns = delay_ns;
    tally->delay_n++;
    if (tally->histogram) {
        tally->histogram[bin_of((uint64_t)delay_ns)]++;
        return 0;
    }
    if (PL_APPEND(&tally->delays, delay_ns) < 0)
        return -1;
    if (tally->delays.n < EXACT_MAX)
        return 0;
    tally->histogram = calloc(BINS, sizeof *tally->histogram);
    for (size_t i = 0; tally->histogram && i < tally->delays.n; i++)
        tally->histogram[bin_of((uint64_t)tally->delays.at[i])]++;
    return tally->histogram ? 0 : -1;
}

int pl_tally_segment(struct pl_tally *tally, const struct pl_segment *segment)
{
    struct pl_transfer *t = tally->t;
    if (!t->segments++)
        t->first_ns = segment->t_sent_ns;
    if (segment->t_sent_ns >
        tally->last_sent_ns) /* a packet that is out of order in the file does not set the end of the transfer back */
        tally->last_sent_ns = segment->t_sent_ns;
    if (segment->seq + segment->len > t->data_end)
        t->data_end = segment->seq + segment->len;
    if (segment->ecn_received == NC_CE) {
        t->marks.ce_received++;
        t->marks.ce_received_bytes += segment->len;
    }
    bool arrived = segment->t_received_ns >= 0;
    int64_t delay_ns = t->ends == PL_BOTH_ENDS ? segment->delay_ns : segment->rtt_ns;
    t->not_arrived += !arrived;
    if (segment->unseen && segment->t_sent_ns > tally->last_shown_ns)
        tally->last_shown_ns = segment->t_sent_ns;
    if (delay_ns < 0)
        return 0;
    if (segment->sent_once && delay_ns > t->certain_delay_ns)
        t->certain_delay_ns = delay_ns;
    if (arrived && pl_order_add(&tally->order, segment->t_sent_ns, segment->t_received_ns) < 0)
        return -1;
    return note_delay(tally, delay_ns);
}

static int compare_i64(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static int64_t nth(const struct pl_tally *tally, uint64_t rank)
{
    uint64_t below = 0;
    if (!tally->histogram)
        return tally->delays.at[rank];
    uint32_t bin = 0;
    while (bin < BINS - 1 && (below += tally->histogram[bin]) <= rank)
        bin++;
    return value_of(bin);
}

/* The 95th percentile of the delays stands for a path with a long queue, and the 5th for a path without a queue.
 * Rejected: the largest and the smallest delay, because one late wake-up of the machine would determine them. */
static int find_percentiles(struct pl_tally *tally, int64_t *long_ns)
{
    if (!tally->histogram && pl_sort(tally->delays.at, tally->delays.n, sizeof *tally->delays.at, compare_i64) < 0)
        return -1;
    *long_ns = nth(tally, tally->delay_n - 1 - tally->delay_n / 20);
    tally->t->low_delay_ns = nth(tally, tally->delay_n / 20);
    return 0;
}

int pl_tally_end(struct pl_tally *tally)
{
    struct pl_transfer *t = tally->t;
    if (t->segments)
        t->last_ns = tally->last_answer_ns > tally->last_sent_ns ? tally->last_answer_ns : tally->last_sent_ns;
    int64_t delay_ns = t->min_delay_ns;
    t->lost_at_most = t->ends == PL_SENDER_ALONE && !tally->trips.sack && t->not_arrived;
    int64_t shown_ns = tally->last_shown_ns + pl_under_way_ns(t);
    if (t->ends != PL_BOTH_ENDS && shown_ns < t->receiver_last_ns) /* parts sent later may still be under way */
        t->receiver_last_ns = shown_ns;
    pl_order_end(&tally->order);
    t->reordered = tally->order.reordered;
    t->overtaken_sum = tally->order.extent_sum;
    t->overtaken_max = tally->order.extent_max;
    t->reordered_late_ns = tally->order.late_max_ns;
    if (tally->delay_n && find_percentiles(tally, &delay_ns) < 0)
        return -1;
    t->typical_queue_ns = delay_ns > t->min_delay_ns ? delay_ns - t->min_delay_ns : 0;
    return 0;
}

void pl_tally_free(struct pl_tally *tally)
{
    pl_order_end(&tally->order);
    pl_round_trips_free(&tally->trips);
    free(tally->delays.at);
    free(tally->histogram);
}
