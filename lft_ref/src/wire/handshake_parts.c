/* The parts that messages are made of. */
#include <string.h>

#include "handshake_internal.h"
#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_range.h"

static const uint8_t magic[4] = {'L', 'F', 'T', LFT_HANDSHAKE_VERSION};

void lft_put64(uint8_t *at, uint64_t value)
{
    nc_put32(at, (uint32_t)(value >> 32));
    nc_put32(at + 4, (uint32_t)value);
}

uint64_t lft_get64(const uint8_t *at)
{
    return (uint64_t)nc_get32(at) << 32 | nc_get32(at + 4);
}

void lft_message_header(const struct lft_handshake *handshake, enum lft_message_type type, uint8_t recovery,
                        uint8_t *message)
{
    memset(message, 0, LFT_HEADER_END);
    memcpy(message + LFT_MAGIC_AT, magic, sizeof magic);
    message[LFT_TYPE_AT] = (uint8_t)type;
    message[LFT_CIPHER_AT] = (uint8_t)handshake->config.cipher;
    message[LFT_RECOVERY_AT] = recovery;
}

void lft_message_noise(const struct lft_handshake *handshake, const uint8_t *init, struct lft_noise *noise)
{
    uint8_t prologue[LFT_HEADER_END - LFT_MAGIC_AT + sizeof handshake->names.at];
    size_t n = LFT_HEADER_END - LFT_MAGIC_AT;
    memcpy(prologue, init + LFT_MAGIC_AT, n);
    memcpy(prologue + n, handshake->names.at, handshake->names.n);
    lft_noise_start(noise, handshake->psk, (struct lft_span){prologue, n + handshake->names.n});
}

static uint32_t random_spi(void)
{
    uint32_t spi;
    do
        lft_random(&spi, sizeof spi);
    while (spi < LFT_SPI_MIN);
    return spi;
}

size_t lft_hello_put(struct lft_handshake *handshake, uint64_t epoch, uint64_t timestamp, bool init, uint8_t *at)
{
    const struct lft_handshake_config *config = &handshake->config;
    const uint8_t *begin = at;
    handshake->spi = random_spi();
    if (init) {
        lft_put64(at, timestamp);
        at += 8;
    }
    lft_put64(at, epoch);
    nc_put32(at + 8, handshake->spi);
    nc_put32(at + 12, (uint32_t)nc_min(config->rekey_ns / NC_NS_PER_MS, UINT32_MAX));
    nc_put16(at + 16, config->payload_max);
    at[18] = config->recovery;
    at[19] = 0;
    return (size_t)(at + 20 - begin);
}

bool lft_hello_get(struct lft_handshake *handshake, bool init, const uint8_t *at, struct lft_hello *hello)
{
    *hello = (struct lft_hello){0};
    if (init) {
        hello->timestamp = lft_get64(at);
        at += 8;
    }
    hello->epoch = lft_get64(at);
    hello->spi = nc_get32(at + 8);
    hello->rekey_ms = nc_get32(at + 12);
    hello->payload_max = nc_get16(at + 16);
    hello->recovery = at[18];
    if (hello->spi >= LFT_SPI_MIN && hello->payload_max >= LFT_PAYLOAD_MIN && hello->rekey_ms)
        return true;
    handshake->counters.malformed++;
    return false;
}

static void mac1(struct lft_handshake *handshake, const uint8_t *message, size_t n, uint8_t mac[LFT_MAC_BYTES])
{
    const struct lft_span key = {handshake->mac1_key, LFT_SECRET_BYTES}, span = {message, n};
    lft_mac(handshake->hmac, key, &span, 1, mac);
}

void lft_mac1_put(struct lft_handshake *handshake, uint8_t *message, size_t at)
{
    mac1(handshake, message, at, message + at);
}

bool lft_mac1_good(struct lft_handshake *handshake, const uint8_t *message, size_t at)
{
    uint8_t mac[LFT_MAC_BYTES];
    mac1(handshake, message, at, mac);
    return lft_equal(mac, message + at, sizeof mac);
}

void lft_mac2(struct lft_handshake *handshake, const uint8_t *init, const uint8_t cookie[LFT_COOKIE_BYTES],
              uint8_t mac2[LFT_MAC_BYTES])
{
    const struct lft_span key = {cookie, LFT_COOKIE_BYTES}, span = {init, LFT_INIT_MAC2_AT};
    lft_mac(handshake->hmac, key, &span, 1, mac2);
}

void lft_cookie_key(struct lft_handshake *handshake, const uint8_t *cookie_message, uint8_t key[LFT_SECRET_BYTES])
{
    const struct lft_span master = {handshake->cookie_key, LFT_SECRET_BYTES},
                          span = {cookie_message, LFT_COOKIE_SEALED_AT};
    lft_hmac(handshake->hmac, master, &span, 1, key);
}

bool lft_message_keys(struct lft_handshake *handshake, const struct lft_noise *noise, uint64_t epoch,
                      const struct lft_hello *peer, struct lft_keys *keys)
{
    const struct lft_handshake_config *config = &handshake->config;
    uint8_t transport[2][LFT_SECRET_BYTES], block[2][LFT_KEY_BLOCK];
    lft_noise_split(noise, transport);
    for (unsigned direction = 0; direction < 2; direction++)
        lft_frame_block(transport[direction], config->cipher, block[direction]);
    *keys = (struct lft_keys){.seal = lft_key_create(config->cipher, block[!config->initiator], true),
                              .unseal = lft_key_create(config->cipher, block[config->initiator], false),
                              .spi_out = peer->spi,
                              .spi_in = handshake->spi,
                              .epoch = epoch,
                              .peer_epoch = peer->epoch,
                              .rekey_ns = nc_min(config->rekey_ns, peer->rekey_ms * NC_NS_PER_MS),
                              .peer_recovery = peer->recovery,
                              .peer_payload_max = peer->payload_max};
    lft_wipe(transport, sizeof transport);
    lft_wipe(block, sizeof block);
    if (keys->seal && keys->unseal)
        return true;
    lft_key_destroy(keys->seal);
    lft_key_destroy(keys->unseal);
    return false;
}
