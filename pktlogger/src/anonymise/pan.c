/* Implements pan.h. An address takes one AES call with a block for each bit, so the most recent results are kept. */
#include "pan.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, BITS_MAX = 128, PORTS = 65536, SLOTS = 1024 };

struct known {
    unsigned ip_version; /* 0: empty */
    uint8_t address[16], out[16];
};

struct pl_pan {
    EVP_CIPHER_CTX *aes;
    uint8_t pad[BLOCK];
    uint16_t port[PORTS];
    struct known known[SLOTS];
};

static void encrypt(struct pl_pan *pan, const uint8_t *in, uint8_t *out, int n)
{
    int done = 0;
    int good = EVP_EncryptUpdate(pan->aes, out, &done, in, n);
    assert(good == 1 && done == n); /* whole blocks without padding cannot fail */
    (void)good;
}

/* Draws the permutation of ports by Fisher and Yates' method. Its random numbers are AES of a counter; no address uses
 * these blocks. */
static void draw_ports(struct pl_pan *pan)
{
    uint8_t counter[BLOCK] = "port", number[BLOCK];
    for (uint32_t i = 0; i < PORTS; i++)
        pan->port[i] = (uint16_t)i;
    for (uint32_t i = PORTS - 1; i > 1; i--) {
        uint64_t drawn;
        memcpy(counter + 8, &i, sizeof i);
        encrypt(pan, counter, number, BLOCK);
        memcpy(&drawn, number, sizeof drawn);
        uint32_t other = 1 + (uint32_t)(drawn % i);
        uint16_t port = pan->port[i];
        pan->port[i] = pan->port[other];
        pan->port[other] = port;
    }
}

struct pl_pan *pl_pan_create(const uint8_t key[PL_PAN_KEY])
{
    struct pl_pan *pan = calloc(1, sizeof *pan);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-ECB", NULL);
    if (pan)
        pan->aes = EVP_CIPHER_CTX_new();
    bool ready = cipher && pan && pan->aes && EVP_EncryptInit_ex2(pan->aes, cipher, key, NULL, NULL) == 1 &&
                 EVP_CIPHER_CTX_set_padding(pan->aes, 0) == 1;
    EVP_CIPHER_free(cipher);
    if (!ready) {
        pl_pan_free(pan);
        return NULL;
    }
    encrypt(pan, key + BLOCK, pan->pad, BLOCK);
    draw_ports(pan);
    return pan;
}

void pl_pan_free(struct pl_pan *pan)
{
    if (!pan)
        return;
    EVP_CIPHER_CTX_free(pan->aes);
    OPENSSL_cleanse(pan, sizeof *pan);
    free(pan);
}

/* `bits`: 32 or 128. */
static void map(struct pl_pan *pan, const uint8_t *address, unsigned bits, uint8_t *out)
{
    uint8_t in[BITS_MAX * BLOCK], flips[BITS_MAX * BLOCK], prefix[BLOCK];
    memcpy(prefix, pan->pad, BLOCK);
    unsigned n = 0;
    do {
        memcpy(in + (size_t)n * BLOCK, prefix, BLOCK);
        uint8_t bit = (uint8_t)(0x80 >> n % 8);
        prefix[n / 8] = (uint8_t)((prefix[n / 8] & ~bit) | (address[n / 8] & bit));
    } while (++n < bits);
    encrypt(pan, in, flips, (int)(bits * BLOCK));
    memset(out, 0, 16);
    memcpy(out, address, bits / 8);
    for (unsigned i = 0; i < bits; i++)
        out[i / 8] ^= (uint8_t)(flips[(size_t)i * BLOCK] >> 7 << (7 - i % 8));
}

static size_t slot_of(const uint8_t address[16])
{
    uint64_t halves[2];
    memcpy(halves, address, sizeof halves);
    return (size_t)((halves[0] ^ halves[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

void pl_pan_address(struct pl_pan *pan, unsigned ip_version, const uint8_t address[16], uint8_t out[16])
{
    struct known *known = &pan->known[slot_of(address)];
    if (known->ip_version != ip_version || memcmp(known->address, address, 16) != 0) {
        known->ip_version = ip_version;
        memcpy(known->address, address, 16);
        map(pan, address, ip_version == 4 ? 32 : BITS_MAX, known->out);
    }
    memcpy(out, known->out, 16);
}

uint16_t pl_pan_port(const struct pl_pan *pan, uint16_t port)
{
    return pan->port[port];
}
