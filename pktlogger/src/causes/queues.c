/* Implements queues.h. */
#include "queues.h"

#include <math.h>
#include <stdlib.h>

#include "thresholds.h"

enum { AROUND = PL_QUEUES_AROUND };

/* fmin and fmax are function calls, because of NaN, and took a fifteenth of the analysis. */
static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static struct pl_queue_part *part(struct pl_queues *q, uint64_t number)
{
    return &q->parts[number % PL_QUEUES_RING];
}

struct pl_queues *pl_queues_new(double service, pl_queue_sink *sink, void *context)
{
    struct pl_queues *q = calloc(1, sizeof *q);
    if (q) {
        q->service = service;
        q->sink = sink;
        q->context = context;
    }
    return q;
}

/* When byte 0 would have left the bottleneck, judged by this arrival. */
static double origin(struct pl_queues *q, uint64_t number)
{
    return part(q, number)->received_ns - PL_QUEUE_SLACK * q->service * part(q, number)->bytes;
}

static uint64_t before(uint64_t place, uint64_t by)
{
    return place > by ? place - by : 0;
}

/* How much later the parts after a place arrived than their time at the bottleneck explains. Of the parts on each side,
 * the one with the least late time stamp counts. */
double pl_queues_gap_ns(struct pl_queues *q, uint64_t place)
{
    if (place < AROUND || place + AROUND > q->n)
        return 0;
    double end_ns = INFINITY, begin_ns = INFINITY, middle = part(q, place - 1)->bytes;
    for (uint64_t i = place - AROUND; i < place; i++)
        end_ns = lesser(end_ns, part(q, i)->received_ns + q->service * (middle - part(q, i)->bytes));
    for (uint64_t i = place; i < place + AROUND; i++)
        begin_ns = lesser(begin_ns, part(q, i)->received_ns + q->service * (middle - part(q, i)->bytes));
    return begin_ns - end_ns;
}

/* The corrected time of an arrival. */
static int64_t arrived_ns(struct pl_queues *q, uint64_t number)
{
    return q->begin_ns + (int64_t)(part(q, number)->sent_ns + part(q, number)->delay_ns);
}

static int tell(struct pl_queues *q)
{
    uint64_t place = q->told++, behind = place + AROUND < q->placed ? place + AROUND : q->placed - 1;
    struct pl_queue_place found = {
        .place = place,
        .before_ns = place ? arrived_ns(q, place - 1) : INT64_MIN,
        .delay_ns = part(q, place)->longest_ns,
        .shortfall_ns = place < q->n ? part(q, place)->longest_ns - part(q, place)->delay_ns : -1,
        .moved_ns = place < q->n ? part(q, place)->moved_ns : -1,
        .gap_known = q->service > 0 && place >= AROUND && place + AROUND <= q->n,
    };
    found.steady_ns =
        lesser(found.delay_ns, lesser(part(q, before(place, AROUND))->longest_ns, part(q, behind)->longest_ns));
    return q->sink(q->context, &found);
}

/* `corrected` arrivals have their delays. */
static int find_place(struct pl_queues *q)
{
    uint64_t place = q->placed++, end = place + AROUND < q->corrected ? place + AROUND : q->corrected;
    double longest_ns = -INFINITY;
    if (place >= AROUND && end == place + AROUND)
        longest_ns = larger(part(q, place - AROUND)->longest_of_8, part(q, place)->longest_of_8);
    else
        for (uint64_t i = before(place, AROUND); i < end; i++)
            longest_ns = larger(longest_ns, part(q, i)->delay_ns);
    part(q, place)->longest_ns = longest_ns;
    return place >= AROUND ? tell(q) : 0;
}

/* Stores the longest of the last 2, 4 and 8 delays, each at the first arrival of these. */
static void note_longest(struct pl_queues *q, uint64_t number)
{
    _Static_assert(AROUND == 8, "the longest delay around a place is that of twice 8");
    if (number >= 1)
        part(q, number - 1)->longest_of_2 = larger(part(q, number - 1)->delay_ns, part(q, number)->delay_ns);
    if (number >= 3)
        part(q, number - 3)->longest_of_4 =
            larger(part(q, number - 3)->longest_of_2, part(q, number - 1)->longest_of_2);
    if (number >= 7)
        part(q, number - 7)->longest_of_8 =
            larger(part(q, number - 7)->longest_of_4, part(q, number - 3)->longest_of_4);
}

static int correct(struct pl_queues *q)
{
    uint64_t number = q->corrected++;
    while (q->least[q->first % PL_QUEUES_RING] < number)
        q->first++;
    double earliest_ns =
        origin(q, q->least[q->first % PL_QUEUES_RING]) + PL_QUEUE_SLACK * q->service * part(q, number)->bytes;
    double corrected_ns = q->service > 0 ? earliest_ns : part(q, number)->received_ns;
    part(q, number)->delay_ns = corrected_ns - part(q, number)->sent_ns;
    part(q, number)->moved_ns = part(q, number)->received_ns - corrected_ns;
    note_longest(q, number);
    return q->corrected >= AROUND ? find_place(q) : 0;
}

int pl_queues_add(struct pl_queues *q, int64_t t_sent_ns, int64_t t_received_ns, uint32_t bytes)
{
    if (q->n == 0)
        q->begin_ns = t_sent_ns;
    q->bytes += bytes;
    *part(q, q->n) = (struct pl_queue_part){
        .sent_ns = (double)(t_sent_ns - q->begin_ns),
        .received_ns = (double)(t_received_ns - q->begin_ns),
        .bytes = q->bytes,
    };
    while (q->last > q->first && origin(q, q->least[(q->last - 1) % PL_QUEUES_RING]) >= origin(q, q->n))
        q->last--;
    q->least[q->last++ % PL_QUEUES_RING] = q->n++;
    return q->n - q->corrected > PL_QUEUES_AHEAD ? correct(q) : 0;
}

int pl_queues_end(struct pl_queues *q)
{
    int result = 0;
    while (result == 0 && q->corrected < q->n)
        result = correct(q);
    while (result == 0 && q->n && q->placed <= q->n)
        result = find_place(q);
    while (result == 0 && q->told < q->placed)
        result = tell(q);
    return result;
}
