/* The sender's half: the last 128 payloads as symbols, and weighted sums of them. */
#include <isa-l/erasure_code.h>
#include <stdlib.h>
#include <string.h>

#include "fec.h"
#include "fec_internal.h"
#include "nc_bytes.h"
#include "wire.h"

struct lft_fec_tx {
    size_t stride;
    uint64_t first, next; /* the window holds the numbers [first, next) */
    uint8_t seed;
    uint16_t lengths[LFT_FEC_WINDOW_MAX];
    uint8_t *symbols, *sum;
};

uint8_t lft_fec_coefficient(uint8_t seed, uint64_t number)
{
    return gf_inv((unsigned char)((0x80 | (seed & 0x7f)) ^ (number & 0x7f)));
}

void lft_fec_add(uint8_t *sum, const uint8_t *symbol, uint8_t coefficient, size_t stride)
{
    uint8_t table[32];
    gf_vect_mul_init(coefficient, table);
    gf_vect_mad((int)stride, 1, 0, table, (uint8_t *)(uintptr_t)symbol, sum);
}

struct lft_fec_tx *lft_fec_tx_create(size_t payload_max)
{
    struct lft_fec_tx *fec = calloc(1, sizeof *fec);
    if (!fec)
        return NULL;
    fec->stride = LFT_FEC_STRIDE(payload_max);
    fec->symbols = aligned_alloc(64, (LFT_FEC_WINDOW_MAX + 1) * fec->stride);
    if (fec->symbols) {
        fec->sum = fec->symbols + LFT_FEC_WINDOW_MAX * fec->stride;
        return fec;
    }
    free(fec);
    return NULL;
}

void lft_fec_tx_destroy(struct lft_fec_tx *fec)
{
    if (!fec)
        return;
    free(fec->symbols);
    free(fec);
}

void lft_fec_tx_data(struct lft_fec_tx *fec, uint64_t number, const uint8_t *payload, size_t length)
{
    uint8_t *symbol = fec->symbols + number % LFT_FEC_WINDOW_MAX * fec->stride;
    nc_put16(symbol, (uint16_t)length);
    memcpy(symbol + 2, payload, length);
    memset(symbol + 2 + length, 0, fec->stride - 2 - length);
    fec->lengths[number % LFT_FEC_WINDOW_MAX] = (uint16_t)length;
    if (fec->next != number)
        fec->first = number;
    fec->next = number + 1;
    if (fec->next - fec->first > LFT_FEC_WINDOW_MAX)
        fec->first = fec->next - LFT_FEC_WINDOW_MAX;
}

size_t lft_fec_tx_repair(struct lft_fec_tx *fec, uint8_t *at, uint64_t *number)
{
    size_t longest = 0;
    if (fec->first == fec->next)
        return 0;
    fec->seed = (fec->seed + 1) & 0x7f;
    memset(fec->sum, 0, fec->stride);
    for (uint64_t n = fec->first; n < fec->next; n++) {
        size_t length = fec->lengths[n % LFT_FEC_WINDOW_MAX];
        longest = length > longest ? length : longest;
        lft_fec_add(fec->sum, fec->symbols + n % LFT_FEC_WINDOW_MAX * fec->stride, lft_fec_coefficient(fec->seed, n),
                    fec->stride);
    }
    nc_put16(at, (uint16_t)(fec->next - fec->first));
    at[2] = fec->seed;
    at[3] = 0;
    memcpy(at + LFT_REPAIR_HEADER, fec->sum, 2 + longest);
    *number = fec->first;
    return LFT_REPAIR_HEADER + 2 + longest;
}
