/* The responder. An INIT passes these checks in this order; each costs more than the one before it: form (in
 * handshake.c), mac1, how often it has been seen, its Noise payload with the timestamp, mac2, and only then a
 * Diffie-Hellman exchange. In this pattern the payload of message 1 opens without such an exchange, so a repeated INIT
 * never causes one. */
#include <string.h>

#include "handshake_internal.h"

static enum lft_handshake_result limited(struct lft_handshake *handshake)
{
    handshake->counters.limited++;
    return LFT_HS_NOTHING;
}

/* True when mac2 proves a cookie of this process for this address: the INIT is at most two minutes old. */
static bool shows_cookie(struct lft_handshake *handshake, const struct lft_handshake_message *message)
{
    static const uint8_t none[LFT_MAC_BYTES];
    const uint8_t *shown = message->at + LFT_INIT_MAC2_AT;
    if (memcmp(shown, none, sizeof none) == 0)
        return false;
    for (unsigned secret = 0; secret < 2; secret++) {
        uint8_t cookie[LFT_COOKIE_BYTES], mac2[LFT_MAC_BYTES];
        lft_cookie_make(&handshake->response.cookies, secret, handshake->hmac, message->address, cookie);
        lft_mac2(handshake, message->at, cookie, mac2);
        if (lft_equal(mac2, shown, sizeof mac2))
            return true;
    }
    handshake->counters.bad_cookie++;
    return false;
}

