/* The functions of OpenSSL that the handshake uses, over spans of memory. It contains no cryptography of our own. A
 * failed call asserts, because with right arguments it can fail only when memory is short. */
#ifndef LFT_PRIMITIVES_H
#define LFT_PRIMITIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LFT_HASH_BYTES = 32, LFT_MAC_BYTES = 16, LFT_DH_BYTES = 32, LFT_SECRET_BYTES = 32, LFT_TAG_BYTES = 16 };

struct lft_span {
    const void *at;
    size_t n;
};

bool lft_equal(const void *a, const void *b, size_t n); /* in constant time */
void lft_random(void *at, size_t n);                    /* aborts when the machine has no randomness */
void lft_wipe(void *at, size_t n);

/* Zeroed memory for secrets: separate pages, excluded from core dumps and, if the limit of locked memory allows it,
 * locked against swapping. NULL: no memory. lft_secret_free wipes; NULL is allowed. */
void *lft_secret_alloc(size_t n);
void lft_secret_free(void *at, size_t n);

/* SHA-256. `hash` may be one of the spans. */
void lft_hash(const struct lft_span *spans, size_t n, uint8_t hash[LFT_HASH_BYTES]);

/* HMAC-SHA-256 with a context that is created once, because a flood needs a MAC for each message. */
struct lft_hmac;
struct lft_hmac *lft_hmac_create(void); /* NULL: no memory */
void lft_hmac_destroy(struct lft_hmac *hmac);
void lft_hmac(struct lft_hmac *hmac, struct lft_span key, const struct lft_span *spans, size_t n,
              uint8_t out[LFT_HASH_BYTES]);
/* The same, cut to 16 octets. */
void lft_mac(struct lft_hmac *hmac, struct lft_span key, const struct lft_span *spans, size_t n,
             uint8_t mac[LFT_MAC_BYTES]);

/* HKDF of RFC 5869 with SHA-256. The first function extracts and expands, the second only expands. */
void lft_hkdf(struct lft_span salt, struct lft_span key, struct lft_span info, uint8_t *out, size_t out_n);
void lft_hkdf_expand(const uint8_t prk[LFT_HASH_BYTES], struct lft_span info, uint8_t *out, size_t out_n);

/* ChaCha20-Poly1305 (RFC 8439) with a nonce of zeros, because every key seals one message only. `out` has n + 16
 * octets. */
void lft_aead_seal(const uint8_t key[LFT_SECRET_BYTES], struct lft_span ad, struct lft_span plain, uint8_t *out);
/* False: not authentic, and `out` holds garbage. `sealed` includes the tag; `out` has 16 octets less. */
bool lft_aead_open(const uint8_t key[LFT_SECRET_BYTES], struct lft_span ad, struct lft_span sealed, uint8_t *out);

/* X25519 (RFC 7748). lft_dh is false for a point of low order, whose result would be zeros. */
void lft_dh_public(const uint8_t private[LFT_DH_BYTES], uint8_t public[LFT_DH_BYTES]);
bool lft_dh(const uint8_t private[LFT_DH_BYTES], const uint8_t peer[LFT_DH_BYTES], uint8_t shared[LFT_DH_BYTES]);

/* scrypt (RFC 7914) with N = 2^15, r = 8, p = 3: 32 MB and about a third of a second. False: no memory. */
bool lft_stretch(struct lft_span text, struct lft_span salt, uint8_t out[LFT_SECRET_BYTES]);

#endif
