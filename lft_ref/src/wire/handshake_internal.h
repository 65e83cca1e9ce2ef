/* The state of a handshake and the offsets in its messages, for its own files. The files, lowest layer first; a file
 * calls only files that come before it in this list: handshake_parts.c, handshake_initiator.c, handshake_responder.c,
 * handshake.c. */
#ifndef LFT_HANDSHAKE_INTERNAL_H
#define LFT_HANDSHAKE_INTERNAL_H

#include "cookies.h"
#include "handshake.h"
#include "noise.h"

enum lft_message_type { LFT_INIT = 1, LFT_COOKIE, LFT_RESPONSE };
enum {
    LFT_MAGIC_AT = 4,
    LFT_VERSION_AT = 7,
    LFT_TYPE_AT = 8,
    LFT_CIPHER_AT,
    LFT_RECOVERY_AT,
    LFT_ZERO_AT,
    LFT_HEADER_END = 12,
    LFT_HANDSHAKE_VERSION = 2,

    LFT_INIT_NOISE_AT = 12,
    LFT_INIT_PAYLOAD = 28,
    LFT_INIT_MAC1_AT = LFT_INIT_NOISE_AT + LFT_NOISE_OVERHEAD + LFT_INIT_PAYLOAD,
    LFT_INIT_MAC2_AT = LFT_INIT_MAC1_AT + LFT_MAC_BYTES,

    LFT_ANSWERED_AT = 12, /* in RESPONSE and COOKIE: mac1 of the INIT that they answer */
    LFT_RESPONSE_NOISE_AT = 28,
    LFT_RESPONSE_PAYLOAD = 20,
    LFT_RESPONSE_MAC1_AT = LFT_RESPONSE_NOISE_AT + LFT_NOISE_OVERHEAD + LFT_RESPONSE_PAYLOAD,

    LFT_COOKIE_NONCE_AT = 28,
    LFT_COOKIE_NONCE = 16,
    LFT_COOKIE_SEALED_AT = 44,
    LFT_COOKIE_PLAIN = LFT_COOKIE_BYTES + 8,
};
_Static_assert((int)LFT_INIT_MAC2_AT + (int)LFT_MAC_BYTES == (int)LFT_INIT_BYTES, "INIT");
_Static_assert((int)LFT_RESPONSE_MAC1_AT + (int)LFT_MAC_BYTES == (int)LFT_RESPONSE_BYTES, "RESPONSE");
_Static_assert((int)LFT_COOKIE_SEALED_AT + (int)LFT_COOKIE_PLAIN + (int)LFT_TAG_BYTES == (int)LFT_COOKIE_MESSAGE_BYTES,
               "COOKIE");

struct lft_handshake {
    struct lft_handshake_config config; /* `psk` and names are NULL here; members below hold copies */
    struct lft_handshake_counters counters;
    struct lft_names names;
    uint8_t psk[LFT_PSK_BYTES], mac1_key[LFT_SECRET_BYTES], cookie_key[LFT_SECRET_BYTES];
    struct lft_hmac *hmac;
    uint64_t epoch;      /* epoch of the association in use, or of the next one when there is none */
    uint64_t next_epoch; /* responder: the epoch that it offers to a gateway that is not its peer, while an association
                          * is in use */
    uint32_t spi;        /* SPI for frames to this end under the next keys */

    struct { /* initiator */
        bool running;
        struct lft_noise noise;
        uint8_t message[LFT_INIT_BYTES]; /* the INIT that is being sent */
        uint8_t cookie[LFT_COOKIE_BYTES];
        uint64_t cookie_until_ns; /* 0: no cookie */
        uint64_t timestamp;       /* the last one used */
        uint64_t composed_ns, next_ns, wait_ns;
        unsigned cookies_taken; /* in this handshake */
    } init;

    struct { /* responder */
        struct lft_cookies cookies;
        uint64_t timestamp; /* the largest timestamp of an INIT that was answered by a RESPONSE */
        bool awaited;       /* `message` has been sent, and no frame under its keys has arrived */
        uint8_t answered[LFT_MAC_BYTES], message[LFT_RESPONSE_BYTES];
    } response;
};

/* The Noise payload of a message. Only INIT has a `timestamp`. */
struct lft_hello {
    uint64_t timestamp, epoch;
    uint32_t spi, rekey_ms;
    uint16_t payload_max;
    uint8_t recovery;
};

/* Timestamps are compared as serial numbers (RFC 1982), so that each can be exceeded. Otherwise a single INIT with the
 * largest timestamp would lock out all others until this process exits. */
static inline bool lft_timestamp_after(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) > 0;
}

/* handshake_parts.c */
void lft_put64(uint8_t *at, uint64_t value);
uint64_t lft_get64(const uint8_t *at);
void lft_message_header(const struct lft_handshake *handshake, enum lft_message_type type, uint8_t recovery,
                        uint8_t *message);
/* Begins the Noise state for the INIT whose header this is. */
void lft_message_noise(const struct lft_handshake *handshake, const uint8_t *init, struct lft_noise *noise);
/* Writes this end's hello, with a new SPI. Returns the number of octets written. */
size_t lft_hello_put(struct lft_handshake *handshake, uint64_t epoch, uint64_t timestamp, bool init, uint8_t *at);
/* Returns false, and counts the message, for an SPI, size or interval that is not allowed. */
bool lft_hello_get(struct lft_handshake *handshake, bool init, const uint8_t *at, struct lft_hello *hello);
/* The first function computes mac1 over all octets before `at`; the second checks the mac1 at `at`. */
void lft_mac1_put(struct lft_handshake *handshake, uint8_t *message, size_t at);
bool lft_mac1_good(struct lft_handshake *handshake, const uint8_t *message, size_t at);
void lft_mac2(struct lft_handshake *handshake, const uint8_t *init, const uint8_t cookie[LFT_COOKIE_BYTES],
              uint8_t mac2[LFT_MAC_BYTES]);
/* Derives the key of one COOKIE message. */
void lft_cookie_key(struct lft_handshake *handshake, const uint8_t *cookie_message, uint8_t key[LFT_SECRET_BYTES]);
/* Makes the keys of a finished handshake. False: no memory. */
bool lft_message_keys(struct lft_handshake *handshake, const struct lft_noise *noise, uint64_t epoch,
                      const struct lft_hello *peer, struct lft_keys *keys);

/* handshake_initiator.c */
enum lft_handshake_result lft_take_cookie(struct lft_handshake *handshake, uint64_t now_ns,
                                          const struct lft_handshake_message *message);
enum lft_handshake_result lft_take_response(struct lft_handshake *handshake,
                                            const struct lft_handshake_message *message,
                                            struct lft_handshake_answer *answer);

/* handshake_responder.c */
enum lft_handshake_result lft_take_init(struct lft_handshake *handshake, uint64_t now_ns,
                                        const struct lft_handshake_message *message,
                                        struct lft_handshake_answer *answer);

#endif