static enum lft_handshake_result give_cookie(struct lft_handshake *handshake,
                                             const struct lft_handshake_message *message,
                                             struct lft_handshake_answer *answer)
{
    uint8_t key[LFT_SECRET_BYTES], plain[LFT_COOKIE_PLAIN], *at = answer->at;
    lft_message_header(handshake, LFT_COOKIE, message->at[LFT_RECOVERY_AT], at);
    memcpy(at + LFT_ANSWERED_AT, message->at + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    lft_random(at + LFT_COOKIE_NONCE_AT, LFT_COOKIE_NONCE);
    lft_cookie_make(&handshake->response.cookies, 0, handshake->hmac, message->address, plain);
    lft_put64(plain + LFT_COOKIE_BYTES, handshake->response.timestamp);
    lft_cookie_key(handshake, at, key);
    lft_aead_seal(key, (struct lft_span){at, LFT_COOKIE_SEALED_AT}, (struct lft_span){plain, sizeof plain},
                  at + LFT_COOKIE_SEALED_AT);
    lft_wipe(key, sizeof key);
    answer->n = LFT_COOKIE_MESSAGE_BYTES;
    handshake->counters.cookies++;
    return LFT_HS_REPLY;
}

/* True when the INIT begins an association other than the one in use: the peer has restarted, or the sender is not the
 * peer. */
static bool begins_anew(const struct lft_handshake_message *message, const struct lft_hello *hello)
{
    return message->in_use.any && hello->epoch != message->in_use.peer_epoch;
}

/* True for another gateway with the same key. The peer keeps the tunnel while it is heard. A peer that has restarted
 * has either the same address, or is no longer heard from the old one. */
static bool is_rival(const struct lft_handshake_message *message, const struct lft_hello *hello)
{
    return begins_anew(message, hello) && message->in_use.heard && !message->from_peer;
}

/* Makes the RESPONSE and the keys. */
static enum lft_handshake_result respond(struct lft_handshake *handshake, const struct lft_handshake_message *message,
                                         struct lft_noise *noise, const struct lft_hello *hello,
                                         struct lft_handshake_answer *answer)
{
    uint8_t payload[LFT_RESPONSE_PAYLOAD], private[LFT_DH_BYTES], *at = handshake->response.message;
    const uint8_t *init = message->at;
    uint64_t epoch = begins_anew(message, hello) ? handshake->next_epoch : handshake->epoch;
    handshake->response.awaited = false;
    size_t n = lft_hello_put(handshake, epoch, 0, false, payload);
    lft_random(private, sizeof private);
    lft_message_header(handshake, LFT_RESPONSE, init[LFT_RECOVERY_AT], at);
    memcpy(at + LFT_ANSWERED_AT, init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    bool good = lft_noise_write_2(noise, private, (struct lft_span){payload, n}, at + LFT_RESPONSE_NOISE_AT) &&
                lft_message_keys(handshake, noise, epoch, hello, &answer->keys);
    lft_wipe(private, sizeof private);
    if (!good)
        return LFT_HS_NOTHING;
    lft_mac1_put(handshake, at, LFT_RESPONSE_MAC1_AT);
    memcpy(handshake->response.answered, init + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    handshake->response.timestamp = hello->timestamp;
    handshake->response.awaited = true;
    memcpy(answer->at, at, answer->n = LFT_RESPONSE_BYTES);
    handshake->counters.completed++;
    return LFT_HS_PENDING;
}

/* Opens the INIT and decides how to answer it. `before`: how many copies arrived before it. */
static enum lft_handshake_result judge(struct lft_handshake *handshake, uint64_t now_ns, unsigned before,
                                       const struct lft_handshake_message *message, struct lft_noise *noise,
                                       struct lft_handshake_answer *answer)
{
    const struct lft_span sealed = {message->at + LFT_INIT_NOISE_AT, LFT_INIT_MAC1_AT - LFT_INIT_NOISE_AT};
    uint8_t payload[LFT_INIT_PAYLOAD];
    struct lft_hello hello;
    lft_message_noise(handshake, message->at, noise);
    if (!lft_noise_read_1(noise, sealed, payload)) {
        handshake->counters.bad_mac++;
        return LFT_HS_NOTHING;
    }
    if (!lft_hello_get(handshake, true, payload, &hello))
        return LFT_HS_NOTHING;
    bool proved = shows_cookie(handshake, message),
         stale = !lft_timestamp_after(hello.timestamp, handshake->response.timestamp);
    bool must_prove = handshake->response.awaited || lft_cookies_load(&handshake->response.cookies);
    bool rival = is_rival(message, &hello);
    handshake->counters.stale += stale;
    handshake->counters.rivals += rival && proved && !stale; /* a recording proves nothing about its source address */
    if (!stale && !rival && (proved || !must_prove))
        return respond(handshake, message, noise, &hello, answer);
    if (stale && before >= LFT_SEEN_MOST)
        lft_cookies_stale(&handshake->response.cookies, message->at + LFT_INIT_MAC1_AT, message->from_peer);
    if (!lft_cookies_may_answer(&handshake->response.cookies, stale || rival, before > 0, now_ns))
        return limited(handshake);
    return give_cookie(handshake, message, answer);
}

enum lft_handshake_result lft_take_init(struct lft_handshake *handshake, uint64_t now_ns,
                                        const struct lft_handshake_message *message,
                                        struct lft_handshake_answer *answer)
{
    const uint8_t *mac1 = message->at + LFT_INIT_MAC1_AT;
    struct lft_noise noise;
    if (!lft_mac1_good(handshake, message->at, LFT_INIT_MAC1_AT)) {
        handshake->counters.bad_mac++;
        return LFT_HS_NOTHING;
    }
    if (message->at[LFT_CIPHER_AT] != handshake->config.cipher) {
        handshake->counters.wrong_cipher++;
        return LFT_HS_NOTHING;
    }
    lft_cookies_turn(&handshake->response.cookies, now_ns);
    unsigned before = lft_cookies_count(&handshake->response.cookies, mac1, message->from_peer, now_ns);
    if (before >= LFT_SEEN_MOST && !lft_cookies_pair(&handshake->response.cookies, handshake->hmac, mac1,
                                                     message->address, before == LFT_SEEN_STALE))
        return limited(handshake);
    if (handshake->response.awaited && memcmp(mac1, handshake->response.answered, LFT_MAC_BYTES) == 0) {
        memcpy(answer->at, handshake->response.message, answer->n = LFT_RESPONSE_BYTES);
        return LFT_HS_REPLY;
    }
    enum lft_handshake_result result = judge(handshake, now_ns, before, message, &noise, answer);
    lft_wipe(&noise, sizeof noise);
    return result;
}

void lft_handshake_settle(struct lft_handshake *handshake)
{
    handshake->response.awaited = false;
}
