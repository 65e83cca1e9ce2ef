/* Frames are sealed and opened by one of two schemes: an AEAD whose nonce is salt and counter, or a cipher followed by
 * HMAC. */
#include "crypto.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "crypto_gcm.h"
#include "nc_bytes.h"
#include "primitives.h"

const char *const lft_cipher_names[] = {"aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "3des-cbc", "null", NULL};

struct lft_key {
    enum lft_cipher cipher;
    bool aead, sealing;
    size_t block;
    uint8_t salt[4];
    struct lft_gcm *gcm;     /* key for ipsec-mb; NULL: OpenSSL's `context` does AES-GCM too */
    EVP_CIPHER_CTX *context; /* NULL for LFT_NULL */
    EVP_CIPHER_CTX *iv;      /* 3des-cbc: makes the IV from the counter */
    EVP_MAC_CTX *mac;
    uint8_t work[LFT_PAYLOAD_MAX + 64]; /* payload, padding and trailer of cipher-then-HMAC */
};

const char *lft_cipher_warning(enum lft_cipher cipher)
{
    if (cipher == LFT_NULL)
        return "cipher null: frames are authenticated but NOT ENCRYPTED; anybody on the path can read them";
    if (cipher == LFT_3DES_CBC)
        return "cipher 3des-cbc: WEAK AND SLOW, for comparison with the 2004 paper only; use aes-128-gcm";
    return NULL;
}

size_t lft_cipher_block(enum lft_cipher cipher)
{
    return cipher == LFT_3DES_CBC ? 8 : 4;
}

static EVP_CIPHER_CTX *context_create(const char *name, const uint8_t *key, bool sealing)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, name, NULL);
    EVP_CIPHER_CTX *context = cipher ? EVP_CIPHER_CTX_new() : NULL;
    if (context && EVP_CipherInit_ex2(context, cipher, key, NULL, sealing, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        context = NULL;
    }
    EVP_CIPHER_free(cipher);
    return context;
}

static EVP_MAC_CTX *mac_create(const uint8_t *key, size_t n)
{
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                           OSSL_PARAM_construct_end()};
    if (context && EVP_MAC_init(context, key, n, params) != 1) {
        EVP_MAC_CTX_free(context);
        context = NULL;
    }
    EVP_MAC_free(mac);
    return context;
}

struct lft_key *lft_key_create(enum lft_cipher cipher, const uint8_t block[LFT_KEY_BLOCK], bool sealing)
{
    static const char *const names[LFT_CIPHERS] = {[LFT_AES_128_GCM] = "AES-128-GCM",
                                                   [LFT_AES_256_GCM] = "AES-256-GCM",
                                                   [LFT_CHACHA20_POLY1305] = "ChaCha20-Poly1305",
                                                   [LFT_3DES_CBC] = "DES-EDE3-CBC"};
    struct lft_key *key = calloc(1, sizeof *key);
    if (!key)
        return NULL;
    key->cipher = cipher;
    key->sealing = sealing;
    key->aead = cipher <= LFT_CHACHA20_POLY1305;
    key->block = lft_cipher_block(cipher);
    memcpy(key->salt, block + 32, sizeof key->salt);
    bool good = true;
    if (cipher == LFT_AES_128_GCM || cipher == LFT_AES_256_GCM)
        key->gcm = lft_gcm_create(block, cipher == LFT_AES_256_GCM ? 32 : 16);
    if (names[cipher] && !key->gcm)
        good = (key->context = context_create(names[cipher], block, sealing));
    if (good && cipher == LFT_3DES_CBC) {
        good = EVP_CIPHER_CTX_set_padding(key->context, 0) && (key->iv = context_create("DES-EDE3-ECB", block, true));
        if (good)
            EVP_CIPHER_CTX_set_padding(key->iv, 0);
    }
    if (good && !key->aead)
        good = (key->mac = mac_create(block + 36, 32));
    if (good)
        return key;
    lft_key_destroy(key);
    return NULL;
}

void lft_key_destroy(struct lft_key *key)
{
    if (!key)
        return;
    lft_gcm_destroy(key->gcm);
    EVP_CIPHER_CTX_free(key->context);
    EVP_CIPHER_CTX_free(key->iv);
    EVP_MAC_CTX_free(key->mac);
    OPENSSL_cleanse(key, sizeof *key);
    free(key);
}

size_t lft_key_frame_bytes(const struct lft_key *key, size_t payload)
{
    return LFT_FRAME_OVERHEAD + payload + lft_padding(payload, key->block);
}

/* Writes padding 1, 2, 3 …, pad length and next header. Returns the number of octets. */
static size_t put_trailer(uint8_t *at, size_t payload, size_t block)
{
    size_t padding = lft_padding(payload, block);
    for (size_t i = 0; i < padding; i++)
        at[i] = (uint8_t)(i + 1);
    at[padding] = (uint8_t)padding;
    at[padding + 1] = LFT_NEXT_HEADER;
    return padding + LFT_TRAILER_BYTES;
}

/* Returns the length of the payload within `n` decrypted octets, or -1 when the trailer is wrong. */
static long check_trailer(const uint8_t *at, size_t n)
{
    size_t padding = at[n - 2];
    if (at[n - 1] != LFT_NEXT_HEADER || padding + LFT_TRAILER_BYTES > n)
        return -1;
    size_t payload = n - LFT_TRAILER_BYTES - padding;
    for (size_t i = 0; i < padding; i++)
        if (at[payload + i] != i + 1)
            return -1;
    return (long)payload;
}

static void make_nonce(const struct lft_key *key, const uint8_t *frame, uint8_t nonce[12])
{
    memcpy(nonce, key->salt, 4);
    memcpy(nonce + 4, frame + 8, 8);
}

