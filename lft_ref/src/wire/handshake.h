/* The handshake of FORMAT.md as a pure state machine: messages go in, messages and keys come out, `now_ns` is passed
 * in. Only link.h uses it. Invariants:
 *   - a message that was not made by a holder of the key changes only counters and budgets (cookies.h);
 *   - so does a repeated message: an INIT counts once, by its timestamp, and an answer counts only for the current
 *     INIT;
 *   - keys in use stay until the peer has shown that it has the new ones; pending keys are replaced only by an INIT
 *     that was made after them, which a cookie proves;
 *   - an epoch of this end belongs to at most one association. So two ends that agree on both epochs mean the same
 *     association, and one of them cannot have restarted without the other.
 * Rejected: a challenge before every handshake instead of timestamps; it would cost each rekey another round trip. */
#ifndef LFT_HANDSHAKE_H
#define LFT_HANDSHAKE_H

#include "keys.h"

enum { LFT_INIT_BYTES = 120, LFT_RESPONSE_BYTES = 112, LFT_COOKIE_MESSAGE_BYTES = 84, LFT_HANDSHAKE_MAX = 120 };

struct lft_handshake_config {
    bool initiator;
    enum lft_cipher cipher;
    uint8_t recovery;             /* this end's strategy as a sender, which the peer's receiver must know */
    uint16_t payload_max;         /* the largest payload that this end accepts */
    const uint8_t *psk;           /* LFT_PSK_BYTES octets, copied */
    const char *name, *peer_name; /* names of the two gateways, which are copied; NULL: the empty name */
    uint64_t clock_ns;            /* the time of day when now_ns was 0 */
    uint64_t rekey_ns;            /* after how long this end wants new keys */
    uint64_t retry_ns;            /* initiator: the first wait for an answer, doubled up to eightfold; 0: 250 ms */
};

/* The result of a finished exchange: keys and the peer's parameters. The caller owns the two keys. */
struct lft_keys {
    struct lft_key *seal, *unseal;
    uint32_t spi_out, spi_in; /* SPIs of frames to the peer and of frames to this end */
    uint64_t epoch, peer_epoch, rekey_ns;
    uint8_t peer_recovery;
    uint16_t peer_payload_max;
};

/* What the responder must know about the association in use. */
struct lft_association {
    bool any;            /* false: there is none */
    bool heard;          /* its peer is not silent */
    uint64_t peer_epoch; /* the peer's epoch; this end's epoch is in the handshake */
};

struct lft_handshake_message {
    const uint8_t *at; /* its 32 zero bits included */
    size_t n;
    struct lft_span address; /* opaque: octets that identify the source */
    bool from_peer;          /* whether this end sends its frames to this address */
    struct lft_association in_use;
};

enum lft_handshake_result {
    LFT_HS_NOTHING, /* nothing to do */
    LFT_HS_REPLY,   /* send the reply to the source address of the message */
    LFT_HS_KEYS,    /* initiator: use `keys` at once */
    LFT_HS_PENDING, /* responder: send the reply; use `keys` once an authentic frame with keys.spi_in has arrived */
};
struct lft_handshake_answer {
    size_t n;
    uint8_t at[LFT_HANDSHAKE_MAX];
    struct lft_keys keys;
};

struct lft_handshake_counters {
    uint64_t sent, received, malformed, wrong_version, wrong_source, wrong_cipher, bad_mac, bad_cookie, stale,
        unexpected, cookies, limited, completed;
    uint64_t rivals;   /* responder: how many new INITs of another gateway arrived while the peer was heard */
    uint64_t occupied; /* initiator: how many answers can only mean that the responder has another peer */
};

struct lft_handshake;
/* NULL: no memory. */
struct lft_handshake *lft_handshake_create(const struct lft_handshake_config *config, uint64_t now_ns);
void lft_handshake_destroy(struct lft_handshake *handshake);
/* Draws a new epoch and drops the current handshake. Timestamps, cookies and counters stay. */
void lft_handshake_renew(struct lft_handshake *handshake);
/* Reports that an association has begun under this epoch of this end, which came from lft_keys. The next association
 * gets another epoch. */
void lft_handshake_begun(struct lft_handshake *handshake, uint64_t epoch);

/* Initiator: begins a handshake; lft_handshake_poll then returns its INIT. No effect during a handshake. */
void lft_handshake_start(struct lft_handshake *handshake, uint64_t now_ns);
/* Writes the message that is due now. Returns its length, or 0 when none is due. */
size_t lft_handshake_poll(struct lft_handshake *handshake, uint64_t now_ns, uint8_t out[LFT_HANDSHAKE_MAX]);
uint64_t lft_handshake_next_ns(const struct lft_handshake *handshake); /* UINT64_MAX: nothing is due */

enum lft_handshake_result lft_handshake_receive(struct lft_handshake *handshake, uint64_t now_ns,
                                                const struct lft_handshake_message *message,
                                                struct lft_handshake_answer *answer);
/* Responder: call it when the keys of the last LFT_HS_PENDING have come into use or have been dropped. */
void lft_handshake_settle(struct lft_handshake *handshake);
const struct lft_handshake_counters *lft_handshake_counters(const struct lft_handshake *handshake);

#endif
