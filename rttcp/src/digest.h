/* XXH3-128 at the processor's full width: the distribution's library is built for the least x86-64 there is, whose vectors are
 * half as wide. The states and results are the same. */
#ifndef RTTCP_DIGEST_H
#define RTTCP_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* XXH3_128bits_update. `state` is an XXH3_state_t. */
void rttcp_digest_update(void *state, const uint8_t *data, size_t size);

/* digest_avx2.c; only to be called on a processor that has AVX2. */
void rttcp_digest_update_avx2(void *state, const uint8_t *data, size_t size);

#endif
