/* Datagrams from anywhere to links of both roles: unchanged; with a correct mac1; and as a holder of the key would make
 * them around any payload. Input: rows of (how, length, octets). Without the key they must have no effect; with it
 * nothing may break. */
#include <assert.h>
#include <string.h>

#include "handshake_internal.h"
#include "link.h"
#include "nc_clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TO_RESPONDER = 1, SIGNED = 2, WHOLE = 4, COOKIE_INSTEAD = 8, ELSEWHERE = 16, MINUTE = 32 };

struct world {
    struct lft_link *links[2];
    struct lft_handshake *own[2]; /* the attacker with the key: [0] talks to the initiator, [1] to the responder */
    uint8_t init[LFT_INIT_BYTES]; /* the last of the initiator */
    uint64_t now_ns;
    bool whole_any;
};

static const uint8_t psk[LFT_PSK_BYTES] = {1};

static struct lft_handshake_config side(bool initiator)
{
    return (struct lft_handshake_config){.initiator = initiator,
                                         .cipher = LFT_AES_128_GCM,
                                         .psk = psk,
                                         .rekey_ns = NC_NS_PER_S,
                                         .name = initiator ? "a" : "b",
                                         .peer_name = initiator ? "b" : "a"};
}

static struct lft_link *create(bool initiator)
{
    struct lft_link_config config = {.engine = {.recovery = LFT_SELECTIVE,
                                                .payload_max = 1000,
                                                .window_frames = 64,
                                                .tx_memory_bytes = 1 << 18,
                                                .rx_memory_bytes = 1 << 18},
                                     .session = {.streams_max = 8, .tx_memory_bytes = 1 << 18},
                                     .handshake = side(initiator),
                                     .peer = {.n = initiator}};
    struct lft_link *link = lft_link_create(&config, 0);
    assert(link);
    return link;
}

static void drain(struct world *world, unsigned which)
{
    struct lft_batch batch;
    for (int i = 0; i < 50 && lft_link_transmit(world->links[which], world->now_ns, &batch); i++) {
        assert(batch.bytes <= LFT_BATCH_BYTES && batch.n <= LFT_BATCH_SEGMENTS);
        if (batch.bytes == LFT_INIT_BYTES && batch.at[LFT_TYPE_AT] == LFT_INIT && !which)
            memcpy(world->init, batch.at, LFT_INIT_BYTES);
    }
}

/* An INIT around a payload. */
static size_t make_init(struct world *world, struct lft_span payload, uint8_t *message)
{
    static const uint8_t private[LFT_DH_BYTES] = {3};
    struct lft_noise noise;
    lft_message_header(world->own[1], LFT_INIT, 0, message);
    lft_message_noise(world->own[1], message, &noise);
    lft_noise_write_1(&noise, private, payload, message + LFT_INIT_NOISE_AT);
    lft_mac1_put(world->own[1], message, LFT_INIT_MAC1_AT);
    memset(message + LFT_INIT_MAC2_AT, 0, LFT_MAC_BYTES);
    return LFT_INIT_BYTES;
}

/* The answer to the initiator's INIT, around a payload. */
static size_t make_response(struct world *world, struct lft_span payload, uint8_t *message)
{
    static const uint8_t private[LFT_DH_BYTES] = {4};
    const struct lft_span sealed = {world->init + LFT_INIT_NOISE_AT, LFT_INIT_MAC1_AT - LFT_INIT_NOISE_AT};
    struct lft_noise noise;
    uint8_t hello[LFT_INIT_PAYLOAD];
    lft_message_noise(world->own[0], world->init, &noise);
    bool good = lft_noise_read_1(&noise, sealed, hello);
    assert(good);
    lft_message_header(world->own[0], LFT_RESPONSE, 0, message);
    memcpy(message + LFT_ANSWERED_AT, world->init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    good = lft_noise_write_2(&noise, private, payload, message + LFT_RESPONSE_NOISE_AT);
    assert(good);
    lft_mac1_put(world->own[0], message, LFT_RESPONSE_MAC1_AT);
    return LFT_RESPONSE_BYTES;
}

static size_t make_cookie(struct world *world, struct lft_span plain, uint8_t *message)
{
    uint8_t key[LFT_SECRET_BYTES];
    lft_message_header(world->own[0], LFT_COOKIE, 0, message);
    memcpy(message + LFT_ANSWERED_AT, world->init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    memset(message + LFT_COOKIE_NONCE_AT, 5, LFT_COOKIE_NONCE);
    lft_cookie_key(world->own[0], message, key);
    lft_aead_seal(key, (struct lft_span){message, LFT_COOKIE_SEALED_AT}, plain, message + LFT_COOKIE_SEALED_AT);
    return LFT_COOKIE_MESSAGE_BYTES;
}

/* A message that only a holder of the key can make. Its payload is the row's octets, followed by zeros. */
static size_t make_whole(struct world *world, uint8_t how, const uint8_t *at, size_t n, uint8_t *message)
{
    uint8_t payload[LFT_INIT_PAYLOAD] = {0};
    memcpy(payload, at, n < sizeof payload ? n : sizeof payload);
    world->whole_any = true;
    if (how & TO_RESPONDER)
        return make_init(world, (struct lft_span){payload, LFT_INIT_PAYLOAD}, message);
    if (how & COOKIE_INSTEAD)
        return make_cookie(world, (struct lft_span){payload, LFT_COOKIE_PLAIN}, message);
    return make_response(world, (struct lft_span){payload, LFT_RESPONSE_PAYLOAD}, message);
}

static void sign(struct world *world, uint8_t how, uint8_t *message, size_t n)
{
    size_t at = how & TO_RESPONDER ? (size_t)LFT_INIT_MAC1_AT : (size_t)LFT_RESPONSE_MAC1_AT;
    if (n < at + LFT_MAC_BYTES)
        return;
    memcpy(message, "\0\0\0\0LFT\2", 8);
    lft_mac1_put(world->own[!!(how & TO_RESPONDER)], message, at);
}

static void row(struct world *world, uint8_t how, const uint8_t *at, size_t n)
{
    uint8_t message[300];
    unsigned which = how & TO_RESPONDER;
    struct lft_address from = {.at = {how & ELSEWHERE ? 9 : 0}, .n = 1};
    drain(world, 0);
    memcpy(message, at, n);
    if (how & WHOLE)
        n = make_whole(world, how, at, n, message);
    else if (how & SIGNED)
        sign(world, how, message, n);
    lft_link_receive(world->links[which], world->now_ns, message, n, &from);
    drain(world, which);
    world->now_ns += how & MINUTE ? 60 * NC_NS_PER_S : 100 * NC_NS_PER_MS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct lft_handshake_config sides[2] = {side(false), side(true)};
    static struct lft_handshake *own[2]; /* they only make messages, and read none */
    for (int i = 0; i < 2; i++)
        if (!own[i])
            assert((own[i] = lft_handshake_create(&sides[i], 0)));
    struct world world = {.links = {create(true), create(false)}, .own = {own[0], own[1]}, .now_ns = 1};
    for (const uint8_t *at = data, *end = data + size; end - at >= 2;) {
        size_t n = at[1], left = (size_t)(end - at) - 2;
        n = n < left ? n : left;
        row(&world, at[0], at + 2, n);
        at += 2 + n;
    }
    for (int i = 0; i < 2; i++) {
        assert(world.whole_any || lft_link_handshake_counters(world.links[i])->completed == 0);
        assert(world.whole_any || !lft_link_engine(world.links[i])); /* nobody has shown keys */
        lft_link_destroy(world.links[i]);
    }
    return 0;
}
