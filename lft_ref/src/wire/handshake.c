/* Both roles of the handshake. A message is an array of octets; the places of its fields are the enum below. */
#include "handshake.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cookies.h"
#include "nc_bytes.h"
#include "nc_clock.h"

enum type { INIT = 1, COOKIE, RESPONSE };
enum {
    MAGIC_AT = 4,
    TYPE_AT = 8,
    CIPHER_AT,
    RECOVERY_AT,
    COOKIE_AT = 12,
    SPI_AT = 28,
    PAYLOAD_AT = 32,
    EPOCH_AT = 36,
    NONCE_AT = 44,
    MAC_AT = 80,
    VERSION = 1
};
#define RETRY_NS (250 * NC_NS_PER_MS)
static const uint8_t magic[4] = {'L', 'F', 'T', VERSION};

struct lft_handshake {
    struct lft_handshake_config config;
    struct lft_handshake_counters counters;
    uint8_t psk[LFT_PSK_MAX], key[LFT_HASH_BYTES], epoch[8];
    /* The initiator's state. */
    bool running;
    uint64_t next_ns, wait_ns;
    uint8_t init[LFT_HANDSHAKE_BYTES]; /* the INIT sent last; in a responder the INIT answered last */
    /* The responder's state. */
    struct lft_cookies cookies;
    bool answered;
    uint8_t response[LFT_HANDSHAKE_BYTES];
};

struct lft_handshake *lft_handshake_create(const struct lft_handshake_config *config, uint64_t now_ns)
{
    assert(config->psk_bytes >= LFT_PSK_MIN && config->psk_bytes <= LFT_PSK_MAX);
    struct lft_handshake *handshake = calloc(1, sizeof *handshake);
    if (!handshake)
        return NULL;
    handshake->config = *config;
    memcpy(handshake->psk, config->psk, config->psk_bytes);
    handshake->config.psk = handshake->psk;
    if (!handshake->config.retry_ns)
        handshake->config.retry_ns = RETRY_NS;
    lft_handshake_key(handshake->psk, config->psk_bytes, handshake->key);
    lft_random(handshake->epoch, sizeof handshake->epoch);
    lft_cookies_init(&handshake->cookies, now_ns);
    return handshake;
}

void lft_handshake_destroy(struct lft_handshake *handshake)
{
    if (!handshake)
        return;
    lft_wipe(handshake, sizeof *handshake);
    free(handshake);
}

static uint64_t get64(const uint8_t *at)
{
    return (uint64_t)nc_get32(at) << 32 | nc_get32(at + 4);
}

static uint32_t random_spi(void)
{
    uint32_t spi;
    do
        lft_random(&spi, sizeof spi);
    while (spi < LFT_SPI_MIN);
    return spi;
}

static void sign(const struct lft_handshake *handshake, uint8_t *message)
{
    lft_mac(handshake->key, &(struct lft_span){message, MAC_AT}, 1, message + MAC_AT);
}

static bool signed_well(const struct lft_handshake *handshake, const uint8_t *message)
{
    uint8_t mac[LFT_MAC_BYTES];
    lft_mac(handshake->key, &(struct lft_span){message, MAC_AT}, 1, mac);
    return lft_equal(mac, message + MAC_AT, sizeof mac);
}

/* Fills in an INIT or RESPONSE but for the 16 octets at COOKIE_AT and the MAC. */
static void compose(const struct lft_handshake *handshake, enum type type, uint8_t *message)
{
    memset(message, 0, LFT_HANDSHAKE_BYTES);
    memcpy(message + MAGIC_AT, magic, sizeof magic);
    message[TYPE_AT] = (uint8_t)type;
    message[CIPHER_AT] = (uint8_t)handshake->config.cipher;
    message[RECOVERY_AT] = handshake->config.recovery;
    nc_put32(message + SPI_AT, random_spi());
    nc_put16(message + PAYLOAD_AT, handshake->config.payload_max);
    memcpy(message + EPOCH_AT, handshake->epoch, sizeof handshake->epoch);
    lft_random(message + NONCE_AT, 16);
}

/* --- initiator
 * --------------------------------------------------------------------------------------------------------------- */

void lft_handshake_start(struct lft_handshake *handshake, uint64_t now_ns)
{
    if (handshake->running || !handshake->config.initiator)
        return;
    compose(handshake, INIT, handshake->init);
    sign(handshake, handshake->init);
    handshake->running = true;
    handshake->next_ns = now_ns;
    handshake->wait_ns = handshake->config.retry_ns;
}

