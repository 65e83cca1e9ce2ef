/* The receiver's half: the last 256 payloads, and a row for each equation over payloads that are missing.
 * Invariant: no row contains a known number, every row has a pivot that no other row has, and a row with one unknown is
 * solved at once. */
#include <isa-l/erasure_code.h>
#include <stdlib.h>
#include <string.h>

#include "fec.h"
#include "fec_internal.h"
#include "nc_bytes.h"
#include "wire.h"

enum { SPAN = 256, ROWS = 64 };

struct known {
    struct lft_buffer *buffer; /* NULL: missing */
    const uint8_t *payload;
    size_t length;
};

struct row {
    bool used;
    unsigned pivot;            /* an index of `coefficient` */
    uint8_t coefficient[SPAN]; /* by number % SPAN */
    uint8_t *sum;
};

struct lft_fec_rx {
    size_t stride, payload_max;
    struct lft_pool *pool;
    lft_fec_found found;
    void *user;
    uint64_t highest; /* one above the highest number seen; the numbers [highest - SPAN, highest) are held */
    bool solving;
    unsigned victim;
    struct known known[SPAN];
    struct row rows[ROWS];
    uint8_t *memory, *symbol;
};

struct lft_fec_rx *lft_fec_rx_create(size_t payload_max, struct lft_pool *pool, lft_fec_found found, void *user)
{
    struct lft_fec_rx *fec = calloc(1, sizeof *fec);
    if (!fec)
        return NULL;
    fec->stride = LFT_FEC_STRIDE(payload_max);
    fec->payload_max = payload_max;
    fec->pool = pool;
    fec->found = found;
    fec->user = user;
    fec->memory = aligned_alloc(64, (ROWS + 1) * fec->stride);
    if (!fec->memory) {
        free(fec);
        return NULL;
    }
    fec->symbol = fec->memory + ROWS * fec->stride;
    for (unsigned i = 0; i < ROWS; i++)
        fec->rows[i].sum = fec->memory + i * fec->stride;
    return fec;
}

void lft_fec_rx_destroy(struct lft_fec_rx *fec)
{
    if (!fec)
        return;
    for (unsigned i = 0; i < SPAN; i++)
        if (fec->known[i].buffer)
            lft_pool_release(fec->pool, fec->known[i].buffer);
    free(fec->memory);
    free(fec);
}

/* a += factor × b */
static void row_add(const struct lft_fec_rx *fec, struct row *a, const struct row *b, uint8_t factor)
{
    lft_fec_add(a->sum, b->sum, factor, fec->stride);
    for (unsigned i = 0; i < SPAN; i++)
        if (b->coefficient[i])
            a->coefficient[i] ^= gf_mul(factor, b->coefficient[i]);
}

/* Gives the row a pivot and eliminates the pivot from the other rows. A row without unknowns carries no information and
 * is freed. */
static void row_settle(struct lft_fec_rx *fec, struct row *row)
{
    unsigned pivot = 0;
    while (pivot < SPAN && !row->coefficient[pivot])
        pivot++;
    row->used = pivot < SPAN;
    row->pivot = pivot;
    for (unsigned i = 0; row->used && i < ROWS; i++) {
        struct row *other = &fec->rows[i];
        if (other != row && other->used && other->coefficient[pivot])
            row_add(fec, other, row, gf_mul(other->coefficient[pivot], gf_inv(row->coefficient[pivot])));
    }
}

static void drop_number(struct lft_fec_rx *fec, unsigned index)
{
    if (fec->known[index].buffer)
        lft_pool_release(fec->pool, fec->known[index].buffer);
    fec->known[index].buffer = NULL;
    for (unsigned i = 0; i < ROWS; i++)
        if (fec->rows[i].used && fec->rows[i].coefficient[index])
            fec->rows[i].used = false;
}

/* Drops numbers that leave the span, and the equations that contain them. */
static void advance(struct lft_fec_rx *fec, uint64_t highest)
{
    if (highest <= fec->highest)
        return;
    uint64_t from = highest - fec->highest > SPAN ? highest - SPAN : fec->highest;
    for (uint64_t n = from; n < highest; n++)
        drop_number(fec, n % SPAN);
    fec->highest = highest;
}

static bool held(const struct lft_fec_rx *fec, uint64_t number)
{
    return number < fec->highest && number + SPAN >= fec->highest;
}

