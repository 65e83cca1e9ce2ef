/* The handshake of FORMAT.md as a pure state machine: messages in, messages and keys out, `now_ns` passed in. The gateway does not
 * call this; link.h does. Invariants: a responder has no state for an address that has not proved itself; a message without the
 * key's MAC changes nothing but a counter; keys in use are never touched before the peer has shown the new ones. */
#ifndef LFT_HANDSHAKE_H
#define LFT_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto.h"

enum { LFT_HANDSHAKE_BYTES = 96, LFT_COOKIE_MESSAGE_BYTES = 44, LFT_HANDSHAKE_MAX = 96, LFT_COOKIES_PER_SECOND = 1000, LFT_ANSWERS_TO_ONE = 8 };

struct lft_handshake_config {
    bool initiator;
    enum lft_cipher cipher;
    uint8_t recovery;     /* of this end as sender; the peer's receiver must know it */
    uint16_t payload_max; /* largest payload that this end takes */
    const uint8_t *psk;   /* copied */
    size_t psk_bytes;
    uint64_t retry_ns;    /* initiator: first wait, doubled up to 8 times of it; 0: 250 ms */
};

/* What a finished exchange gives: keys and the peer's word. The caller takes the two keys over. */
struct lft_keys {
    struct lft_key *seal, *unseal;
    uint32_t spi_out, spi_in;  /* frames to the peer; frames to this end */
    uint64_t epoch, peer_epoch;
    uint8_t peer_recovery;
    uint16_t peer_payload_max;
};

enum lft_handshake_result {
    LFT_HS_NOTHING, /* nothing to do */
    LFT_HS_REPLY,   /* send `reply` to where the message came from */
    LFT_HS_KEYS,    /* initiator: `keys` are good: use them at once */
    LFT_HS_PENDING, /* responder: send `reply`; use `keys` when the first authentic frame on keys.spi_in has come */
};

struct lft_handshake_counters {
    uint64_t sent, received, malformed, wrong_version, bad_mac, bad_cookie, wrong_cipher, unexpected, cookies, cookies_limited, completed;
};

struct lft_handshake;
struct lft_handshake *lft_handshake_create(const struct lft_handshake_config *config, uint64_t now_ns);
void lft_handshake_destroy(struct lft_handshake *handshake);

/* Initiator: begin (or begin again); the INIT is sent by lft_handshake_poll. No effect while one is under way. */
void lft_handshake_start(struct lft_handshake *handshake, uint64_t now_ns);
/* Writes the message that is due now, if one is: its length or 0. */
size_t lft_handshake_poll(struct lft_handshake *handshake, uint64_t now_ns, uint8_t out[LFT_HANDSHAKE_MAX]);
uint64_t lft_handshake_next_ns(const struct lft_handshake *handshake); /* UINT64_MAX: nothing is due */

/* One message (beginning with its 32 zero bits) from `address`, opaque octets that identify the source. */
enum lft_handshake_result lft_handshake_receive(struct lft_handshake *handshake, const uint8_t *at, size_t n, const void *address,
                                                size_t address_bytes, uint64_t now_ns, uint8_t reply[LFT_HANDSHAKE_MAX],
                                                size_t *reply_bytes, struct lft_keys *keys);
const struct lft_handshake_counters *lft_handshake_counters(const struct lft_handshake *handshake);
uint64_t lft_handshake_epoch(const struct lft_handshake *handshake);

#endif
