/* Key schedule: HKDF (RFC 5869) and HMAC of FORMAT.md. It is called seldom, so every call makes its own contexts. */
#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "crypto.h"

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

void lft_mac(const uint8_t key[LFT_HASH_BYTES], const struct lft_span *spans, size_t n, uint8_t mac[LFT_MAC_BYTES])
{
    uint8_t joined[512], whole[LFT_HASH_BYTES];
    size_t used = 0, length = 0;
    for (size_t i = 0; i < n; i++) {
        assert(used + spans[i].n <= sizeof joined);
        memcpy(joined + used, spans[i].at, spans[i].n);
        used += spans[i].n;
    }
    const void *made =
        EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, key, LFT_HASH_BYTES, joined, used, whole, sizeof whole, &length);
    assert(made && length == sizeof whole);
    memcpy(mac, whole, LFT_MAC_BYTES);
}

static void hkdf(int mode, const void *key, size_t key_n, const void *salt, size_t salt_n, const void *info,
                 size_t info_n, uint8_t *out, size_t out_n)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[6] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                            OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)(uintptr_t)key, key_n)};
    size_t n = 3;
    if (salt)
        params[n++] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)(uintptr_t)salt, salt_n);
    if (info)
        params[n++] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)(uintptr_t)info, info_n);
    params[n] = OSSL_PARAM_construct_end();
    int good = context && EVP_KDF_derive(context, out, out_n, params) == 1;
    assert(good);
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
}

void lft_handshake_key(const uint8_t *psk, size_t psk_bytes, uint8_t key[LFT_HASH_BYTES])
{
    uint8_t prk[LFT_HASH_BYTES];
    hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, psk, psk_bytes, "LFT 1", 5, NULL, 0, prk, sizeof prk);
    hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, prk, sizeof prk, NULL, 0, "handshake", 9, key, LFT_HASH_BYTES);
    lft_wipe(prk, sizeof prk);
}

void lft_key_block(const uint8_t *psk, size_t psk_bytes, const uint8_t ni[16], const uint8_t nr[16], unsigned direction,
                   enum lft_cipher cipher, const uint8_t transcript[LFT_HASH_BYTES], uint8_t block[LFT_KEY_BLOCK])
{
    uint8_t prk[LFT_HASH_BYTES], salt[32], info[10 + 2 + LFT_HASH_BYTES];
    memcpy(salt, ni, 16);
    memcpy(salt + 16, nr, 16);
    memcpy(info, "LFT 1 keys", 10);
    info[10] = (uint8_t)direction;
    info[11] = (uint8_t)cipher;
    memcpy(info + 12, transcript, LFT_HASH_BYTES);
    hkdf(EVP_KDF_HKDF_MODE_EXTRACT_ONLY, psk, psk_bytes, salt, sizeof salt, NULL, 0, prk, sizeof prk);
    hkdf(EVP_KDF_HKDF_MODE_EXPAND_ONLY, prk, sizeof prk, NULL, 0, info, sizeof info, block, LFT_KEY_BLOCK);
    lft_wipe(prk, sizeof prk);
}
