/* Creates and ends handshakes, and checks the form of messages. */
#include "handshake.h"

#include <stdlib.h>
#include <string.h>

#include "handshake_internal.h"
#include "nc_bytes.h"
#include "nc_clock.h"

#define RETRY_NS (250 * NC_NS_PER_MS)

struct lft_handshake *lft_handshake_create(const struct lft_handshake_config *config, uint64_t now_ns)
{
    struct lft_handshake *handshake = lft_secret_alloc(sizeof *handshake);
    if (!handshake)
        return NULL;
    handshake->hmac = lft_hmac_create();
    if (!lft_cookies_init(&handshake->response.cookies, now_ns) || !handshake->hmac) {
        lft_handshake_destroy(handshake);
        return NULL;
    }
    handshake->config = *config;
    handshake->config.psk = NULL;
    handshake->config.name = handshake->config.peer_name = NULL;
    if (!handshake->config.retry_ns)
        handshake->config.retry_ns = RETRY_NS;
    memcpy(handshake->psk, config->psk, LFT_PSK_BYTES);
    lft_names_make(&handshake->names, config->initiator ? config->name : config->peer_name,
                   config->initiator ? config->peer_name : config->name);
    lft_handshake_keys(handshake->psk, &handshake->names, handshake->mac1_key, handshake->cookie_key);
    lft_random(&handshake->epoch, sizeof handshake->epoch);
    lft_random(&handshake->next_epoch, sizeof handshake->next_epoch);
    return handshake;
}

void lft_handshake_destroy(struct lft_handshake *handshake)
{
    if (!handshake)
        return;
    lft_hmac_destroy(handshake->hmac);
    lft_cookies_free(&handshake->response.cookies);
    lft_secret_free(handshake, sizeof *handshake);
}

void lft_handshake_renew(struct lft_handshake *handshake)
{
    lft_random(&handshake->epoch, sizeof handshake->epoch);
    lft_wipe(&handshake->init.noise, sizeof handshake->init.noise);
    handshake->init.running = false;
    lft_handshake_settle(handshake);
}

void lft_handshake_begun(struct lft_handshake *handshake, uint64_t epoch)
{
    handshake->epoch = epoch;
    lft_random(&handshake->next_epoch, sizeof handshake->next_epoch);
}

/* Returns the type of a message. Returns 0 for a message with a bad length or header, which it counts. */
static unsigned type_of(struct lft_handshake *handshake, const uint8_t *at, size_t n)
{
    static const uint8_t lengths[] = {
        [LFT_INIT] = LFT_INIT_BYTES, [LFT_COOKIE] = LFT_COOKIE_MESSAGE_BYTES, [LFT_RESPONSE] = LFT_RESPONSE_BYTES};
    if (n < LFT_HEADER_END || nc_get32(at) != 0 || memcmp(at + LFT_MAGIC_AT, "LFT", 3) != 0) {
        handshake->counters.malformed++;
        return 0;
    }
    if (at[LFT_VERSION_AT] != LFT_HANDSHAKE_VERSION) {
        handshake->counters.wrong_version++;
        return 0;
    }
    unsigned type = at[LFT_TYPE_AT];
    bool for_this_role = handshake->config.initiator ? type == LFT_COOKIE || type == LFT_RESPONSE : type == LFT_INIT;
    if (for_this_role && n == lengths[type] && at[LFT_ZERO_AT] == 0)
        return type;
    handshake->counters.malformed++;
    return 0;
}

enum lft_handshake_result lft_handshake_receive(struct lft_handshake *handshake, uint64_t now_ns,
                                                const struct lft_handshake_message *message,
                                                struct lft_handshake_answer *answer)
{
    handshake->counters.received++;
    answer->n = 0;
    switch (type_of(handshake, message->at, message->n)) {
    case LFT_INIT:
        return lft_take_init(handshake, now_ns, message, answer);
    case LFT_COOKIE:
        return lft_take_cookie(handshake, now_ns, message);
    case LFT_RESPONSE:
        return lft_take_response(handshake, message, answer);
    default:
        return LFT_HS_NOTHING;
    }
}

const struct lft_handshake_counters *lft_handshake_counters(const struct lft_handshake *handshake)
{
    return &handshake->counters;
}