size_t lft_handshake_poll(struct lft_handshake *handshake, uint64_t now_ns, uint8_t out[LFT_HANDSHAKE_MAX])
{
    if (!handshake->running || now_ns < handshake->next_ns)
        return 0;
    handshake->next_ns = now_ns + handshake->wait_ns;
    if (handshake->wait_ns < 8 * handshake->config.retry_ns)
        handshake->wait_ns *= 2;
    memcpy(out, handshake->init, LFT_HANDSHAKE_BYTES);
    handshake->counters.sent++;
    return LFT_HANDSHAKE_BYTES;
}

uint64_t lft_handshake_next_ns(const struct lft_handshake *handshake)
{
    return handshake->running ? handshake->next_ns : UINT64_MAX;
}

/* A COOKIE is not authenticated. All it can do is make us show that cookie, and its sender must have seen our nonce. */
static enum lft_handshake_result take_cookie(struct lft_handshake *handshake, const uint8_t *at, size_t n,
                                             uint64_t now_ns)
{
    if (n != LFT_COOKIE_MESSAGE_BYTES || !handshake->running || memcmp(at + 28, handshake->init + NONCE_AT, 8) != 0 ||
        memcmp(at + COOKIE_AT, handshake->init + COOKIE_AT, 16) == 0) {
        handshake->counters.unexpected++;
        return LFT_HS_NOTHING;
    }
    memcpy(handshake->init + COOKIE_AT, at + COOKIE_AT, 16);
    sign(handshake, handshake->init);
    handshake->next_ns = now_ns;
    return LFT_HS_NOTHING;
}

static bool make_keys(struct lft_handshake *handshake, const uint8_t *init, const uint8_t *response,
                      struct lft_keys *keys)
{
    const struct lft_handshake_config *config = &handshake->config;
    uint8_t transcript[LFT_HASH_BYTES], block[2][LFT_KEY_BLOCK];
    struct lft_span spans[2] = {{init, LFT_HANDSHAKE_BYTES}, {response, LFT_HANDSHAKE_BYTES}};
    lft_hash(spans, 2, transcript);
    for (unsigned i = 0; i < 2; i++)
        lft_key_block(handshake->psk, config->psk_bytes, init + NONCE_AT, response + NONCE_AT, i, config->cipher,
                      transcript, block[i]);
    const uint8_t *mine = config->initiator ? init : response, *theirs = config->initiator ? response : init;
    *keys = (struct lft_keys){.seal = lft_key_create(config->cipher, block[!config->initiator], true),
                              .unseal = lft_key_create(config->cipher, block[config->initiator], false),
                              .spi_out = nc_get32(theirs + SPI_AT),
                              .spi_in = nc_get32(mine + SPI_AT),
                              .epoch = get64(handshake->epoch),
                              .peer_epoch = get64(theirs + EPOCH_AT),
                              .peer_recovery = theirs[RECOVERY_AT],
                              .peer_payload_max = nc_get16(theirs + PAYLOAD_AT)};
    lft_wipe(block, sizeof block);
    if (keys->seal && keys->unseal)
        return true;
    lft_key_destroy(keys->seal);
    lft_key_destroy(keys->unseal);
    return false;
}

/* Checks what a peer that has the key may still get wrong. */
static bool acceptable(struct lft_handshake *handshake, const uint8_t *message)
{
    if (message[CIPHER_AT] != handshake->config.cipher) {
        handshake->counters.wrong_cipher++;
        return false;
    }
    if (nc_get32(message + SPI_AT) < LFT_SPI_MIN || nc_get16(message + PAYLOAD_AT) < LFT_PAYLOAD_MIN) {
        handshake->counters.malformed++;
        return false;
    }
    return true;
}

static enum lft_handshake_result take_response(struct lft_handshake *handshake, const uint8_t *at,
                                               struct lft_keys *keys)
{
    uint8_t hash[LFT_HASH_BYTES];
    lft_hash(&(struct lft_span){handshake->init, LFT_HANDSHAKE_BYTES}, 1, hash);
    if (!handshake->running || memcmp(at + COOKIE_AT, hash, 16) != 0) {
        handshake->counters.unexpected++;
        return LFT_HS_NOTHING;
    }
    if (!acceptable(handshake, at) || !make_keys(handshake, handshake->init, at, keys))
        return LFT_HS_NOTHING;
    handshake->running = false;
    handshake->counters.completed++;
    return LFT_HS_KEYS;
}

/* --- responder --- */

/* The octets of an INIT that a cookie vouches for: SPI to nonce. */
static struct lft_span identity_of(const uint8_t *init)
{
    return (struct lft_span){init + SPI_AT, NONCE_AT + 16 - SPI_AT};
}

