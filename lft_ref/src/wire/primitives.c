#include "primitives.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

/* The leak checker searches only malloc's memory for pointers, so memory that a secret points to would be reported as
 * leaked. */
static void secret_has_pointers(const void *at, size_t n, bool has)
{
#ifdef __SANITIZE_ADDRESS__
    (has ? __lsan_register_root_region : __lsan_unregister_root_region)(at, n);
#endif
    (void)at, (void)n, (void)has;
}

bool lft_equal(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}

void lft_wipe(void *at, size_t n)
{
    OPENSSL_cleanse(at, n);
}

void lft_random(void *at, size_t n)
{
    if (RAND_bytes(at, (int)n) != 1)
        abort();
}

void *lft_secret_alloc(size_t n)
{
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    (void)!mlock(at, n);
    madvise(at, n, MADV_DONTDUMP);
    secret_has_pointers(at, n, true);
    return at;
}

void lft_secret_free(void *at, size_t n)
{
    if (!at)
        return;
    secret_has_pointers(at, n, false);
    lft_wipe(at, n);
    munmap(at, n);
}

void lft_hash(const struct lft_span *spans, size_t n, uint8_t hash[LFT_HASH_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    for (size_t i = 0; good && i < n; i++)
        good = EVP_DigestUpdate(context, spans[i].at, spans[i].n);
    good = good && EVP_DigestFinal_ex(context, hash, NULL);
    assert(good);
    EVP_MD_CTX_free(context);
}

struct lft_hmac {
    EVP_MAC_CTX *context;
};

struct lft_hmac *lft_hmac_create(void)
{
    struct lft_hmac *hmac = calloc(1, sizeof *hmac);
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    if (hmac && mac && (hmac->context = EVP_MAC_CTX_new(mac)) && EVP_MAC_CTX_set_params(hmac->context, params) != 1) {
        EVP_MAC_CTX_free(hmac->context);
        hmac->context = NULL;
    }
    EVP_MAC_free(mac);
    if (hmac && hmac->context)
        return hmac;
    free(hmac);
    return NULL;
}

void lft_hmac_destroy(struct lft_hmac *hmac)
{
    if (hmac)
        EVP_MAC_CTX_free(hmac->context);
    free(hmac);
}

void lft_hmac(struct lft_hmac *hmac, struct lft_span key, const struct lft_span *spans, size_t n,
              uint8_t out[LFT_HASH_BYTES])
{
    size_t length = 0;
    int good = EVP_MAC_init(hmac->context, key.at, key.n, NULL);
    for (size_t i = 0; good && i < n; i++)
        good = EVP_MAC_update(hmac->context, spans[i].at, spans[i].n);
    good = good && EVP_MAC_final(hmac->context, out, &length, LFT_HASH_BYTES);
    assert(good && length == LFT_HASH_BYTES);
}

void lft_mac(struct lft_hmac *hmac, struct lft_span key, const struct lft_span *spans, size_t n,
             uint8_t mac[LFT_MAC_BYTES])
{
    uint8_t whole[LFT_HASH_BYTES];
    lft_hmac(hmac, key, spans, n, whole);
    memcpy(mac, whole, LFT_MAC_BYTES);
}

static void *octets(const void *at)
{
    return (void *)(uintptr_t)at; /* OpenSSL's parameters have no const */
}

static void derive(const char *name, const OSSL_PARAM *params, uint8_t *out, size_t out_n)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, name, NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    int good = context && EVP_KDF_derive(context, out, out_n, params) == 1;
    assert(good);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
}

void lft_hkdf(struct lft_span salt, struct lft_span key, struct lft_span info, uint8_t *out, size_t out_n)
{
    int mode = EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, octets(key.at), key.n),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, octets(salt.at), salt.n),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, octets(info.at), info.n),
                                 OSSL_PARAM_construct_end()};
    derive("HKDF", params, out, out_n);
}

