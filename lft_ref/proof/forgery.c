/* Checks that messages forged without the key, and messages reflected to their sender, change nothing. */
#include <string.h>

#include "check.h"
#include "nc_clock.h"
#include "watch.h"
#include "proof.h"

/* The messages of two gateways that have another key. */
struct foreign {
    uint8_t init[LFT_INIT_BYTES], response[LFT_RESPONSE_BYTES];
};

static struct foreign make_foreign(void)
{
    static const uint8_t other_psk[LFT_PSK_BYTES] = {8}, psk[LFT_PSK_BYTES] = {7, 7, 7};
    struct foreign foreign;
    struct lft_handshake *ends[ENDS];
    struct lft_handshake_answer answer;
    world->acting = OUTSIDER;
    for (int end = 0; end < ENDS; end++) {
        const struct lft_handshake_config config = {.initiator = end == INITIATOR,
                                                    .cipher = LFT_AES_128_GCM,
                                                    .recovery = LFT_SELECTIVE,
                                                    .payload_max = LFT_PAYLOAD_MIN,
                                                    .rekey_ns = NC_NS_PER_S,
                                                    .clock_ns = UINT64_C(1900000000) * NC_NS_PER_S,
                                                    .psk = watch_wrong == KEY_KNOWN ? psk : other_psk};
        CHECK((ends[end] = lft_handshake_create(&config, 0)));
    }
    lft_handshake_start(ends[INITIATOR], 0);
    CHECK(lft_handshake_poll(ends[INITIATOR], 0, foreign.init) == LFT_INIT_BYTES);
    const struct lft_handshake_message message = {.at = foreign.init, .n = sizeof foreign.init};
    CHECK(lft_handshake_receive(ends[RESPONDER], 0, &message, &answer) == LFT_HS_PENDING);
    memcpy(foreign.response, answer.at, sizeof foreign.response);
    lft_link_drop_keys(&answer.keys);
    for (int end = 0; end < ENDS; end++)
        lft_handshake_destroy(ends[end]);
    return foreign;
}

/* Delivers a message forged as an answer to the current INIT. */
static void deliver_as_answer(const uint8_t *message, size_t n)
{
    uint8_t at[OCTETS_MAX];
    memcpy(at, message, n);
    memcpy(at + LFT_ANSWERED_AT, world->link[INITIATOR]->handshake->init.message + LFT_INIT_MAC1_AT, LFT_MAC_BYTES);
    if (memcmp(at, message, n) != 0)
        world_deliver(INITIATOR, RESPONDER_ADDRESS, at, n);
}

/* Tries a genuine message with one bit changed, one octet shorter, and reflected to its sender. */
static void deliver_changed(const struct message *message, uint64_t choice)
{
    uint8_t at[OCTETS_MAX], from = message->by + 1, other = !message->by + 1;
    size_t octets = message->type == LFT_INIT ? (size_t)LFT_INIT_MAC2_AT : message->n; /* mac2 is anybody's to spoil */
    memcpy(at, message->at, message->n);
    at[choice / 8 % octets] ^= (uint8_t)(1 << choice % 8);
    world_deliver(!message->by, from, at, message->n);
    world_deliver(!message->by, from, message->at, message->n - 1);
    world_deliver(message->by, other, message->at, message->n);
}

void world_try_forgeries(void)
{
    static struct foreign foreign;
    static int made_for = -1;
    uint64_t before = world_state();
    if (made_for != (int)watch_wrong) {
        foreign = make_foreign();
        made_for = (int)watch_wrong;
    }
    for (unsigned i = 0; i < world->messages_n; i++) {
        const struct message *message = &world->messages[i];
        deliver_changed(message, before / (i + 1));
        if (message->type == LFT_COOKIE || message->type == LFT_RESPONSE)
            deliver_as_answer(message->at, message->n);
    }
    world_deliver(RESPONDER, INITIATOR_ADDRESS, foreign.init, sizeof foreign.init);
    world_deliver(RESPONDER, OUTSIDER_ADDRESS, foreign.init, sizeof foreign.init);
    deliver_as_answer(foreign.response, sizeof foreign.response);
    if (world_state() != before)
        watch_violated(watch_forgery);
}