static enum lft_handshake_result give_cookie(struct lft_handshake *handshake, const uint8_t *init,
                                             struct lft_span address, uint8_t *reply, size_t *reply_bytes)
{
    memset(reply, 0, LFT_COOKIE_MESSAGE_BYTES);
    memcpy(reply + MAGIC_AT, magic, sizeof magic);
    reply[TYPE_AT] = COOKIE;
    lft_cookie_make(&handshake->cookies, address, identity_of(init), reply + COOKIE_AT);
    memcpy(reply + 28, init + NONCE_AT, 8);
    *reply_bytes = LFT_COOKIE_MESSAGE_BYTES;
    handshake->counters.cookies++;
    return LFT_HS_REPLY;
}

static bool cookie_good(struct lft_handshake *handshake, const uint8_t *init, struct lft_span address)
{
    static const uint8_t none[LFT_COOKIE_BYTES];
    if (memcmp(init + COOKIE_AT, none, sizeof none) == 0)
        return false;
    if (lft_cookie_good(&handshake->cookies, address, identity_of(init), init + COOKIE_AT))
        return true;
    handshake->counters.bad_cookie++;
    return false;
}

/* Composes the RESPONSE to an INIT with a good cookie and derives the keys. */
static enum lft_handshake_result respond(struct lft_handshake *handshake, const uint8_t *init, uint8_t *reply,
                                         struct lft_keys *keys)
{
    uint8_t hash[LFT_HASH_BYTES];
    memcpy(handshake->init, init, LFT_HANDSHAKE_BYTES);
    compose(handshake, RESPONSE, handshake->response);
    lft_hash(&(struct lft_span){init, LFT_HANDSHAKE_BYTES}, 1, hash);
    memcpy(handshake->response + COOKIE_AT, hash, 16);
    sign(handshake, handshake->response);
    memcpy(reply, handshake->response, LFT_HANDSHAKE_BYTES);
    handshake->answered = make_keys(handshake, handshake->init, handshake->response, keys);
    if (!handshake->answered)
        return LFT_HS_NOTHING;
    handshake->counters.completed++;
    return LFT_HS_PENDING;
}

static enum lft_handshake_result take_init(struct lft_handshake *handshake, const uint8_t *at, struct lft_span address,
                                           uint64_t now_ns, uint8_t *reply, size_t *reply_bytes, struct lft_keys *keys)
{
    if (!acceptable(handshake, at))
        return LFT_HS_NOTHING;
    lft_cookies_turn(&handshake->cookies, now_ns);
    bool good = cookie_good(handshake, at, address);
    if (!lft_cookies_may_answer(&handshake->cookies, nc_get16(at + NONCE_AT), now_ns)) {
        handshake->counters.cookies_limited++;
        return LFT_HS_NOTHING;
    }
    if (!good)
        return give_cookie(handshake, at, address, reply, reply_bytes);
    *reply_bytes = LFT_HANDSHAKE_BYTES;
    if (handshake->answered && memcmp(at, handshake->init, LFT_HANDSHAKE_BYTES) == 0) {
        memcpy(reply, handshake->response, LFT_HANDSHAKE_BYTES);
        return LFT_HS_REPLY;
    }
    return respond(handshake, at, reply, keys);
}

enum lft_handshake_result lft_handshake_receive(struct lft_handshake *handshake, const uint8_t *at, size_t n,
                                                const void *address, size_t address_bytes, uint64_t now_ns,
                                                uint8_t reply[LFT_HANDSHAKE_MAX], size_t *reply_bytes,
                                                struct lft_keys *keys)
{
    struct lft_handshake_counters *counters = &handshake->counters;
    bool initiator = handshake->config.initiator;
    counters->received++;
    if (n < LFT_COOKIE_MESSAGE_BYTES || nc_get32(at) != 0 || memcmp(at + MAGIC_AT, magic, 3) != 0) {
        counters->malformed++;
        return LFT_HS_NOTHING;
    }
    if (at[MAGIC_AT + 3] != VERSION) {
        counters->wrong_version++;
        return LFT_HS_NOTHING;
    }
    if (initiator && at[TYPE_AT] == COOKIE)
        return take_cookie(handshake, at, n, now_ns);
    if (n != LFT_HANDSHAKE_BYTES || at[TYPE_AT] != (initiator ? RESPONSE : INIT)) {
        counters->malformed++;
        return LFT_HS_NOTHING;
    }
    if (!signed_well(handshake, at)) {
        counters->bad_mac++;
        return LFT_HS_NOTHING;
    }
    if (initiator)
        return take_response(handshake, at, keys);
    return take_init(handshake, at, (struct lft_span){address, address_bytes}, now_ns, reply, reply_bytes, keys);
}

const struct lft_handshake_counters *lft_handshake_counters(const struct lft_handshake *handshake)
{
    return &handshake->counters;
}
