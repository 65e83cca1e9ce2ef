/* The initiator: repeats an INIT until its RESPONSE arrives, and makes a new INIT when a COOKIE asks for one. */
#include <string.h>

#include "handshake_internal.h"
#include "nc_clock.h"

/* How long an INIT is repeated unchanged, so that its answer counts however long the path is (a round trip is at most
 * 10 s). After that a new ephemeral key is made. */
#define RENEW_NS (20 * NC_NS_PER_S)
/* How long a cookie is used: the shortest time for which the responder accepts it. */
#define COOKIE_NS (60 * NC_NS_PER_S)
enum { WAIT_DOUBLED = 8, COOKIES_AT_ONCE = 3 };

/* Returns the timestamp of the next INIT. It increases with every INIT, whatever the clock does. */
static uint64_t next_timestamp(struct lft_handshake *handshake, uint64_t now_ns)
{
    uint64_t clock_ns = handshake->config.clock_ns + now_ns;
    handshake->init.timestamp++;
    if (lft_timestamp_after(clock_ns, handshake->init.timestamp))
        handshake->init.timestamp = clock_ns;
    return handshake->init.timestamp;
}

static void compose(struct lft_handshake *handshake, uint64_t now_ns)
{
    uint8_t payload[LFT_INIT_PAYLOAD], private[LFT_DH_BYTES], *message = handshake->init.message;
    size_t n = lft_hello_put(handshake, handshake->epoch, next_timestamp(handshake, now_ns), true, payload);
    lft_random(private, sizeof private);
    lft_message_header(handshake, LFT_INIT, handshake->config.recovery, message);
    lft_message_noise(handshake, message, &handshake->init.noise);
    lft_noise_write_1(&handshake->init.noise, private, (struct lft_span){payload, n}, message + LFT_INIT_NOISE_AT);
    lft_wipe(private, sizeof private);
    lft_mac1_put(handshake, message, LFT_INIT_MAC1_AT);
    memset(message + LFT_INIT_MAC2_AT, 0, LFT_MAC_BYTES);
    if (now_ns < handshake->init.cookie_until_ns)
        lft_mac2(handshake, message, handshake->init.cookie, message + LFT_INIT_MAC2_AT);
    handshake->init.composed_ns = now_ns;
}

void lft_handshake_start(struct lft_handshake *handshake, uint64_t now_ns)
{
    if (handshake->init.running || !handshake->config.initiator)
        return;
    handshake->init.running = true;
    handshake->init.cookies_taken = 0;
    handshake->init.next_ns = now_ns;
    handshake->init.wait_ns = handshake->config.retry_ns;
    compose(handshake, now_ns);
}

size_t lft_handshake_poll(struct lft_handshake *handshake, uint64_t now_ns, uint8_t out[LFT_HANDSHAKE_MAX])
{
    if (!handshake->init.running || now_ns < handshake->init.next_ns)
        return 0;
    if (now_ns - handshake->init.composed_ns >= RENEW_NS)
        compose(handshake, now_ns);
    handshake->init.next_ns = now_ns + handshake->init.wait_ns;
    if (handshake->init.wait_ns < WAIT_DOUBLED * handshake->config.retry_ns)
        handshake->init.wait_ns *= 2;
    memcpy(out, handshake->init.message, LFT_INIT_BYTES);
    handshake->counters.sent++;
    return LFT_INIT_BYTES;
}

uint64_t lft_handshake_next_ns(const struct lft_handshake *handshake)
{
    return handshake->init.running ? handshake->init.next_ns : UINT64_MAX;
}

/* True when the message answers the current INIT. A recorded answer fails here, before any cryptography. */
static bool answers(struct lft_handshake *handshake, const struct lft_handshake_message *message)
{
    if (!message->from_peer) {
        handshake->counters.wrong_source++;
        return false;
    }
    if (handshake->init.running &&
        memcmp(message->at + LFT_ANSWERED_AT, handshake->init.message + LFT_INIT_MAC1_AT, LFT_MAC_BYTES) == 0)
        return true;
    handshake->counters.unexpected++;
    return false;
}

/* Takes a COOKIE, by which the responder demands proof that the INIT is new. It contains the cookie and the largest
 * timestamp that the responder knows. An initiator whose clock was set back since its last start continues from that
 * timestamp. */
enum lft_handshake_result lft_take_cookie(struct lft_handshake *handshake, uint64_t now_ns,
                                          const struct lft_handshake_message *message)
{
    uint8_t key[LFT_SECRET_BYTES], plain[LFT_COOKIE_PLAIN];
    if (!answers(handshake, message))
        return LFT_HS_NOTHING;
    lft_cookie_key(handshake, message->at, key);
    const struct lft_span sealed = {message->at + LFT_COOKIE_SEALED_AT, LFT_COOKIE_PLAIN + LFT_TAG_BYTES};
    bool good = lft_aead_open(key, (struct lft_span){message->at, LFT_COOKIE_SEALED_AT}, sealed, plain);
    lft_wipe(key, sizeof key);
    if (!good) {
        handshake->counters.bad_mac++;
        return LFT_HS_NOTHING;
    }
    memcpy(handshake->init.cookie, plain, LFT_COOKIE_BYTES);
    handshake->init.cookie_until_ns = now_ns + COOKIE_NS;
    uint64_t known = lft_get64(plain + LFT_COOKIE_BYTES);
    if (lft_timestamp_after(known, handshake->init.timestamp))
        handshake->init.timestamp = known;
    compose(handshake, now_ns);
    handshake->init.cookies_taken++;
    /* An INIT that proves its cookie and has a larger timestamp gets keys, unless the responder has another peer. */
    handshake->counters.occupied += handshake->init.cookies_taken >= COOKIES_AT_ONCE;
    if (handshake->init.cookies_taken <= COOKIES_AT_ONCE) /* a responder that keeps sending COOKIEs must not determine
                                                           * our rate */
        handshake->init.next_ns = now_ns;
    return LFT_HS_NOTHING;
}

enum lft_handshake_result lft_take_response(struct lft_handshake *handshake,
                                            const struct lft_handshake_message *message,
                                            struct lft_handshake_answer *answer)
{
    const struct lft_span noise = {message->at + LFT_RESPONSE_NOISE_AT, LFT_RESPONSE_MAC1_AT - LFT_RESPONSE_NOISE_AT};
    uint8_t payload[LFT_RESPONSE_PAYLOAD];
    struct lft_hello hello;
    if (!answers(handshake, message))
        return LFT_HS_NOTHING;
    if (!lft_mac1_good(handshake, message->at, LFT_RESPONSE_MAC1_AT) ||
        !lft_noise_read_2(&handshake->init.noise, noise, payload)) {
        handshake->counters.bad_mac++;
        return LFT_HS_NOTHING;
    }
    if (!lft_hello_get(handshake, false, payload, &hello) ||
        !lft_message_keys(handshake, &handshake->init.noise, handshake->epoch, &hello, &answer->keys))
        return LFT_HS_NOTHING;
    lft_wipe(&handshake->init.noise, sizeof handshake->init.noise);
    handshake->init.running = false;
    handshake->counters.completed++;
    return LFT_HS_KEYS;
}
