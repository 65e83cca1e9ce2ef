/* The test vectors of FORMAT.md; and frames that were changed on their way, which must be refused. `vectors print`
 * prints the vectors. */
#include <openssl/evp.h>
#include <stdio.h>

#include "../seeded.h"
#include "check.h"
#include "crypto.h"
#include "handshake_internal.h"
#include "nc_bytes.h"

/* What the vectors start from. */
static const char text_key[] = "correct horse battery staple", initiator_name[] = "oslo", responder_name[] = "tokyo";
#define TIMESTAMP UINT64_C(0x18fae27693b40000)

static const struct vector {
    const char *name, *hex;
} vectors[] = {
    {"psk of a text", "7345803c7b9d8100f8a30d1574b3ec416beeac8e9e17a767036d528c9c20610a"},
    {"INIT", "000000004c465402010102007b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13df4406db"
             "9b0c3f2000fd3580582aab828748507ee6317e3a9fc32be6843154a39d55136e806de3b294b0cc873547f59aa56d78ec"
             "fe1e7ede514ffe3900000000000000000000000000000000"},
    {"COOKIE", "000000004c465402020102003547f59aa56d78ecfe1e7ede514ffe3933333333333333333333333333333333b4391e29"
               "b50e1bf9782cde3a422d5f2b169b0d96722a47748901d5b57f080257d20b9ea0448e3435"},
    {"INIT with mac2",
     "000000004c465402010102007b4e909bbe7ffe44c465a220037d608ee35897d31ef972f07f74892cb0f73f13df4406db"
     "9b0c3f2000fd3580582aab828748507ee6317e3a9fc32be6843154a39d55136e806de3b294b0cc873547f59aa56d78ec"
     "fe1e7ede514ffe390a4f2a63e8a1ebefa68190b445e79d2d"},
    {"RESPONSE", "000000004c465402030102003547f59aa56d78ecfe1e7ede514ffe390faa684ed28867b97f4a6a2dee5df8ce974e76b7"
                 "018e3f22a1c4cf2678570f20f82de6f15d5244ce19ba5977dcbbd70e4c501db8376f8d246a75709c8f972840cf2f2474"
                 "ca31d77436b6b1a814556922a09d9336"},
    {"key 0", "db72db7b88aa6a8223bac741154c7881c10c92ab4a4b7a9c36d0f107e18695a4"},
    {"key 1", "3963f3cddd9ae1ba54b5617120c40b1292120b671eb5ccbd9ce7b550122eec41"},
    {"aes-128-gcm", "0102030401abcdef00000000000000070d9a6fed2961b363e9029e80d8e4fef3a368caeb04d50149"},
    {"aes-256-gcm", "0102030401abcdef00000000000000076de922ddbdeaa6c66d1402859c341ba3fa0b4c96591334fc"},
    {"chacha20-poly1305", "0102030401abcdef00000000000000076d0bf10fc9296b5411175d08019ee4b5fe42153bc418adec"},
    {"3des-cbc", "0102030401abcdef000000000000000708ff1ab9bed3fb84fa1764ef15e49f2a43b36376d65675aa"},
    {"null", "0102030401abcdef000000000000000768656c6c6f0101fd35a9777980cd8b4f0ccd51df047b0ed2"},
};

static void to_hex(const uint8_t *at, size_t n, char *hex)
{
    for (size_t i = 0; i < n; i++)
        sprintf(hex + 2 * i, "%02x", at[i]);
}

static struct lft_handshake *gateway(bool initiator)
{
    static uint8_t psk[LFT_PSK_BYTES];
    for (unsigned i = 0; i < sizeof psk; i++)
        psk[i] = (uint8_t)i;
    const struct lft_handshake_config config = {.initiator = initiator,
                                                .cipher = LFT_AES_128_GCM,
                                                .recovery = 2,
                                                .psk = psk,
                                                .name = initiator ? initiator_name : responder_name,
                                                .peer_name = initiator ? responder_name : initiator_name};
    struct lft_handshake *handshake = lft_handshake_create(&config, 0);
    CHECK(handshake);
    return handshake;
}

/* The payload of either message: timestamp (INIT only), epoch, SPI, rekey interval, payload size, recovery. */
static struct lft_span hello(bool init, uint8_t at[LFT_INIT_PAYLOAD])
{
    uint8_t *to = at;
    if (init) {
        lft_put64(to, TIMESTAMP);
        to += 8;
    }
    lft_put64(to, init ? UINT64_C(0xa1a2a3a4a5a6a7a8) : UINT64_C(0xb1b2b3b4b5b6b7b8));
    nc_put32(to + 8, init ? 0x01020304 : 0x05060708);
    nc_put32(to + 12, 3600000);
    nc_put16(to + 16, 1438);
    to[18] = 2;
    to[19] = 0;
    return (struct lft_span){at, (size_t)(to + 20 - at)};
}

/* The messages of one handshake, and the transport keys at both ends. */
struct exchange {
    uint8_t init[LFT_INIT_BYTES], cookie[LFT_COOKIE_MESSAGE_BYTES], init_again[LFT_INIT_BYTES],
        response[LFT_RESPONSE_BYTES], keys[2][2][LFT_SECRET_BYTES];
};

