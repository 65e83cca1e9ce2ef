/* ESP transforms: one key in one direction. AES-GCM by ipsec-mb where there is one (crypto_gcm.h), all else by OpenSSL's EVP; one
 * context a key, made once, no allocation a frame.
 * Out of place: sealing writes the frame straight into the send batch, opening writes the payload into a frame buffer.
 * A key is used by one thread. Rejected: sealing in place; the sender's copy must stay plain for retransmission. */
#ifndef LFT_CRYPTO_H
#define LFT_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

enum lft_cipher {
    LFT_AES_128_GCM = 1,
    LFT_AES_256_GCM,
    LFT_CHACHA20_POLY1305,
    LFT_3DES_CBC,
    LFT_NULL,
    LFT_CIPHERS
};
extern const char *const lft_cipher_names[]; /* NULL-terminated, for nc_options: index 0 is LFT_AES_128_GCM */

/* One sentence to be logged at every start, or NULL for ciphers that protect. */
const char *lft_cipher_warning(enum lft_cipher cipher);
/* 4, or 8 for LFT_3DES_CBC. */
size_t lft_cipher_block(enum lft_cipher cipher);

enum { LFT_KEY_BLOCK = 68, LFT_PSK_MIN = 16, LFT_PSK_MAX = 1024, LFT_HASH_BYTES = 32, LFT_MAC_BYTES = 16 };

struct lft_key;
/* From the 68-octet key block of FORMAT.md. `sealing`: this end sends with it. NULL when OpenSSL lacks the cipher. */
struct lft_key *lft_key_create(enum lft_cipher cipher, const uint8_t block[LFT_KEY_BLOCK], bool sealing);
void lft_key_destroy(struct lft_key *key); /* wipes; NULL allowed */

/* Frame length of a payload under this key. */
size_t lft_key_frame_bytes(const struct lft_key *key, size_t payload);

/* Writes header, sealed payload, ICV to `frame` (room: lft_key_frame_bytes + 8). Returns the frame's length. The caller gives every
 * counter once. Asserts when OpenSSL fails: with a good key it does not. */
size_t lft_seal(struct lft_key *key, const struct lft_header *header, const uint8_t *payload, size_t length, uint8_t *frame);

/* Verifies and decrypts a frame of `length` octets whose header was decoded already. `payload` has room for `length` octets. Returns
 * the payload's length, or -1: tag, padding or length wrong. On -1 `payload` holds garbage that must not be looked at. */
long lft_unseal(struct lft_key *key, const uint8_t *frame, size_t length, uint8_t *payload);

/* HMAC-SHA-256 cut to 16 octets, over up to three pieces; HKDF of FORMAT.md. */
struct lft_span { const void *at; size_t n; };
void lft_mac(const uint8_t key[LFT_HASH_BYTES], const struct lft_span *spans, size_t n, uint8_t mac[LFT_MAC_BYTES]);
bool lft_equal(const void *a, const void *b, size_t n); /* constant time */
void lft_hash(const struct lft_span *spans, size_t n, uint8_t hash[LFT_HASH_BYTES]);
void lft_random(void *at, size_t n); /* aborts when the machine has no randomness */
void lft_wipe(void *at, size_t n);
void lft_handshake_key(const uint8_t *psk, size_t psk_bytes, uint8_t key[LFT_HASH_BYTES]);
void lft_key_block(const uint8_t *psk, size_t psk_bytes, const uint8_t ni[16], const uint8_t nr[16], unsigned direction,
                   enum lft_cipher cipher, const uint8_t transcript[LFT_HASH_BYTES], uint8_t block[LFT_KEY_BLOCK]);

#endif
