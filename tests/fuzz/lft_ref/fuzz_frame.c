/* The octets of a frame, with every cipher. Read as a frame, they were not made with a key, so nothing may be
 * decrypted. Read as a payload, they must come out unchanged, and a changed bit must be noticed. With a correct tag
 * (cipher `null`) the padding may be anything. The first two octets choose the cipher and the bit. */
#include <assert.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "crypto.h"
#include "primitives.h"
#include "nc_bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t block[LFT_KEY_BLOCK] = {1, 2, 3, [20] = 4, [40] = 5};

/* Exactly as much room as the interface says is enough. */
static long open_frame(struct lft_key *key, const uint8_t *frame, size_t n, uint8_t **payload)
{
    *payload = malloc(n + !n);
    assert(*payload);
    return lft_unseal(key, frame, n, *payload);
}

static void there_and_back(struct lft_key *seal, struct lft_key *unseal, const uint8_t *data, size_t n, size_t bit)
{
    const struct lft_header header = {.spi = 300, .command = data[0], .number = data[1], .counter = n};
    uint8_t *frame = malloc(lft_key_frame_bytes(seal, n) + 8), *payload;
    assert(frame);
    size_t bytes = lft_seal(seal, &header, data, n, frame);
    assert(bytes == lft_key_frame_bytes(seal, n));
    assert(open_frame(unseal, frame, bytes, &payload) == (long)n && memcmp(payload, data, n) == 0);
    free(payload);
    frame[bit / 8 % bytes] ^= (uint8_t)(1 << bit % 8);
    assert(open_frame(unseal, frame, bytes, &payload) == -1);
    free(payload);
    free(frame);
}

/* Replaces the last octets by the correct tag. The contents stay arbitrary. */
static void with_good_tag(struct lft_key *unseal, const uint8_t *data, size_t n)
{
    uint8_t *frame = malloc(n), *payload;
    assert(frame);
    memcpy(frame, data, n);
    uint8_t tag[LFT_HASH_BYTES];
    size_t tag_bytes;
    bool made = EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, block + 36, LFT_HASH_BYTES, frame, n - LFT_ICV_BYTES, tag,
                          sizeof tag, &tag_bytes);
    assert(made);
    memcpy(frame + n - LFT_ICV_BYTES, tag, LFT_ICV_BYTES);
    long length = open_frame(unseal, frame, n, &payload);
    assert(length >= -1 && length <= (long)(n - LFT_FRAME_OVERHEAD));
    assert(length < 0 ||
           (n - LFT_FRAME_OVERHEAD - (size_t)length <= UINT8_MAX && frame[n - LFT_ICV_BYTES - 1] == LFT_NEXT_HEADER));
    free(payload);
    free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEAD = 3 };
    static struct lft_key *seal[LFT_CIPHERS], *unseal[LFT_CIPHERS];
    for (enum lft_cipher c = LFT_AES_128_GCM; !seal[LFT_NULL] && c < LFT_CIPHERS; c++) {
        seal[c] = lft_key_create(c, block, true);
        unseal[c] = lft_key_create(c, block, false);
        assert(seal[c] && unseal[c]);
    }
    if (size < HEAD + 2)
        return 0;
    enum lft_cipher cipher = LFT_AES_128_GCM + data[0] % LFT_NULL;
    size_t n = size - HEAD, bit = nc_get16(data + 1);
    uint8_t *payload;
    assert(open_frame(unseal[cipher], data + HEAD, n, &payload) == -1);
    free(payload);
    if (n <= LFT_PAYLOAD_MAX)
        there_and_back(seal[cipher], unseal[cipher], data + HEAD, n, bit);
    if (cipher == LFT_NULL && n >= LFT_FRAME_OVERHEAD)
        with_good_tag(unseal[cipher], data + HEAD, n);
    return 0;
}
