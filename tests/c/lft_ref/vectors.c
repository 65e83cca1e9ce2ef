/* The test vectors of FORMAT.md; and that what was changed on the way is not accepted. `vectors print` writes them. */
#include <openssl/evp.h>
#include <stdio.h>

#include "../seeded.h"
#include "check.h"
#include "crypto.h"

static const struct vector {
    enum lft_cipher cipher;
    const char *hex;
} vectors[] = {
    {LFT_AES_128_GCM, "0102030401abcdef0000000000000007c8e78ee920ad4239c337f110f016eb17253b81ebd23ced59"},
    {LFT_AES_256_GCM, "0102030401abcdef000000000000000717789ad2291332fe41b58468850c08f0c068bbeba101a62e"},
    {LFT_CHACHA20_POLY1305, "0102030401abcdef00000000000000070c4659b09feee06e8013a6443f6d9707fac0d05092710d4b"},
    {LFT_3DES_CBC, "0102030401abcdef0000000000000007e8df3067d00d149698b058049c4c9dd20a3695fafa0dcc8e"},
    {LFT_NULL, "0102030401abcdef000000000000000768656c6c6f0101fdc76e822f2403eca946a9fc69f42b60f6"},
};

static void key_block(enum lft_cipher cipher, unsigned direction, uint8_t block[LFT_KEY_BLOCK])
{
    uint8_t psk[32], ni[16], nr[16], transcript[32];
    for (unsigned i = 0; i < 32; i++)
        psk[i] = (uint8_t)i;
    memset(ni, 0x11, 16);
    memset(nr, 0x22, 16);
    memset(transcript, 0x33, 32);
    lft_key_block(psk, 32, ni, nr, direction, cipher, transcript, block);
}

static size_t seal(enum lft_cipher cipher, uint8_t *frame)
{
    uint8_t block[LFT_KEY_BLOCK];
    key_block(cipher, 0, block);
    struct lft_key *key = lft_key_create(cipher, block, true);
    CHECK(key);
    struct lft_header header = {.spi = 0x01020304, .command = LFT_DATA, .number = 0xabcdef, .counter = 7};
    size_t n = lft_seal(key, &header, (const uint8_t *)"hello", 5, frame);
    CHECK_EQ(n, lft_key_frame_bytes(key, 5));
    lft_key_destroy(key);
    return n;
}

static void to_hex(const uint8_t *at, size_t n, char *hex)
{
    for (size_t i = 0; i < n; i++)
        sprintf(hex + 2 * i, "%02x", at[i]);
}

static void vectors_hold(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint8_t frame[200];
        char hex[401];
        to_hex(frame, seal(vectors[i].cipher, frame), hex);
        CHECK_STR(hex, vectors[i].hex);
    }
}

static void nothing_changed_is_accepted(void)
{
    for (enum lft_cipher cipher = LFT_AES_128_GCM; cipher < LFT_CIPHERS; cipher++) {
        uint8_t frame[200], payload[200], block[LFT_KEY_BLOCK];
        size_t n = seal(cipher, frame);
        key_block(cipher, 0, block);
        struct lft_key *key = lft_key_create(cipher, block, false);
        CHECK_EQ(lft_unseal(key, frame, n, payload), 5);
        CHECK(memcmp(payload, "hello", 5) == 0);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
            CHECK_EQ(lft_unseal(key, frame, n, payload), -1);
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t cut = 0; cut < n; cut++)
            CHECK_EQ(lft_unseal(key, frame, cut, payload), -1);
        CHECK_EQ(lft_unseal(key, frame, n, payload), 5);
        lft_key_destroy(key);
        key_block(cipher, 1, block);
        key = lft_key_create(cipher, block, false);
        CHECK_EQ(lft_unseal(key, frame, n, payload), -1); /* the other direction's key */
        lft_key_destroy(key);
    }
}

/* OpenSSL's opinion of a sealed frame: decrypts it, or fails. */
static int opened_by_openssl(enum lft_cipher cipher, const uint8_t block[LFT_KEY_BLOCK], const uint8_t *frame, size_t n,
                             uint8_t *out)
{
    const EVP_CIPHER *kind = cipher == LFT_AES_128_GCM ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    uint8_t nonce[12], tag[16];
    int used, body = (int)(n - LFT_HEADER_BYTES - LFT_ICV_BYTES);
    memcpy(nonce, block + 32, 4);
    memcpy(nonce + 4, frame + 8, 8);
    memcpy(tag, frame + LFT_HEADER_BYTES + body, sizeof tag);
    int good = EVP_DecryptInit_ex(context, kind, NULL, block, nonce) == 1 &&
               EVP_DecryptUpdate(context, NULL, &used, frame, 8) == 1 &&
               EVP_DecryptUpdate(context, out, &used, frame + LFT_HEADER_BYTES, body) == 1 &&
               EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) == 1 &&
               EVP_DecryptFinal_ex(context, out + body, &used) == 1;
    EVP_CIPHER_CTX_free(context);
    return good;
}

/* Whichever library does AES-GCM here, at every length and alignment. */
static void frames_are_openssls(void)
{
    static uint8_t plain[LFT_PAYLOAD_MAX + 64], frame[LFT_PAYLOAD_MAX + 128], out[LFT_PAYLOAD_MAX + 128];
    struct seeded seeded = seeded_start();
    for (size_t i = 0; i < sizeof plain; i++)
        plain[i] = (uint8_t)seeded_next(&seeded);
    for (enum lft_cipher cipher = LFT_AES_128_GCM; cipher <= LFT_AES_256_GCM; cipher++) {
        uint8_t block[LFT_KEY_BLOCK];
        key_block(cipher, 0, block);
        struct lft_key *seal_key = lft_key_create(cipher, block, true),
                       *open_key = lft_key_create(cipher, block, false);
        for (uint64_t i = 0; i < 3000; i++) {
            size_t length = i < 1500 ? i : seeded_below(&seeded, LFT_PAYLOAD_MAX + 1), at = seeded_below(&seeded, 64);
            struct lft_header header = {
                .spi = 5, .command = LFT_DATA, .number = (uint32_t)i, .counter = seeded_next(&seeded)};
            size_t n = lft_seal(seal_key, &header, plain + at, length, frame);
            CHECK(opened_by_openssl(cipher, block, frame, n, out) && memcmp(out, plain + at, length) == 0);
            memset(out, 0, sizeof out);
            CHECK_EQ(lft_unseal(open_key, frame, n, out), (long)length);
            CHECK(memcmp(out, plain + at, length) == 0);
        }
        lft_key_destroy(seal_key);
        lft_key_destroy(open_key);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        for (enum lft_cipher cipher = LFT_AES_128_GCM; cipher < LFT_CIPHERS; cipher++) {
            uint8_t frame[200];
            char hex[401];
            to_hex(frame, seal(cipher, frame), hex);
            printf("%s %s\n", lft_cipher_names[cipher - 1], hex);
        }
        return 0;
    }
    RUN(vectors_hold);
    RUN(nothing_changed_is_accepted);
    RUN(frames_are_openssls);
    return 0;
}