static void set_nonce(struct lft_key *key, const uint8_t nonce[12])
{
    int good = EVP_CipherInit_ex(key->context, NULL, NULL, NULL, nonce, -1);
    assert(good == 1);
}

static void aead_seal(struct lft_key *key, const uint8_t *payload, size_t length, uint8_t *frame)
{
    /* Encrypts whole blocks from the caller's memory first. The rest of the payload is processed together with the
     * trailer, so that no call begins inside a block. */
    uint8_t nonce[12], rest[32], *body = frame + LFT_HEADER_BYTES;
    size_t whole = length / 16 * 16, left = length - whole;
    memcpy(rest, payload + whole, left);
    size_t tail = left + put_trailer(rest + left, length, key->block);
    int n, good = 1;
    make_nonce(key, frame, nonce);
    if (key->gcm) {
        lft_gcm_seal(key->gcm, nonce, frame, payload, whole, rest, tail, body, body + whole + tail);
        return;
    }
    set_nonce(key, nonce);
    good &= EVP_EncryptUpdate(key->context, NULL, &n, frame, 8);
    good &= EVP_EncryptUpdate(key->context, body, &n, payload, (int)whole);
    good &= EVP_EncryptUpdate(key->context, body + whole, &n, rest, (int)tail);
    good &= EVP_EncryptFinal_ex(key->context, body + whole + tail, &n);
    good &= EVP_CIPHER_CTX_ctrl(key->context, EVP_CTRL_AEAD_GET_TAG, LFT_ICV_BYTES, body + whole + tail);
    assert(good == 1);
}

static bool aead_open(struct lft_key *key, const uint8_t *frame, size_t n, uint8_t *payload)
{
    int used;
    uint8_t nonce[12], tag[LFT_ICV_BYTES];
    make_nonce(key, frame, nonce);
    if (key->gcm)
        return lft_gcm_open(key->gcm, nonce, frame, frame + LFT_HEADER_BYTES, n, payload, frame + LFT_HEADER_BYTES + n);
    memcpy(tag, frame + LFT_HEADER_BYTES + n, sizeof tag);
    set_nonce(key, nonce);
    return EVP_CIPHER_CTX_ctrl(key->context, EVP_CTRL_AEAD_SET_TAG, LFT_ICV_BYTES, tag) == 1 &&
           EVP_DecryptUpdate(key->context, NULL, &used, frame, 8) == 1 &&
           EVP_DecryptUpdate(key->context, payload, &used, frame + LFT_HEADER_BYTES, (int)n) == 1 &&
           EVP_DecryptFinal_ex(key->context, payload + n, &used) == 1;
}

static void mac_run(EVP_MAC_CTX *context, const struct lft_span *spans, size_t n, uint8_t mac[LFT_MAC_BYTES])
{
    uint8_t whole[LFT_HASH_BYTES];
    size_t used;
    int good = EVP_MAC_init(context, NULL, 0, NULL);
    for (size_t i = 0; i < n; i++)
        good &= EVP_MAC_update(context, spans[i].at, spans[i].n);
    good &= EVP_MAC_final(context, whole, &used, sizeof whole);
    assert(good == 1);
    memcpy(mac, whole, LFT_MAC_BYTES);
}

static void crypt_cbc(struct lft_key *key, const uint8_t *frame, const uint8_t *in, size_t n, uint8_t *out)
{
    uint8_t iv[16];
    int used, good = EVP_EncryptUpdate(key->iv, iv, &used, frame + 8, 8);
    good &= EVP_CipherInit_ex(key->context, NULL, NULL, NULL, iv, -1);
    good &= EVP_CipherUpdate(key->context, out, &used, in, (int)n);
    assert(good == 1);
}

static void plain_seal(struct lft_key *key, const uint8_t *payload, size_t length, uint8_t *frame)
{
    uint8_t *body = frame + LFT_HEADER_BYTES, *plain = key->context ? key->work : body;
    memcpy(plain, payload, length);
    size_t n = length + put_trailer(plain + length, length, key->block);
    if (key->context)
        crypt_cbc(key, frame, plain, n, body);
    mac_run(key->mac, &(struct lft_span){frame, LFT_HEADER_BYTES + n}, 1, body + n);
}

static bool plain_open(struct lft_key *key, const uint8_t *frame, size_t n, uint8_t *payload)
{
    uint8_t mac[LFT_MAC_BYTES];
    mac_run(key->mac, &(struct lft_span){frame, LFT_HEADER_BYTES + n}, 1, mac);
    if (!lft_equal(mac, frame + LFT_HEADER_BYTES + n, sizeof mac))
        return false;
    if (key->context)
        crypt_cbc(key, frame, frame + LFT_HEADER_BYTES, n, payload);
    else
        memcpy(payload, frame + LFT_HEADER_BYTES, n);
    return true;
}

size_t lft_seal(struct lft_key *key, const struct lft_header *header, const uint8_t *payload, size_t length,
                uint8_t *frame)
{
    assert(key->sealing && length <= LFT_PAYLOAD_MAX);
    lft_header_put(frame, header);
    (key->aead ? aead_seal : plain_seal)(key, payload, length, frame);
    return lft_key_frame_bytes(key, length);
}

long lft_unseal(struct lft_key *key, const uint8_t *frame, size_t length, uint8_t *payload)
{
    assert(!key->sealing);
    if (length < LFT_FRAME_OVERHEAD || length > LFT_PAYLOAD_MAX + LFT_FRAME_OVERHEAD + 8)
        return -1;
    size_t n = length - LFT_HEADER_BYTES - LFT_ICV_BYTES;
    if (n % key->block || !(key->aead ? aead_open : plain_open)(key, frame, n, payload))
        return -1;
    return check_trailer(payload, n);
}
