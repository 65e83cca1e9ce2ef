/* AES-GCM by Intel's ipsec-mb, where the build and the processor support it. For frames of 1,400 octets OpenSSL's calls
 * cost as much as the cipher itself, and its releases before 3.1 do not use the wide instructions. The octets are the
 * same as OpenSSL's, which does everything else. A key serves one direction and one thread. Rejected: our own code with
 * intrinsics; a cipher should come from people who maintain it. */
#ifndef LFT_CRYPTO_GCM_H
#define LFT_CRYPTO_GCM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lft_gcm;
/* `key_bytes` is 16 or 32. NULL: not in this build, not on this processor, or no memory; then
 * the caller uses OpenSSL. */
struct lft_gcm *lft_gcm_create(const uint8_t *key, size_t key_bytes);
void lft_gcm_destroy(struct lft_gcm *gcm); /* wipes it; NULL is allowed */

/* Writes to `out` the sealed octets of `in`, then those of `rest`; `n` is a multiple of 16. `tag` gets 16 octets. */
void lft_gcm_seal(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  const uint8_t *rest, size_t rest_n, uint8_t *out, uint8_t tag[16]);
/* False: the tag is wrong and `out` holds garbage. */
bool lft_gcm_open(struct lft_gcm *gcm, const uint8_t iv[12], const uint8_t aad[8], const uint8_t *in, size_t n,
                  uint8_t *out, const uint8_t tag[16]);

#endif
