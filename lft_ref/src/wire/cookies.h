/* Cookies and the limit on answers: how a responder of the handshake stays free of state and of load until an address
 * has proved itself. A cookie is a MAC over the sender's address and the identifying octets of its INIT, under a
 * secret of this process that is replaced every minute. The limit counts answers per second, in all and per INIT.
 * Whoever lacks the key can only repeat an INIT that he has recorded: his copies use up their own share, and a new
 * INIT, whose nonce he cannot choose, still gets its answer. Nor can he make us derive keys all the time. */
#ifndef LFT_COOKIES_H
#define LFT_COOKIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypto.h"

enum { LFT_COOKIE_BYTES = 16, LFT_COOKIES_PER_SECOND = 1000, LFT_ANSWERS_TO_ONE = 8, LFT_COOKIE_INITS = 4096 };

struct lft_cookies {
    uint8_t secret[2][LFT_HASH_BYTES]; /* the present one and the one before */
    uint64_t secret_ns, this_second, answers;
    uint8_t answers_to[LFT_COOKIE_INITS]; /* in this second, by nonce */
};

void lft_cookies_init(struct lft_cookies *cookies, uint64_t now_ns);
/* The cookie for an INIT, whose identifying octets are `init`, from `address`. Call lft_cookies_turn first. */
void lft_cookie_make(const struct lft_cookies *cookies, struct lft_span address, struct lft_span init,
                     uint8_t cookie[LFT_COOKIE_BYTES]);
/* True when the cookie was made by the present secret or by the one before. */
bool lft_cookie_good(const struct lft_cookies *cookies, struct lft_span address, struct lft_span init,
                     const uint8_t cookie[LFT_COOKIE_BYTES]);
/* Replaces the secret when its minute is over. */
void lft_cookies_turn(struct lft_cookies *cookies, uint64_t now_ns);
/* Counts an answer to the INIT with this nonce, if one is allowed now. False: stay silent. */
bool lft_cookies_may_answer(struct lft_cookies *cookies, uint16_t nonce, uint64_t now_ns);

#endif
