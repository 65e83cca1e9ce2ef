#include "cookies.h"

#include <string.h>

#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_pages.h"

#define SEEN_BYTES ((size_t)2 * LFT_SEEN_ROWS * LFT_SEEN_SLOTS)
#define PAIRS_BYTES ((size_t)LFT_SEEN_ROWS * LFT_SEEN_SLOTS)
#define SECRET_NS (60 * NC_NS_PER_S)
#define ANSWER_NS (NC_NS_PER_S / LFT_ANSWERS_PER_SECOND)

bool lft_cookies_init(struct lft_cookies *cookies, uint64_t now_ns)
{
    memset(cookies, 0, sizeof *cookies);
    lft_random(cookies->secret, sizeof cookies->secret);
    cookies->secret_ns = now_ns;
    cookies->seen = nc_pages_map(SEEN_BYTES);
    cookies->pairs = nc_pages_map(PAIRS_BYTES);
    return cookies->seen && cookies->pairs;
}

void lft_cookies_free(struct lft_cookies *cookies)
{
    nc_pages_unmap(cookies->seen, SEEN_BYTES);
    nc_pages_unmap(cookies->pairs, PAIRS_BYTES);
    cookies->seen = NULL;
    cookies->pairs = NULL;
}

void lft_cookies_turn(struct lft_cookies *cookies, uint64_t now_ns)
{
    uint64_t age_ns = now_ns - cookies->secret_ns;
    if (age_ns < SECRET_NS)
        return;
    memcpy(cookies->secret[1], cookies->secret[0], LFT_HASH_BYTES);
    lft_random(cookies->secret[0], LFT_HASH_BYTES);
    /* no INIT has arrived for a while, so not only the current but also the previous secret is too old */
    if (age_ns >= 2 * SECRET_NS)
        lft_random(cookies->secret[1], LFT_HASH_BYTES);
    cookies->secret_ns = now_ns;
    nc_pages_clear(cookies->seen, SEEN_BYTES);
}

void lft_cookie_make(const struct lft_cookies *cookies, unsigned secret, struct lft_hmac *hmac, struct lft_span address,
                     uint8_t cookie[LFT_COOKIE_BYTES])
{
    lft_mac(hmac, (struct lft_span){cookies->secret[secret], LFT_HASH_BYTES}, &address, 1, cookie);
}

static uint8_t *slot(uint8_t rows[LFT_SEEN_ROWS][LFT_SEEN_SLOTS], size_t row, const uint8_t key[LFT_MAC_BYTES])
{
    return &rows[row][nc_get32(key + 4 * row) % LFT_SEEN_SLOTS];
}

/* Increments the counter in each row; returns the smallest previous value. */
static unsigned count(uint8_t rows[LFT_SEEN_ROWS][LFT_SEEN_SLOTS], const uint8_t key[LFT_MAC_BYTES])
{
    unsigned before = UINT8_MAX;
    for (size_t row = 0; row < LFT_SEEN_ROWS; row++) {
        uint8_t *seen = slot(rows, row, key);
        before = *seen < before ? *seen : before;
        *seen += *seen < LFT_SEEN_STALE - 1;
    }
    return before;
}

void lft_cookies_stale(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer)
{
    for (size_t row = 0; row < LFT_SEEN_ROWS; row++)
        *slot(cookies->seen[from_peer], row, mac1) = LFT_SEEN_STALE;
}

unsigned lft_cookies_count(struct lft_cookies *cookies, const uint8_t mac1[LFT_MAC_BYTES], bool from_peer,
                           uint64_t now_ns)
{
    if (now_ns / NC_NS_PER_S != cookies->second) {
        cookies->second = now_ns / NC_NS_PER_S;
        cookies->inits = 0;
        if (cookies->pairs_n[false] + cookies->pairs_n[true])
            nc_pages_clear(cookies->pairs, PAIRS_BYTES);
        cookies->pairs_n[false] = cookies->pairs_n[true] = 0;
    }
    cookies->inits++;
    return count(cookies->seen[from_peer], mac1);
}

bool lft_cookies_pair(struct lft_cookies *cookies, struct lft_hmac *hmac, const uint8_t mac1[LFT_MAC_BYTES],
                      struct lft_span address, bool stale)
{
    static const unsigned most[] = {[false] = LFT_PAIRS_PER_SECOND, [true] = LFT_STALE_PAIRS_PER_SECOND};
    const struct lft_span pair[] = {{mac1, LFT_MAC_BYTES}, address};
    uint8_t key[LFT_MAC_BYTES];
    if (cookies->pairs_n[stale] >= most[stale])
        return false;
    lft_mac(hmac, (struct lft_span){cookies->secret[0], LFT_HASH_BYTES}, pair, 2, key);
    bool looked_at = count(cookies->pairs, key) < LFT_PAIR_MOST;
    cookies->pairs_n[stale] += looked_at;
    return looked_at;
}

bool lft_cookies_load(const struct lft_cookies *cookies)
{
    return cookies->inits > LFT_LOAD_PER_SECOND;
}

bool lft_cookies_may_answer(struct lft_cookies *cookies, bool stale, bool seen, uint64_t now_ns)
{
    uint64_t *whole_ns = &cookies->budget_ns[stale][seen];
    if (*whole_ns < now_ns)
        *whole_ns = now_ns;
    if (*whole_ns - now_ns > NC_NS_PER_S - ANSWER_NS)
        return false;
    *whole_ns += ANSWER_NS;
    return true;
}