void lft_hkdf_expand(const uint8_t prk[LFT_HASH_BYTES], struct lft_span info, uint8_t *out, size_t out_n)
{
    int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, octets(prk), LFT_HASH_BYTES),
                                 OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, octets(info.at), info.n),
                                 OSSL_PARAM_construct_end()};
    derive("HKDF", params, out, out_n);
}

/* Returns an OpenSSL context for one message under `key`. */
static EVP_CIPHER_CTX *aead_start(const uint8_t *key, bool seal, struct lft_span ad)
{
    static const uint8_t nonce[12];
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int n, good = context && EVP_CipherInit_ex(context, EVP_chacha20_poly1305(), NULL, key, nonce, seal) &&
                  EVP_CipherUpdate(context, NULL, &n, ad.at, (int)ad.n);
    assert(good);
    return context;
}

void lft_aead_seal(const uint8_t key[LFT_SECRET_BYTES], struct lft_span ad, struct lft_span plain, uint8_t *out)
{
    EVP_CIPHER_CTX *context = aead_start(key, true, ad);
    int n, rest;
    int good = EVP_EncryptUpdate(context, out, &n, plain.at, (int)plain.n) &&
               EVP_EncryptFinal_ex(context, out + n, &rest) &&
               EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, LFT_TAG_BYTES, out + plain.n);
    assert(good && (size_t)(n + rest) == plain.n);
    EVP_CIPHER_CTX_free(context);
}

bool lft_aead_open(const uint8_t key[LFT_SECRET_BYTES], struct lft_span ad, struct lft_span sealed, uint8_t *out)
{
    if (sealed.n < LFT_TAG_BYTES)
        return false;
    EVP_CIPHER_CTX *context = aead_start(key, false, ad);
    size_t plain = sealed.n - LFT_TAG_BYTES;
    uint8_t tag[LFT_TAG_BYTES];
    int n, rest;
    memcpy(tag, (const uint8_t *)sealed.at + plain, sizeof tag);
    bool good = EVP_DecryptUpdate(context, out, &n, sealed.at, (int)plain) &&
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, LFT_TAG_BYTES, tag) &&
                EVP_DecryptFinal_ex(context, out + n, &rest);
    EVP_CIPHER_CTX_free(context);
    return good;
}

void lft_dh_public(const uint8_t private[LFT_DH_BYTES], uint8_t public[LFT_DH_BYTES])
{
    size_t n = LFT_DH_BYTES;
    EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, LFT_DH_BYTES);
    int good = key && EVP_PKEY_get_raw_public_key(key, public, &n);
    assert(good && n == LFT_DH_BYTES);
    EVP_PKEY_free(key);
}

bool lft_dh(const uint8_t private[LFT_DH_BYTES], const uint8_t peer[LFT_DH_BYTES], uint8_t shared[LFT_DH_BYTES])
{
    size_t n = LFT_DH_BYTES;
    EVP_PKEY *mine = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, private, LFT_DH_BYTES);
    EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, peer, LFT_DH_BYTES);
    EVP_PKEY_CTX *context = mine ? EVP_PKEY_CTX_new(mine, NULL) : NULL;
    int ready = context && theirs && EVP_PKEY_derive_init(context);
    assert(ready == 1);
    bool good = EVP_PKEY_derive_set_peer(context, theirs) == 1 && EVP_PKEY_derive(context, shared, &n) == 1 &&
                n == LFT_DH_BYTES;
    EVP_PKEY_CTX_free(context);
    EVP_PKEY_free(mine);
    EVP_PKEY_free(theirs);
    return good;
}

bool lft_stretch(struct lft_span text, struct lft_span salt, uint8_t out[LFT_SECRET_BYTES])
{
    enum { N = 1 << 15, R = 8, P = 3, MEMORY = 64 << 20 };
    return EVP_PBE_scrypt(text.at, text.n, salt.at, salt.n, N, R, P, MEMORY, out, LFT_SECRET_BYTES) == 1;
}
