/* ESP transforms: one key for one direction. ipsec-mb does AES-GCM where the machine has it (crypto_gcm.h); OpenSSL's
 * EVP does the rest, with one context per key, so that no frame needs an allocation. A key is not thread-safe. Nothing
 * is done in place: sealing writes the frame straight into the send batch, opening writes the payload into a frame
 * buffer. Rejected: sealing in place; the sender's copy must stay plain for retransmission. */
#ifndef LFT_CRYPTO_H
#define LFT_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum lft_cipher { LFT_AES_128_GCM = 1, LFT_AES_256_GCM, LFT_CHACHA20_POLY1305, LFT_3DES_CBC, LFT_NULL, LFT_CIPHERS };
extern const char *const lft_cipher_names[]; /* NULL-terminated, for nc_options; index 0 is LFT_AES_128_GCM */

/* Returns the warning to log at every start, or NULL for a cipher that protects the traffic. */
const char *lft_cipher_warning(enum lft_cipher cipher);
/* Payload, padding and trailer must fill a multiple of this: 4 octets, or 8 for LFT_3DES_CBC. */
size_t lft_cipher_block(enum lft_cipher cipher);

enum { LFT_KEY_BLOCK = 68 };

struct lft_key;
/* Makes a key from the 68-octet key block of FORMAT.md; `sealing`: this end sends with it. NULL when OpenSSL lacks the
 * cipher or memory is short. */
struct lft_key *lft_key_create(enum lft_cipher cipher, const uint8_t block[LFT_KEY_BLOCK], bool sealing);
void lft_key_destroy(struct lft_key *key); /* wipes it; NULL is allowed */

/* Returns the length of the frame that carries `payload` octets under this key. */
size_t lft_key_frame_bytes(const struct lft_key *key, size_t payload);

/* Writes header, sealed payload and ICV to `frame`, which has room for lft_key_frame_bytes + 8 octets, and returns the
 * frame's length. The caller must use every counter only once. Asserts that OpenSSL succeeds, which it does with a
 * valid key. */
size_t lft_seal(struct lft_key *key, const struct lft_header *header, const uint8_t *payload, size_t length,
                uint8_t *frame);

/* Verifies and decrypts a frame of `length` octets whose header has been decoded already. `payload` has room for
 * `length` octets. Returns the payload's length, or -1 when tag, padding or length is wrong. After -1 `payload`
 * contains garbage that must not be used. */
long lft_unseal(struct lft_key *key, const uint8_t *frame, size_t length, uint8_t *payload);

#endif
