/* The handshake of FORMAT.md as a pure state machine: messages go in, messages and keys come out, `now_ns` is passed
 * in. Only link.h uses it. Invariants:
 *   - a responder keeps no state for an address that has not proved itself (cookies.h);
 *   - a message without the key's MAC changes nothing but a counter;
 *   - keys in use stay until the peer has shown that it has the new ones. */
#ifndef LFT_HANDSHAKE_H
#define LFT_HANDSHAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto.h"

enum { LFT_HANDSHAKE_BYTES = 96, LFT_COOKIE_MESSAGE_BYTES = 44, LFT_HANDSHAKE_MAX = 96 };

struct lft_handshake_config {
    bool initiator;
    enum lft_cipher cipher;
    uint8_t recovery;     /* this end's strategy as a sender, which the peer's receiver must know */
    uint16_t payload_max; /* the largest payload that this end accepts */
    const uint8_t *psk;   /* copied */
    size_t psk_bytes;
    uint64_t retry_ns; /* initiator: the first wait for an answer, doubled up to eightfold; 0: 250 ms */
};

/* The result of a finished exchange: keys, and what the peer said of itself. The caller owns the two keys. */
struct lft_keys {
    struct lft_key *seal, *unseal;
    uint32_t spi_out, spi_in; /* of frames to the peer, of frames to this end */
    uint64_t epoch, peer_epoch;
    uint8_t peer_recovery;
    uint16_t peer_payload_max;
};

enum lft_handshake_result {
    LFT_HS_NOTHING, /* nothing to do */
    LFT_HS_REPLY,   /* send `reply` to the address that the message came from */
    LFT_HS_KEYS,    /* initiator: use `keys` at once */
    LFT_HS_PENDING, /* responder: send `reply`; use `keys` once an authentic frame has arrived on keys.spi_in */
};

struct lft_handshake_counters {
    uint64_t sent, received, malformed, wrong_version, bad_mac, bad_cookie, wrong_cipher, unexpected, cookies,
        cookies_limited, completed;
};

struct lft_handshake;
struct lft_handshake *lft_handshake_create(const struct lft_handshake_config *config, uint64_t now_ns);
void lft_handshake_destroy(struct lft_handshake *handshake);

/* Initiator: begins a handshake, whose INIT lft_handshake_poll will give. No effect while one is under way. */
void lft_handshake_start(struct lft_handshake *handshake, uint64_t now_ns);
/* Writes the message that is due now. Returns its length, or 0 when none is due. */
size_t lft_handshake_poll(struct lft_handshake *handshake, uint64_t now_ns, uint8_t out[LFT_HANDSHAKE_MAX]);
uint64_t lft_handshake_next_ns(const struct lft_handshake *handshake); /* UINT64_MAX: nothing is due */

/* Takes one message, its 32 zero bits included. `address` is opaque: octets that identify the source. */
enum lft_handshake_result lft_handshake_receive(struct lft_handshake *handshake, const uint8_t *at, size_t n,
                                                const void *address, size_t address_bytes, uint64_t now_ns,
                                                uint8_t reply[LFT_HANDSHAKE_MAX], size_t *reply_bytes,
                                                struct lft_keys *keys);
const struct lft_handshake_counters *lft_handshake_counters(const struct lft_handshake *handshake);

#endif
