/* AES-GCM by Intel's ipsec-mb, where the build and the processor have it: for frames of 1,400 octets OpenSSL's calls cost as much as the
 * cipher, and its releases before 3.1 do not know the wide instructions. Same octets as OpenSSL's, which remains for all else.
 * One key in one direction, one thread. Rejected: our own code over intrinsics; ciphers are for those who keep them well. */
#ifndef LFT_CRYPTO_GCM_H
#define LFT_CRYPTO_GCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lft_gcm;
/* `key_bytes` 16 or 32. NULL: not in this build, not on this processor, or no memory; then OpenSSL does it. */
struct lft_gcm *lft_gcm_create(const uint8_t *key, size_t key_bytes);
void lft_gcm_destroy(struct lft_gcm *gcm); /* wipes; NULL allowed */

/* `out` gets `n` sealed octets of `in`, then the `rest_n` of `rest` behind them; `n` is a multiple of 16. Tag: 16 octets. */
void lft_gcm_seal(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n, const uint8_t *rest,
                  size_t rest_n, uint8_t *out, uint8_t tag[16]);
/* False: the tag is wrong, `out` holds garbage. */
bool lft_gcm_open(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n, uint8_t *out,
                  const uint8_t tag[16]);

#endif
