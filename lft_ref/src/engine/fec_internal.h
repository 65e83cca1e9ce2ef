/* Arithmetic shared by both halves of the code. Symbols are padded with zeros to a multiple of 64 octets, which suits
 * ISA-L. */
#ifndef LFT_FEC_INTERNAL_H
#define LFT_FEC_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#define LFT_FEC_STRIDE(payload_max) (((payload_max) + 2 + 63) / 64 * 64)

/* c(seed, n) of FORMAT.md; never 0. */
uint8_t lft_fec_coefficient(uint8_t seed, uint64_t number);
/* sum += coefficient × symbol, over `stride` octets. */
void lft_fec_add(uint8_t *sum, const uint8_t *symbol, uint8_t coefficient, size_t stride);

#endif
