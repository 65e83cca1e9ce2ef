/* Implements rates.h. */
#include "rates.h"

#include <stdlib.h>

/* AHEAD_MAX: how many intervals an arrival may be after the sender's time. The limit is necessary because hostile
 * captures may have any times. WORD: bits of a word. */
enum { AHEAD_MAX = 1 << 16, WORD = 64 };

/* The intervals of one time scale that are not yet written, from number `base` on. Interval n is at[n % room]. Bit n %
 * room of `used` is set if something happened in it, so that skipping many empty intervals takes room / WORD steps.
 * `room` is 0 or a power of two from WORD to AHEAD_MAX. */
struct scale {
    int64_t ns;
    uint64_t base, room;
    struct pl_rate *at;
    uint64_t *used;
};

struct pl_rates {
    struct pl_transfer *t;
    struct pl_tables *tables;
    struct scale scales[PL_SCALES_MAX];
    int64_t start_ns, last_send_ns, last_ns; /* last_ns: of anything */
    bool started;
    uint32_t burst; /* number of parts in the present burst */
    uint64_t burst_bytes;
};

struct pl_rates *pl_rates_new(struct pl_transfer *transfer, struct pl_tables *tables)
{
    struct pl_rates *rates = calloc(1, sizeof *rates);
    if (!rates)
        return NULL;
    rates->t = transfer;
    rates->tables = tables;
    for (unsigned i = 0; i < transfer->pace->scale_n; i++)
        rates->scales[i].ns = transfer->pace->scales_ns[i];
    return rates;
}

static void sum_up(struct pl_scale_sum *sum, const struct pl_rate *row)
{
    const uint64_t bytes[2] = {row->sent_bytes, row->received_bytes};
    for (int i = 0; i < 2; i++) {
        sum->squares[i] += (double)bytes[i] * (double)bytes[i];
        sum->bytes[i] += bytes[i];
        if (bytes[i] > sum->most[i])
            sum->most[i] = bytes[i];
    }
}

static uint64_t bit_of(uint64_t n)
{
    return UINT64_C(1) << n % WORD;
}

/* The number of the first used interval from `n` on and below `end`; `end` if there is none. */
static uint64_t next_used(const struct scale *scale, uint64_t n, uint64_t end)
{
    while (n < end) {
        uint64_t bits = scale->used[n % scale->room / WORD] >> n % WORD;
        if (bits) {
            n += (uint64_t)__builtin_ctzll(bits);
            return n < end ? n : end;
        }
        n += WORD - n % WORD;
    }
    return end;
}

/* Writes the intervals before number `end`. */
static void write_until(struct pl_rates *rates, unsigned number, uint64_t end)
{
    struct scale *scale = &rates->scales[number];
    uint64_t open = end < scale->base + scale->room ? end : scale->base + scale->room;
    for (uint64_t n = scale->base; (n = next_used(scale, n, open)) < open; n++) {
        const struct pl_rate *row = &scale->at[n % scale->room];
        sum_up(&rates->t->scales[number], row);
        pl_tables_put_rate(rates->tables, row);
        scale->used[n % scale->room / WORD] &= ~bit_of(n);
    }
    scale->base = end > scale->base ? end : scale->base;
}

/* Makes room for interval `base + ahead`. Returns -1 without memory. */
static int make_room(struct scale *scale, uint64_t ahead)
{
    struct scale wider = *scale;
    uint64_t end = scale->base + scale->room;
    if (ahead < scale->room)
        return 0;
    for (wider.room = WORD; wider.room <= ahead;)
        wider.room *= 2;
    wider.at = malloc(wider.room * sizeof *wider.at);
    wider.used = calloc(wider.room / WORD, sizeof *wider.used);
    if (!wider.at || !wider.used) {
        free(wider.at);
        free(wider.used);
        return -1;
    }
    for (uint64_t n = scale->base; (n = next_used(scale, n, end)) < end; n++) {
        wider.at[n % wider.room] = scale->at[n % scale->room];
        wider.used[n % wider.room / WORD] |= bit_of(n);
    }
    free(scale->at);
    free(scale->used);
    *scale = wider;
    return 0;
}

static uint64_t interval_of(const struct pl_rates *rates, const struct scale *scale, int64_t t_ns)
{
    return t_ns > rates->start_ns ? (uint64_t)(t_ns - rates->start_ns) / (uint64_t)scale->ns : 0;
}

/* Finds the interval of a scale at this time. *row is NULL if the interval is written already or too far ahead. Returns
 * -1 without memory. */
