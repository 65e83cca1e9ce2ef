/* XXH3-128 at the full vector width of the processor. The distribution's library is built for baseline x86-64, whose
 * vectors are half as wide. States and results are the same. */
#ifndef RTTCP_DIGEST_H
#define RTTCP_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH3_128bits_update. `state` is an XXH3_state_t. */
void rttcp_digest_update(void *state, const uint8_t *data, size_t size);

/* The same with AVX2 (digest_avx2.c). Call it only on a processor that has AVX2. */
void rttcp_digest_update_avx2(void *state, const uint8_t *data, size_t size);

#endif
