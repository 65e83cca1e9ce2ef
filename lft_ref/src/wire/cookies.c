#include "cookies.h"

#include <string.h>

#include "nc_clock.h"

#define SECRET_NS (60 * NC_NS_PER_S)

void lft_cookies_init(struct lft_cookies *cookies, uint64_t now_ns)
{
    lft_random(cookies->secret, sizeof cookies->secret);
    cookies->secret_ns = now_ns;
}

static void make_with(const uint8_t secret[LFT_HASH_BYTES], struct lft_span address, struct lft_span init,
                      uint8_t cookie[LFT_COOKIE_BYTES])
{
    const struct lft_span spans[2] = {address, init};
    lft_mac(secret, spans, 2, cookie);
}

void lft_cookie_make(const struct lft_cookies *cookies, struct lft_span address, struct lft_span init,
                     uint8_t cookie[LFT_COOKIE_BYTES])
{
    make_with(cookies->secret[0], address, init, cookie);
}

bool lft_cookie_good(const struct lft_cookies *cookies, struct lft_span address, struct lft_span init,
                     const uint8_t cookie[LFT_COOKIE_BYTES])
{
    for (unsigned i = 0; i < 2; i++) {
        uint8_t want[LFT_COOKIE_BYTES];
        make_with(cookies->secret[i], address, init, want);
        if (lft_equal(want, cookie, sizeof want))
            return true;
    }
    return false;
}

void lft_cookies_turn(struct lft_cookies *cookies, uint64_t now_ns)
{
    if (now_ns - cookies->secret_ns < SECRET_NS)
        return;
    memcpy(cookies->secret[1], cookies->secret[0], LFT_HASH_BYTES);
    lft_random(cookies->secret[0], LFT_HASH_BYTES);
    cookies->secret_ns = now_ns;
}

bool lft_cookies_may_answer(struct lft_cookies *cookies, uint16_t nonce, uint64_t now_ns)
{
    uint8_t *to_this = &cookies->answers_to[nonce % LFT_COOKIE_INITS];
    if (now_ns / NC_NS_PER_S != cookies->this_second) {
        cookies->this_second = now_ns / NC_NS_PER_S;
        cookies->answers = 0;
        memset(cookies->answers_to, 0, sizeof cookies->answers_to);
    }
    if (*to_this >= LFT_ANSWERS_TO_ONE || cookies->answers >= LFT_COOKIES_PER_SECOND)
        return false;
    ++*to_this;
    cookies->answers++;
    return true;
}