static int row_at(struct pl_rates *rates, unsigned number, int64_t t_ns, struct pl_rate **row)
{
    struct scale *scale = &rates->scales[number];
    uint64_t at = interval_of(rates, scale, t_ns);
    *row = NULL;
    if (at < scale->base || at - scale->base >= AHEAD_MAX)
        return 0;
    if (make_room(scale, at - scale->base) < 0)
        return -1;
    *row = &scale->at[at % scale->room];
    uint64_t *used = &scale->used[at % scale->room / WORD];
    if (!(*used & bit_of(at)))
        **row = (struct pl_rate){.flow = rates->t->number,
                                 .scale_ns = (uint64_t)scale->ns,
                                 .t0_ns = rates->start_ns + (int64_t)(at * (uint64_t)scale->ns),
                                 .rtt_ns = -1};
    *used |= bit_of(at);
    return 0;
}

static void advance(struct pl_rates *rates, int64_t now_ns)
{
    if (now_ns > rates->last_ns)
        rates->last_ns = now_ns;
    for (unsigned i = 0; i < rates->t->pace->scale_n; i++)
        write_until(rates, i, interval_of(rates, &rates->scales[i], now_ns));
}

static void end_burst(struct pl_rates *rates)
{
    struct pl_trains *trains = &rates->t->trains;
    unsigned bin = 0;
    if (rates->burst == 0)
        return;
    while (bin < PL_TRAIN_BINS - 1 && rates->burst >> bin > 1)
        bin++;
    trains->n++;
    trains->parts += rates->burst;
    trains->by_size[bin]++;
    trains->parts_max = rates->burst > trains->parts_max ? rates->burst : trains->parts_max;
    trains->bytes_max = rates->burst_bytes > trains->bytes_max ? rates->burst_bytes : trains->bytes_max;
    rates->burst = 0;
    rates->burst_bytes = 0;
}

static void note_burst(struct pl_rates *rates, const struct pl_rates_send *sent)
{
    if (sent->t_ns - rates->last_send_ns > rates->t->pace->burst_gap_ns)
        end_burst(rates);
    rates->burst += sent->n;
    rates->burst_bytes += sent->bytes;
}

int pl_rates_send(struct pl_rates *rates, const struct pl_rates_send *sent)
{
    if (!rates->started) {
        rates->started = true;
        rates->start_ns = rates->last_send_ns = rates->last_ns = sent->t_ns;
    }
    note_burst(rates, sent);
    rates->last_send_ns = sent->t_ns;
    advance(rates, sent->t_ns);
    for (unsigned i = 0; i < rates->t->pace->scale_n; i++) {
        struct pl_rate *row;
        if (row_at(rates, i, sent->t_ns, &row) < 0)
            return -1;
        if (!row)
            continue;
        row->sent_packets += sent->n;
        row->sent_bytes += sent->bytes;
        row->flight_bytes = sent->flight > row->flight_bytes ? sent->flight : row->flight_bytes;
        row->window_bytes = sent->window;
    }
    return 0;
}

int pl_rates_arrival(struct pl_rates *rates, int64_t t_ns, uint32_t bytes)
{
    for (unsigned i = 0; i < rates->t->pace->scale_n; i++) {
        struct pl_rate *row;
        if (row_at(rates, i, t_ns, &row) < 0)
            return -1;
        if (!row)
            continue;
        row->received_packets++;
        row->received_bytes += bytes;
    }
    return 0;
}

int pl_rates_ack(struct pl_rates *rates, int64_t t_ns, uint64_t bytes, uint32_t window, int64_t rtt_ns)
{
    if (!rates->started)
        return 0;
    advance(rates, t_ns);
    for (unsigned i = 0; i < rates->t->pace->scale_n; i++) {
        struct pl_rate *row;
        if (row_at(rates, i, t_ns, &row) < 0)
            return -1;
        if (!row)
            continue;
        row->acked_bytes += bytes;
        row->window_bytes = window;
        if (rtt_ns >= 0 && (row->rtt_ns < 0 || rtt_ns < row->rtt_ns))
            row->rtt_ns = rtt_ns;
    }
    return 0;
}

void pl_rates_free(struct pl_rates *rates)
{
    if (!rates)
        return;
    end_burst(rates);
    for (unsigned i = 0; i < rates->t->pace->scale_n; i++) {
        struct scale *scale = &rates->scales[i];
        rates->t->scales[i].intervals = rates->started ? interval_of(rates, scale, rates->last_ns) + 1 : 0;
        write_until(rates, i, scale->base + scale->room);
        free(scale->at);
        free(scale->used);
    }
    free(rates);
}