static void make_symbol(struct lft_fec_rx *fec, const struct known *known)
{
    nc_put16(fec->symbol, (uint16_t)known->length);
    memcpy(fec->symbol + 2, known->payload, known->length);
    memset(fec->symbol + 2 + known->length, 0, fec->stride - 2 - known->length);
}

static uint64_t number_of(const struct lft_fec_rx *fec, unsigned index)
{
    uint64_t last = fec->highest - 1;
    return last - ((last - index) % SPAN);
}

static bool single(const struct row *row)
{
    for (unsigned i = 0; i < SPAN; i++)
        if (row->coefficient[i] && i != row->pivot)
            return false;
    return true;
}

static void solve_row(struct lft_fec_rx *fec, struct row *row)
{
    uint64_t number = number_of(fec, row->pivot);
    memset(fec->symbol, 0, fec->stride);
    lft_fec_add(fec->symbol, row->sum, gf_inv(row->coefficient[row->pivot]), fec->stride);
    row->used = false;
    size_t length = nc_get16(fec->symbol);
    uint8_t payload[LFT_PAYLOAD_MAX];
    if (length > fec->payload_max || length > sizeof payload)
        return; /* the peer coded nonsense */
    memcpy(payload, fec->symbol + 2, length);
    fec->found(fec->user, number, payload, length); /* the callback calls lft_fec_rx_data for the recovered payload */
}

static void solve(struct lft_fec_rx *fec)
{
    if (fec->solving)
        return;
    fec->solving = true;
    for (unsigned i = 0; i < ROWS;) {
        struct row *row = &fec->rows[i++];
        if (row->used && single(row)) {
            solve_row(fec, row);
            i = 0;
        }
    }
    fec->solving = false;
}

void lft_fec_rx_data(struct lft_fec_rx *fec, uint64_t number, struct lft_buffer *buffer, const uint8_t *payload,
                     size_t length)
{
    advance(fec, number + 1);
    struct known *known = &fec->known[number % SPAN];
    if (!held(fec, number) || known->buffer || length + 2 > fec->stride)
        return;
    *known = (struct known){lft_buffer_hold(buffer), payload, length};
    unsigned index = number % SPAN;
    bool made = false;
    for (unsigned i = 0; i < ROWS; i++) {
        struct row *row = &fec->rows[i];
        if (!row->used || !row->coefficient[index])
            continue;
        if (!made)
            make_symbol(fec, known);
        made = true;
        lft_fec_add(row->sum, fec->symbol, row->coefficient[index], fec->stride);
        row->coefficient[index] = 0;
        if (row->pivot == index)
            row_settle(fec, row);
    }
    if (made)
        solve(fec);
}

static struct row *row_for(struct lft_fec_rx *fec)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (!fec->rows[i].used)
            return &fec->rows[i];
    return &fec->rows[fec->victim++ % ROWS];
}

bool lft_fec_rx_repair(struct lft_fec_rx *fec, uint64_t number, const uint8_t *at, size_t n)
{
    if (n < LFT_REPAIR_HEADER + 2)
        return false;
    unsigned count = nc_get16(at);
    size_t length = n - LFT_REPAIR_HEADER;
    if (!count || count > LFT_FEC_WINDOW_MAX || at[3] || length > fec->stride)
        return false;
    advance(fec, number + count);
    if (!held(fec, number))
        return true; /* too late */
    struct row *row = row_for(fec);
    memset(row->coefficient, 0, sizeof row->coefficient);
    memset(row->sum, 0, fec->stride);
    memcpy(row->sum, at + LFT_REPAIR_HEADER, length);
    row->used = false;
    for (uint64_t m = number; m < number + count; m++) {
        uint8_t coefficient = lft_fec_coefficient(at[2], m);
        const struct known *known = &fec->known[m % SPAN];
        if (known->buffer) {
            make_symbol(fec, known);
            lft_fec_add(row->sum, fec->symbol, coefficient, fec->stride);
        } else
            row->coefficient[m % SPAN] = coefficient;
    }
    for (unsigned i = 0; i < ROWS; i++) {
        const struct row *other = &fec->rows[i];
        if (other->used && row->coefficient[other->pivot])
            row_add(fec, row, other, gf_mul(row->coefficient[other->pivot], gf_inv(other->coefficient[other->pivot])));
    }
    row_settle(fec, row);
    solve(fec);
    return true;
}
