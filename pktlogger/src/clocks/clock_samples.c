/* Implements clock_samples.h. */
#include "clock_samples.h"

#include <stdlib.h>
#include <string.h>

#include "sort.h"

enum { PARTS_MAX = 1024 };

static uint64_t mix(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Spreads the hash over all bits, in particular the lowest ones. */
static uint64_t finish(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint32_t raw(const struct pl_side *side, uint64_t number)
{
    return side->base + (uint32_t)number;
}

/* Drops half of the samples. */
static void thin_out(struct pl_clock_samples *samples)
{
    size_t kept = 0;
    samples->mask = samples->mask << 1 | 1;
    for (size_t i = 0; i < samples->list.n; i++)
        if (!(samples->list.at[i].key & samples->mask))
            samples->list.at[kept++] = samples->list.at[i];
    samples->list.n = kept;
}

static int keep(struct pl_clock_samples *samples, const struct pl_row *row, uint64_t key, uint32_t part, uint32_t len)
{
    if (key & samples->mask)
        return 0;
    struct pl_clock_sample sample = {
        .key = key,
        .frame = row->frame,
        .t_ns = row->t_ns,
        .flow = row->flow,
        .size = pl_clock_size(len, row->options),
        .id = row->ip_id ? (uint16_t)(row->ip_id + part) : 0,
        .dir = row->dir,
    };
    if (PL_APPEND(&samples->list, sample) < 0)
        return -1;
    if (samples->list.n >= PL_CLOCK_SAMPLES)
        thin_out(samples);
    return 0;
}

static int add_data(struct pl_clock_samples *samples, const struct pl_row *row, const struct pl_flow *flow)
{
    uint32_t step = row->part_len ? row->part_len : row->len;
    uint32_t first = raw(&flow->side[row->dir], row->seq);
    if (!step || row->len / step >= PARTS_MAX)
        return 0;
    for (uint32_t part = 0; (uint64_t)part * step < row->len; part++) {
        uint64_t number = (uint64_t)(first + part * step) << 32 | row->tsval;
        uint32_t left = row->len - part * step;
        if (keep(samples, row, finish(mix(1, number)), part, left < step ? left : step) < 0)
            return -1;
    }
    return 0;
}

int pl_clock_samples_add(struct pl_clock_samples *samples, const struct pl_row *row, const struct pl_flow *flow)
{
    const struct pl_side *side = &flow->side[row->dir], *peer = &flow->side[!row->dir];
    samples->fine = samples->fine || row->t_ns % 1000;
    if (row->len)
        return add_data(samples, row, flow);
    uint64_t hash = mix(2, (uint64_t)raw(side, row->seq) << 32 | row->tsval);
    if (row->ack != PL_NO_ACK)
        hash = mix(hash + 3, (uint64_t)raw(peer, row->ack) << 32 | row->tsecr);
    hash = mix(hash + 4, row->flags & (NC_TCP_SYN | NC_TCP_FIN | NC_TCP_RST | NC_TCP_ACK));
    for (unsigned i = 0; i < row->sack_n; i++)
        hash = mix(hash + 5, (uint64_t)raw(peer, row->sack_left[i]) << 32 | raw(peer, row->sack_right[i]));
    return keep(samples, row, finish(hash), 0, 0);
}

static int by_key(const void *left, const void *right)
{
    const struct pl_clock_sample *a = left, *b = right;
    if (a->flow != b->flow)
        return a->flow < b->flow ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

enum { DIGIT = 11 };

/* Digit number `digit` of the key by which a sample is sorted. The first digits are those of its hash, without the
 * lowest bits; then those of its flow follow. */
static inline size_t digit_of(const struct pl_clock_sample *sample, unsigned digit)
{
    uint64_t key = sample->key >> (64 - 3 * DIGIT), flow = sample->flow;
    return (digit < 3 ? key >> digit * DIGIT : flow >> (digit - 3) * DIGIT) & ((1 << DIGIT) - 1);
}

/* Sorts by digits, which suits random keys. by_key decides the order of the few samples that are still equal. Returns
 * 0, or -1 without memory. */
static int sort(struct pl_clock_samples *samples)
{
    size_t n = samples->list.n;
    struct pl_clock_sample *from = samples->list.at, *spare = malloc((n + 1) * sizeof *spare), *to = spare;
    for (unsigned digit = 0; spare && digit < 6; digit++) {
        size_t places[1 << DIGIT] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++)
            places[digit_of(&from[i], digit)]++;
        if (n && places[digit_of(&from[0], digit)] == n)
            continue; /* all samples have the same digit */
        for (size_t d = 0; d < sizeof places / sizeof *places; d++) {
            size_t count = places[d];
            places[d] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++)
            to[places[digit_of(&from[i], digit)]++] = from[i];
        struct pl_clock_sample *sorted = to;
        to = from;
        from = sorted;
    }
    if (spare && n && from != samples->list.at)
        memcpy(samples->list.at, from, n * sizeof *from);
    free(spare);
    return spare ? pl_sort(samples->list.at, n, sizeof *samples->list.at, by_key) : -1;
}

/* Gives the samples the common numbers of the flows that are in both captures, and their direction: away from the first
 * capture's machine, or to it. Sorts them. */
static int translate(struct pl_clock_samples *samples, const struct pl_clock_flow *flows, uint64_t mask)
{
    size_t kept = 0;
    for (size_t i = 0; i < samples->list.n; i++) {
        struct pl_clock_sample sample = samples->list.at[i];
        const struct pl_clock_flow *flow = &flows[sample.flow];
        if (flow->number == UINT32_MAX || sample.key & mask)
            continue;
        sample.dir = sample.dir != flow->away;
        sample.flow = flow->number;
        sample.id = flow->ids ? sample.id : 0;
        samples->list.at[kept++] = sample;
    }
    samples->list.n = kept;
    return sort(samples);
}

/* The number of samples from i on that look the same. */
static size_t equal(const struct pl_clock_samples *samples, size_t i)
{
    size_t n = 1;
    while (i + n < samples->list.n && by_key(&samples->list.at[i], &samples->list.at[i + n]) == 0)
        n++;
    return n;
}

static int pair(const struct pl_clock_sample *first, const struct pl_clock_sample *second, pl_clock_points *points)
{
    int64_t later_ns = second->t_ns - first->t_ns;
    struct pl_clock_point point = {
        .t_ns = first->t_ns,
        .difference_ns = first->dir ? -later_ns : later_ns,
        .frames = {first->frame, second->frame},
        .back = first->dir,
        .size = first->size,
    };
    if (first->dir != second->dir || (first->id && second->id && first->id != second->id))
        return 0;
    if (later_ns > PL_CLOCK_APART_NS || later_ns < -PL_CLOCK_APART_NS)
        return 0;
    return PL_APPEND(points, point);
}

int pl_clock_samples_pair(struct pl_clock_samples samples[2], const struct pl_clock_flow *const flows[2],
                          pl_clock_points *points)
{
    uint64_t mask = samples[0].mask | samples[1].mask;
    for (int end = 0; end < 2; end++)
        if (translate(&samples[end], flows[end], mask) < 0)
            return -1;
    for (size_t i = 0, j = 0; i < samples[0].list.n && j < samples[1].list.n;) {
        const struct pl_clock_sample *first = &samples[0].list.at[i], *second = &samples[1].list.at[j];
        int order = by_key(first, second);
        size_t n = order <= 0 ? equal(&samples[0], i) : 0, m = order >= 0 ? equal(&samples[1], j) : 0;
        if (n == 1 && m == 1 && pair(first, second, points) < 0)
            return -1;
        i += n;
        j += m;
    }
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct pl_clock_point *a = left, *b = right;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* The smallest difference of each direction, in sum: the shortest round trip, if the clocks neither drift nor step. */
static int64_t least_trip_ns(const pl_clock_points *points)
{
    int64_t least_ns[2] = {INT64_MAX / 4, INT64_MAX / 4};
    for (size_t i = 0; i < points->n; i++)
        if (points->at[i].difference_ns < least_ns[points->at[i].back])
            least_ns[points->at[i].back] = points->at[i].difference_ns;
    return least_ns[0] + least_ns[1];
}

/* A step of a clock makes one round trip negative or too long, and a drift makes the least one negative. */
int pl_clock_points_sign(pl_clock_points *points)
{
    enum { LEAST = 5, OF_ALL = 10 };
    size_t trips = 0, positive = 0;
    int64_t least_ns = least_trip_ns(points);
    if (least_ns >= 0)
        return least_ns > 0 && least_ns < INT64_MAX / 8;
    qsort(points->at, points->n, sizeof *points->at, by_time);
    for (size_t i = 1; i < points->n; i++) {
        const struct pl_clock_point *before = &points->at[i - 1], *point = &points->at[i];
        trips += before->back != point->back;
        positive += before->back != point->back && before->difference_ns + point->difference_ns >= 0;
    }
    if (trips < LEAST)
        return 0;
    return positive <= trips / OF_ALL ? -1 : trips - positive <= trips / OF_ALL;
}

void pl_clock_samples_free(struct pl_clock_samples *samples)
{
    free(samples->list.at);
    *samples = (struct pl_clock_samples){.fine = false};
}