static void make_cookie(struct lft_handshake *responder, struct exchange *exchange)
{
    uint8_t key[LFT_SECRET_BYTES], plain[LFT_COOKIE_PLAIN], *at = exchange->cookie;
    lft_message_header(responder, LFT_COOKIE, 2, at);
    memcpy(at + LFT_ANSWERED_AT, exchange->init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    memset(at + LFT_COOKIE_NONCE_AT, 0x33, LFT_COOKIE_NONCE);
    memset(plain, 0x44, LFT_COOKIE_BYTES);
    lft_put64(plain + LFT_COOKIE_BYTES, TIMESTAMP);
    lft_cookie_key(responder, at, key);
    lft_aead_seal(key, (struct lft_span){at, LFT_COOKIE_SEALED_AT}, (struct lft_span){plain, sizeof plain},
                  at + LFT_COOKIE_SEALED_AT);
    memcpy(exchange->init_again, exchange->init, LFT_INIT_BYTES);
    lft_mac2(responder, exchange->init_again, plain, exchange->init_again + LFT_INIT_MAC2_AT);
}

static void exchange_make(struct exchange *exchange)
{
    struct lft_handshake *ends[2] = {gateway(true), gateway(false)};
    struct lft_noise noise[2];
    uint8_t payload[LFT_INIT_PAYLOAD], got[LFT_INIT_PAYLOAD], private[2][LFT_DH_BYTES];
    uint8_t *init = exchange->init, *response = exchange->response;
    memset(private[0], 0x11, LFT_DH_BYTES);
    memset(private[1], 0x22, LFT_DH_BYTES);
    memset(exchange, 0, sizeof *exchange);
    lft_message_header(ends[0], LFT_INIT, 2, init);
    for (int i = 0; i < 2; i++)
        lft_message_noise(ends[i], init, &noise[i]);
    lft_noise_write_1(&noise[0], private[0], hello(true, payload), init + LFT_INIT_NOISE_AT);
    lft_mac1_put(ends[0], init, LFT_INIT_MAC1_AT);
    CHECK(lft_mac1_good(ends[1], init, LFT_INIT_MAC1_AT));
    CHECK(lft_noise_read_1(&noise[1], (struct lft_span){init + LFT_INIT_NOISE_AT, LFT_INIT_MAC1_AT - LFT_INIT_NOISE_AT},
                           got));
    CHECK(memcmp(got, payload, LFT_INIT_PAYLOAD) == 0);
    lft_message_header(ends[1], LFT_RESPONSE, 2, response);
    memcpy(response + LFT_ANSWERED_AT, init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    CHECK(lft_noise_write_2(&noise[1], private[1], hello(false, payload), response + LFT_RESPONSE_NOISE_AT));
    lft_mac1_put(ends[1], response, LFT_RESPONSE_MAC1_AT);
    CHECK(lft_noise_read_2(
        &noise[0], (struct lft_span){response + LFT_RESPONSE_NOISE_AT, LFT_RESPONSE_MAC1_AT - LFT_RESPONSE_NOISE_AT},
        got));
    for (int i = 0; i < 2; i++)
        lft_noise_split(&noise[i], exchange->keys[i]);
    make_cookie(ends[1], exchange);
    lft_handshake_destroy(ends[0]);
    lft_handshake_destroy(ends[1]);
}

static void key_block(enum lft_cipher cipher, unsigned direction, uint8_t block[LFT_KEY_BLOCK])
{
    static struct exchange exchange;
    static bool made;
    if (!made)
        exchange_make(&exchange);
    made = true;
    lft_frame_block(exchange.keys[0][direction], cipher, block);
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

/* The vector of this name, as the present code computes it. */
static const char *compute(const char *name)
{
    static char hex[2 * 200 + 1];
    struct exchange exchange;
    struct lft_names names;
    uint8_t octets[200];
    exchange_make(&exchange);
    CHECK(memcmp(exchange.keys[0], exchange.keys[1], sizeof exchange.keys[0]) == 0);
    const struct {
        const char *name;
        const uint8_t *at;
        size_t n;
    } parts[] = {{"INIT", exchange.init, LFT_INIT_BYTES},
                 {"COOKIE", exchange.cookie, LFT_COOKIE_MESSAGE_BYTES},
                 {"INIT with mac2", exchange.init_again, LFT_INIT_BYTES},
                 {"RESPONSE", exchange.response, LFT_RESPONSE_BYTES},
                 {"key 0", exchange.keys[0][0], LFT_SECRET_BYTES},
                 {"key 1", exchange.keys[0][1], LFT_SECRET_BYTES}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strcmp(parts[i].name, name) == 0)
            to_hex(parts[i].at, parts[i].n, hex);
    for (enum lft_cipher cipher = LFT_AES_128_GCM; cipher < LFT_CIPHERS; cipher++)
        if (strcmp(lft_cipher_names[cipher - 1], name) == 0)
            to_hex(octets, seal(cipher, octets), hex);
    if (strcmp(name, "psk of a text") == 0) {
        lft_names_make(&names, initiator_name, responder_name);
        CHECK(lft_psk_of_text(text_key, sizeof text_key - 1, &names, octets));
        to_hex(octets, LFT_PSK_BYTES, hex);
    }
    return hex;
}

static void vectors_hold(void)
{
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        CHECK_STR(compute(vectors[i].name), vectors[i].hex);
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

/* Decrypts a sealed frame with OpenSSL, or fails. */
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

/* Tests the library that does AES-GCM on this machine, at every length and alignment. */
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
        for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
            printf("%s %s\n", vectors[i].name, compute(vectors[i].name));
        return 0;
    }
    RUN(vectors_hold);
    RUN(nothing_changed_is_accepted);
    RUN(frames_are_openssls);
    return 0;
}
