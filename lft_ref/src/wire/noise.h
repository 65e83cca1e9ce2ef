/* Noise_NNpsk0_25519_ChaChaPoly_SHA256 of the Noise Protocol Framework, revision 34, for both roles:
 *
 *   -> psk, e, payload        message 1: 32 + n + 16 octets
 *   <- e, ee, payload         message 2: 32 + n + 16 octets
 *
 * A pure state machine: private keys and payloads go in, octets come out. The caller calls start, then message 1, then
 * message 2, then split, and wipes the state. In this pattern every cipher key seals one message, so the nonce is
 * always 0. Rejected: a general Noise machine with patterns as data; we need one pattern of two messages. */
#ifndef LFT_NOISE_H
#define LFT_NOISE_H

#include "primitives.h"

enum { LFT_NOISE_OVERHEAD = LFT_DH_BYTES + LFT_TAG_BYTES };

struct lft_noise {
    uint8_t chaining[LFT_HASH_BYTES], hash[LFT_HASH_BYTES], key[LFT_SECRET_BYTES];
    uint8_t private[LFT_DH_BYTES]; /* this end's ephemeral key */
    uint8_t peer[LFT_DH_BYTES];    /* the other end's, public */
};

void lft_noise_start(struct lft_noise *noise, const uint8_t psk[LFT_SECRET_BYTES], struct lft_span prologue);

/* The initiator writes message 1. `private` is an ephemeral key that is never used again; `out` has room for payload.n
 * + 48 octets. */
void lft_noise_write_1(struct lft_noise *noise, const uint8_t private[LFT_DH_BYTES], struct lft_span payload,
                       uint8_t *out);
/* Reads message 2, whose payload has message.n - 48 octets. False: not authentic; the state is unchanged. */
bool lft_noise_read_2(struct lft_noise *noise, struct lft_span message, uint8_t *payload);

/* The responder's two steps. After a return of false the state must not be used. */
bool lft_noise_read_1(struct lft_noise *noise, struct lft_span message, uint8_t *payload);
/* False: the initiator's ephemeral key is invalid. */
bool lft_noise_write_2(struct lft_noise *noise, const uint8_t private[LFT_DH_BYTES], struct lft_span payload,
                       uint8_t *out);

/* Derives the transport keys: [0] from initiator to responder, [1] for the reverse direction. */
void lft_noise_split(const struct lft_noise *noise, uint8_t keys[2][LFT_SECRET_BYTES]);

#endif
